// Pages of listings of resources and of queries over them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heads/rest/rest_test_support.h"

namespace orrery::rest {
namespace {

using ::testing::HasSubstr;
using testing_support::Headers;
using testing_support::OneContainerTest;
using testing_support::Reply;

const std::string kQuery = R"({"query":"SELECT VALUE r.id FROM r"})";

class ListingsTest : public OneContainerTest {
protected:
    ListingsTest() {
        EXPECT_EQ(server_.send("POST", "/dbs", {}, R"({"id":"d2"})").status, 201);
        for (const std::string database : {"d", "d2"}) {
            for (const std::string id : {"1", "2", "3"}) {
                const std::string path = "/dbs/" + database;
                create(path + "/colls",
                       R"({"id":"c)" + id + R"(","partitionKey":{"paths":["/pk"]}})");
                create(path + "/users", R"({"id":"u)" + id + "\"}");
                create(path + "/clientencryptionkeys",
                       R"({"id":"k)" + id +
                           R"(","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256",)"
                           R"("wrappedDataEncryptionKey":"a2V5","keyWrapMetadata":)"
                           R"({"type":"t","name":"n","value":"v","algorithm":"a"}})");
            }
        }
        for (const std::string id : {"1", "2", "3"}) {
            const std::string body = R"({"id":"s)" + id + R"(","body":"function () {}")";
            create("/dbs/d/colls/c1/sprocs", body + "}");
            create("/dbs/d/colls/c2/sprocs", body + "}");
            create("/dbs/d/colls/c1/udfs", body + "}");
            const std::string permission =
                R"({"id":"p)" + id + R"(","permissionMode":"Read","resource":"dbs/d/colls/c)" + id +
                "\"}";
            create("/dbs/d/users/u1/permissions", permission);
            create("/dbs/d/users/u2/permissions", permission);
        }
    }
    void create(const std::string& path, const std::string& body) {
        const Reply reply = server_.send("POST", path, {}, body);
        ASSERT_EQ(reply.status, 201) << path << reply.body;
    }
    Reply list(const std::string& path, const std::string& token, Headers more = {}) {
        return ask("GET", path, {}, token, std::move(more));
    }
    Reply query(const std::string& path, const std::string& token,
                const std::string& body = kQuery) {
        return ask("POST", path, body, token, {{"x-ms-documentdb-isquery", "true"}});
    }
    Reply ask(const std::string& method, const std::string& path, const std::string& body,
              const std::string& token, Headers headers) {
        headers.emplace_back("x-ms-max-item-count", "1");
        if (!token.empty()) headers.emplace_back("x-ms-continuation", token);
        return server_.send(method, path, std::move(headers), body);
    }
    static void expect_foreign(const Reply& reply) {
        EXPECT_EQ(reply.status, 400) << reply.body;
        EXPECT_THAT(reply.body, HasSubstr("it was altered, or it belongs to another request"));
    }

    const std::vector<std::string> feeds_{"/dbs",
                                          "/offers",
                                          "/dbs/d/colls",
                                          "/dbs/d2/colls",
                                          "/dbs/d/users",
                                          "/dbs/d/clientencryptionkeys",
                                          "/dbs/d/users/u1/permissions",
                                          "/dbs/d/users/u2/permissions",
                                          "/dbs/d/colls/c1/sprocs",
                                          "/dbs/d/colls/c2/sprocs",
                                          "/dbs/d/colls/c1/udfs"};
};

TEST_F(ListingsTest, AnAlteredTokenIsRefused) {
    for (const std::string& feed : feeds_) {
        for (const bool by_query : {false, true}) {
            const auto page = [&](const std::string& token) {
                return by_query ? query(feed, token) : list(feed, token);
            };
            const std::string token = page("").header("x-ms-continuation");
            ASSERT_NE(token, "") << feed;
            const Reply next = page(token);
            EXPECT_EQ(next.status, 200) << feed;
            EXPECT_EQ(next.header("x-ms-item-count"), "1") << feed;
            const auto decoded = base64_decode(token);
            ASSERT_TRUE(decoded) << token;
            std::string bytes = *decoded;
            for (char& byte : bytes) {
                byte = static_cast<char>(byte ^ 1);
                expect_foreign(page(base64_encode(bytes)));
                byte = static_cast<char>(byte ^ 1);
            }
            for (const std::string made_up : {"rows:1:0", "after:1", "after:80000001", "AbCd", "x"})
                expect_foreign(page(made_up));
        }
    }
}

TEST_F(ListingsTest, ATokenIsForItsOwnListing) {
    for (const std::string& from : feeds_) {
        const std::string listed = list(from, "").header("x-ms-continuation");
        const std::string queried = query(from, "").header("x-ms-continuation");
        for (const std::string& to : feeds_) {
            if (to != from) {
                expect_foreign(list(to, listed));
                expect_foreign(query(to, queried));
            }
            expect_foreign(query(to, listed));
            expect_foreign(list(to, queried));
        }
        expect_foreign(query(from, queried, R"({"query":"SELECT r.id FROM r"})"));
        expect_foreign(query(from, queried,
                             R"({"query":"SELECT VALUE r.id FROM r",)"
                             R"("parameters":[{"name":"@x","value":1}]})"));
        // The same query, written by another client.
        EXPECT_EQ(
            query(from, queried, R"({ "parameters": null, "query": "SELECT VALUE r.id FROM r" })")
                .status,
            200);
        expect_foreign(list("/dbs/d/colls/c/conflicts", listed));
    }
}

TEST_F(ListingsTest, ATokenOutlivesNeitherItsParentNorItsName) {
    const std::string token = list("/dbs/d2/colls", "").header("x-ms-continuation");
    ASSERT_EQ(server_.send("DELETE", "/dbs/d2").status, 204);
    create("/dbs", R"({"id":"d2"})");
    expect_foreign(list("/dbs/d2/colls", token));
}

}  // namespace
}  // namespace orrery::rest
