// What tests of throughput share: a server whose requests are charged and refused.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "heads/rest/rest_test_support.h"
#include "json/parse.h"

namespace orrery::rest::testing_support {

/// Throttled as its settings say; has database d.
class Throughput : public ::testing::Test {
protected:
    explicit Throughput(const engine::AccountSettings& settings = {},
                        const catalog::ThroughputSettings& throughput = {})
        : server_(1'700'000'000, settings, throughput) {
        EXPECT_EQ(server_.send("POST", "/dbs", {}, R"({"id":"d"})").status, 201);
    }

    Reply make(Headers headers = {}) {
        return server_.send("POST", "/dbs/d/colls", std::move(headers),
                            R"({"id":"c","partitionKey":{"paths":["/pk"],"version":2}})");
    }
    Reply item(const std::string& id, Headers headers = {}) {
        headers.emplace_back("x-ms-documentdb-partitionkey", R"(["a"])");
        return server_.send("POST", "/dbs/d/colls/c/docs", std::move(headers),
                            R"({"id":")" + id + R"(","pk":"a"})");
    }
    Reply at(std::string method, const std::string& id, Headers headers = {},
             std::string body = {}) {
        headers.emplace_back("x-ms-documentdb-partitionkey", R"(["a"])");
        return server_.send(std::move(method), "/dbs/d/colls/c/docs/" + id, std::move(headers),
                            std::move(body));
    }
    int create_until_refused(const Headers& headers = {}) {
        for (int i = 0; i < 2'000; ++i)
            if (item("n" + std::to_string(++numbers_), headers).status == 429) return i;
        return -1;
    }
    Reply query(const std::string& text, Headers headers = {}) {
        headers.emplace_back("content-type", "application/query+json");
        headers.emplace_back("x-ms-documentdb-query-enablecrosspartition", "true");
        return server_.send("POST", "/dbs/d/colls/c/docs", std::move(headers),
                            R"({"query":")" + text + "\"}");
    }
    static std::string rid_of(const std::string& body) {
        const size_t at = body.find("\"id\":\"") + 6;
        return body.substr(at, 4);
    }
    Reply put_offer(const std::string& content, Headers headers = {}) {
        const std::string rid = rid_of(server_.send("GET", "/offers").body);
        return server_.send("PUT", "/offers/" + rid, std::move(headers),
                            R"({"offerVersion":"V2","content":)" + content + "}");
    }

    TestServer server_;
    int numbers_ = 0;
};

inline Headers explained() {
    return {{"x-orrery-explain-charge", "true"}};
}

/// The terms add up to the total, and the total is what the charge header says.
inline void expect_explained(const Reply& reply, const std::vector<std::string>& terms) {
    json::Arena arena;
    const std::string text = reply.header("x-orrery-charge-explanation");
    const auto bill = json::parse(text, arena);
    ASSERT_TRUE(bill.ok()) << text;
    const int64_t units = bill->member("units").as_int64();
    int64_t sum = 0;
    std::vector<std::string> names;
    for (const json::Value& line : bill->member("terms").elements()) {
        sum += line.member("units").as_int64();
        names.emplace_back(line.member("term").as_string());
    }
    EXPECT_EQ(sum, units) << text;
    EXPECT_EQ(meter::ru_text({units}), reply.header("x-ms-request-charge")) << text;
    EXPECT_EQ(names, terms) << text;
    EXPECT_LE(text.size(), 4096u);
}

}  // namespace orrery::rest::testing_support
