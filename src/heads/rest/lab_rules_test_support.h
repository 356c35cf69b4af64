#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "heads/rest/rest_test_support.h"
#include "json/parse.h"

namespace orrery::rest::testing_support {

constexpr int64_t kHour = 3600;
constexpr int64_t kDay = 24 * kHour;

/// A server with one database, and containers as tests make them.
class LabRules : public ::testing::Test {
protected:
    explicit LabRules(const engine::AccountSettings& settings =
                          engine::testing_support::TestEngine::unthrottled())
        : server_(1'700'000'040, settings) {
        EXPECT_EQ(server_.send("POST", "/dbs", {}, R"({"id":"d"})").status, 201);
    }

    void make(const std::string& id, const std::string& paths, const std::string& throughput,
              const std::string& more = {}) {
        const bool several = paths.find(',') != std::string::npos;
        const Reply made = server_.send(
            "POST", "/dbs/d/colls", {{"x-ms-offer-throughput", throughput}},
            fmt::format(
                R"({{"id":"{}","partitionKey":{{"paths":[{}],"kind":"{}","version":2}}{}}})", id,
                paths, several ? "MultiHash" : "Hash", more));
        ASSERT_EQ(made.status, 201) << made.body;
    }
    static Headers key_header(const std::string& key) {
        return {{"x-ms-documentdb-partitionkey", key}};
    }
    /// `key`: the JSON array of the header. `members`: of the item, its key included.
    /// Returns the charge.
    double write(const std::string& container, const std::string& key, const std::string& id,
                 const std::string& members, bool upsert = false) {
        Headers headers = key_header(key);
        if (upsert) headers.emplace_back("x-ms-documentdb-is-upsert", "true");
        const Reply reply = server_.send("POST", "/dbs/d/colls/" + container + "/docs", headers,
                                         fmt::format(R"({{"id":"{}",{}}})", id, members));
        EXPECT_TRUE(reply.status == 200 || reply.status == 201) << reply.body;
        return std::stod("0" + reply.header("x-ms-request-charge"));
    }
    /// An item whose key is /pk.
    double put(const std::string& container, const std::string& pk, const std::string& id,
               const std::string& more = {}, bool upsert = false) {
        return write(container, fmt::format(R"(["{}"])", pk), id,
                     fmt::format(R"("pk":"{}"{}{})", pk, more.empty() ? "" : ",", more), upsert);
    }
    /// Writes one item again until so much is charged, all within one second.
    void spend(const std::string& container, double ru) {
        const std::string text(60'000, 'x');
        for (double charged = 0; charged < ru;) {
            const double more = put(container, "a", "1", fmt::format(R"("text":"{}")", text), true);
            ASSERT_GT(more, 0);
            charged += more;
        }
    }
    void read(const std::string& container, const std::string& pk, const std::string& id) {
        const Reply reply = server_.send("GET", "/dbs/d/colls/" + container + "/docs/" + id,
                                         key_header(fmt::format(R"(["{}"])", pk)));
        ASSERT_EQ(reply.status, 200) << reply.body;
    }
    Reply query(const std::string& container, const std::string& text, const std::string& pk = {},
                Headers headers = {}) {
        headers.emplace_back("x-ms-documentdb-isquery", "true");
        headers.emplace_back("content-type", "application/query+json");
        headers.emplace_back("x-ms-documentdb-query-enablecrosspartition", "true");
        if (!pk.empty()) headers.emplace_back(key_header(fmt::format(R"(["{}"])", pk))[0]);
        Reply reply = server_.send("POST", "/dbs/d/colls/" + container + "/docs", headers,
                                   fmt::format(R"({{"query":"{}"}})", text));
        EXPECT_EQ(reply.status, 200) << reply.body;
        return reply;
    }
    /// Numbers of the rules that have found anything in the container.
    std::set<int64_t> found(const std::string& container) {
        const Reply reply =
            server_.send("GET", "/_orrery/containers/d/" + container + "/lab/report");
        EXPECT_EQ(reply.status, 200) << reply.body;
        json::Arena arena;
        const auto report = json::parse(reply.body, arena);
        std::set<int64_t> out;
        if (!report.ok()) return out;
        for (const auto& one :
             report->member("containers").elements()[0].member("findings").elements())
            out.insert(one.member("rule").as_int64());
        return out;
    }
    bool finds(const std::string& container, int64_t rule) {
        return found(container).contains(rule);
    }
    /// A GUID, different for each number.
    static std::string guid(int number) {
        const uint64_t mixed = static_cast<uint64_t>(number + 1) * 0x9E3779B97F4A7C15ULL;
        return fmt::format("{:08x}-{:04x}-4{:03x}-9{:03x}-{:012x}", mixed >> 32,
                           mixed >> 16 & 0xFFFF, mixed & 0xFFF, mixed >> 8 & 0xFFF,
                           mixed >> 7 & 0xFFFFFFFFFFFF);
    }

    TestServer server_;
};

}  // namespace orrery::rest::testing_support
