// What keys and resource tokens allow, from end to end over an engine in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heads/rest/rest_test_support.h"

namespace orrery::rest {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::Headers;
using testing_support::kDocs;
using testing_support::kKeyA;
using testing_support::kKeyB;
using testing_support::Reply;

class KeysAndTokens : public testing_support::OneContainerTest {
protected:
    /// The token of a new permission on `resource`; `key` = JSON array or empty.
    std::string token(const std::string& id, const std::string& mode, const std::string& resource,
                      const std::string& key = "") {
        const Reply made = server_.send(
            "POST", "/dbs/d/users/u/permissions", {},
            R"({"id":")" + id + R"(","permissionMode":")" + mode + R"(","resource":")" + resource +
                "\"" + (key.empty() ? "" : ",\"resourcePartitionKey\":" + key) + "}");
        EXPECT_EQ(made.status, 201) << made.body;
        return made.member("_token");
    }
    Reply batch(const std::string& token, const std::string& operations) {
        return server_.send_token(token, "POST", kDocs,
                                  {kKeyA,
                                   {"x-ms-cosmos-is-batch-request", "True"},
                                   {"x-ms-cosmos-batch-atomic", "True"},
                                   {"content-type", "application/json"}},
                                  operations);
    }
};

TEST_F(KeysAndTokens, ReadOnlyKeysReadEverythingAndWriteNothing) {
    create_item("i", "a");
    const size_t read_only = 2;
    EXPECT_EQ(server_.send("GET", "/", {}, "", read_only).status, 200);
    EXPECT_EQ(server_.send("GET", "/dbs", {}, "", read_only).status, 200);
    EXPECT_EQ(server_.send("GET", "/dbs/d/colls/c", {}, "", read_only).status, 200);
    EXPECT_EQ(server_.send("GET", kDocs + "/i", {kKeyA}, "", read_only).status, 200);
    EXPECT_EQ(server_.send("GET", kDocs, {}, "", read_only).status, 200);
    EXPECT_EQ(server_
                  .send("POST", kDocs, {{"x-ms-documentdb-isquery", "true"}},
                        R"({"query":"SELECT * FROM c"})", read_only)
                  .status,
              200);
    const std::vector<std::pair<std::string, std::string>> writes = {
        {"POST", "/dbs"},
        {"DELETE", "/dbs/d"},
        {"POST", "/dbs/d/colls"},
        {"PUT", "/dbs/d/colls/c"},
        {"DELETE", "/dbs/d/colls/c"},
        {"POST", kDocs},
        {"PUT", kDocs + "/i"},
        {"PATCH", kDocs + "/i"},
        {"DELETE", kDocs + "/i"},
        {"POST", "/dbs/d/colls/c/operations/partitionkeydelete"},
        {"POST", "/dbs/d/users"},
        {"DELETE", "/dbs/d/users/u"},
        {"POST", "/dbs/d/users/u/permissions"},
        {"PUT", "/offers/AAAA"}};
    for (const auto& [method, target] : writes)
        EXPECT_EQ(
            server_
                .send(method, target, {kKeyA}, R"([{"op":"set","path":"/x","value":1}])", read_only)
                .status,
            403)
            << method << target;
    // Permissions carry tokens that write.
    EXPECT_EQ(server_.send("GET", "/dbs/d/users/u/permissions", {}, "", read_only).status, 403);
    const Reply batch = server_.send(
        "POST", kDocs,
        {kKeyA, {"x-ms-cosmos-is-batch-request", "True"}, {"x-ms-cosmos-batch-atomic", "True"}},
        R"([{"operationType":"Delete","id":"i"}])", read_only);
    EXPECT_EQ(batch.status, 403);
}

TEST_F(KeysAndTokens, ContainerToken) {
    create_item("i", "a");
    ASSERT_EQ(create_container("other", R"({"paths":["/pk"]})").status, 201);
    const std::string all = token("all", "All", "dbs/d/colls/c");
    EXPECT_EQ(server_.send_token(all, "GET", "/").status, 200);
    EXPECT_EQ(server_.send_token(all, "GET", "/dbs/d/colls/c").status, 200);
    EXPECT_EQ(server_.send_token(all, "GET", "/dbs/d/colls/c/pkranges").status, 200);
    EXPECT_EQ(server_.send_token(all, "GET", kDocs + "/i", {kKeyA}).status, 200);
    EXPECT_EQ(server_.send_token(all, "GET", kDocs).status, 200);
    EXPECT_EQ(server_.send_token(all, "POST", kDocs, {kKeyA}, R"({"id":"j","pk":"a"})").status,
              201);
    EXPECT_EQ(server_.send_token(all, "DELETE", kDocs + "/j", {kKeyA}).status, 204);
    const std::vector<std::pair<std::string, std::string>> forbidden = {
        {"GET", "/dbs"},
        {"GET", "/dbs/d"},
        {"DELETE", "/dbs/d"},
        {"GET", "/dbs/d/colls"},
        {"GET", "/offers"},
        {"PUT", "/dbs/d/colls/c"},
        {"DELETE", "/dbs/d/colls/c"},
        {"GET", "/dbs/d/users"},
        {"GET", "/dbs/d/users/u/permissions/all"},
        {"GET", "/dbs/d/colls/other"},
        {"GET", "/dbs/d/colls/other/docs"},
        {"GET", "/dbs/d/colls/other/pkranges"},
        {"GET", "/dbs/d/colls/other/sprocs"},
        {"GET", "/dbs/d/colls/other/conflicts"},
        {"GET", "/dbs/d/colls/other/docs/i/attachments"},
        {"GET", "/dbs/d/colls/other/docs/i"},
        {"GET", "/dbs/d/colls/none/docs"},
        {"GET", "/dbs/none/colls/none"}};
    for (const auto& [method, target] : forbidden) {
        const Reply reply = server_.send_token(all, method, target, {kKeyA}, "{}");
        EXPECT_EQ(reply.status, 403) << method << target;
        // Nothing about a foreign container in the headers either.
        if (target.find("other") != std::string::npos) {
            EXPECT_EQ(reply.header("x-ms-content-path"), "") << target;
        }
    }
}

TEST_F(KeysAndTokens, ReadToken) {
    create_item("i", "a");
    const std::string read = token("read", "Read", "dbs/d/colls/c");
    EXPECT_EQ(server_.send_token(read, "GET", kDocs + "/i", {kKeyA}).status, 200);
    EXPECT_EQ(server_.send_token(read, "POST", kDocs, {kKeyA}, R"({"id":"j","pk":"a"})").status,
              403);
    EXPECT_EQ(server_.send_token(read, "DELETE", kDocs + "/i", {kKeyA}).status, 403);
    EXPECT_EQ(batch(read, R"([{"operationType":"Read","id":"i"}])").status, 200);
    EXPECT_EQ(
        batch(read, R"([{"operationType":"Read","id":"i"},{"operationType":"Delete","id":"i"}])")
            .status,
        403);
}

TEST_F(KeysAndTokens, KeyTokenCannotLeaveItsKey) {
    create_item("i", "a");
    create_item("i", "b");
    const std::string scoped = token("key", "All", "dbs/d/colls/c", R"(["a"])");
    EXPECT_EQ(server_.send_token(scoped, "GET", kDocs + "/i", {kKeyA}).status, 200);
    EXPECT_EQ(server_.send_token(scoped, "GET", kDocs + "/i", {kKeyB}).status, 403);
    EXPECT_EQ(server_.send_token(scoped, "GET", kDocs).status, 403);
    EXPECT_EQ(server_.send_token(scoped, "GET", kDocs, {kKeyA}).header("x-ms-item-count"), "1");
    EXPECT_EQ(
        server_.send_token(scoped, "GET", kDocs, {{"x-ms-documentdb-partitionkeyrangeid", "0"}})
            .status,
        403);
    EXPECT_EQ(
        server_.send_token(scoped, "GET", kDocs, {{"x-ms-start-epk", ""}, {"x-ms-end-epk", "FF"}})
            .status,
        403);
    EXPECT_EQ(
        server_.send_token(scoped, "GET", kDocs, {{"x-ms-documentdb-partitionkey", "[]"}}).status,
        403);
    const Headers query = {{"x-ms-documentdb-isquery", "true"}};
    EXPECT_EQ(
        server_.send_token(scoped, "POST", kDocs, query, R"({"query":"SELECT * FROM c"})").status,
        403);
    const Reply own = server_.send_token(scoped, "POST", kDocs, {query[0], kKeyA},
                                         R"({"query":"SELECT * FROM c"})");
    EXPECT_EQ(own.status, 200);
    EXPECT_EQ(own.header("x-ms-item-count"), "1");
    const Reply bulk =
        server_.send_token(scoped, "POST", kDocs,
                           {{"x-ms-cosmos-is-batch-request", "True"},
                            {"x-ms-cosmos-batch-continue-on-error", "True"},
                            {"x-ms-documentdb-partitionkeyrangeid", "0"}},
                           R"([{"operationType":"Delete","id":"i","partitionKey":"[\"b\"]"}])");
    EXPECT_EQ(bulk.status, 207);
    EXPECT_THAT(bulk.body, HasSubstr("\"statusCode\":403"));
    EXPECT_EQ(server_.send("GET", kDocs + "/i", {kKeyB}).status, 200);
}

TEST_F(KeysAndTokens, ItemTokenCannotTouchOthers) {
    create_item("i", "a");
    create_item("j", "a");
    const std::string scoped = token("item", "All", "dbs/d/colls/c/docs/i", R"(["a"])");
    EXPECT_EQ(server_.send_token(scoped, "GET", kDocs + "/i", {kKeyA}).status, 200);
    EXPECT_EQ(server_.send_token(scoped, "GET", kDocs + "/j", {kKeyA}).status, 403);
    EXPECT_EQ(server_.send_token(scoped, "GET", kDocs, {kKeyA}).status, 403);
    EXPECT_EQ(server_.send_token(scoped, "POST", kDocs, {kKeyA}, R"({"id":"k","pk":"a"})").status,
              403);
    EXPECT_EQ(
        server_.send_token(scoped, "POST", "/dbs/d/colls/c/operations/partitionkeydelete", {kKeyA})
            .status,
        403);
    EXPECT_EQ(batch(scoped, R"([{"operationType":"Read","id":"i"}])").status, 200);
    EXPECT_EQ(batch(scoped, R"([{"operationType":"Delete","id":"j"}])").status, 403);
    // The id beside the body is not the id that is written.
    for (const std::string type : {"Create", "Upsert"})
        EXPECT_EQ(
            batch(scoped, R"([{"operationType":")" + type +
                              R"(","id":"i","resourceBody":{"id":"j","pk":"a","stolen":true}}])")
                .status,
            403);
    EXPECT_THAT(server_.send("GET", kDocs + "/j", {kKeyA}).body, Not(HasSubstr("stolen")));
}

TEST_F(KeysAndTokens, ExpiredTokenAndLifetimeHeader) {
    const auto make = [&](const std::string& id, const std::string& seconds) {
        return server_.send(
            "POST", "/dbs/d/users/u/permissions", {{"x-ms-documentdb-expiry-seconds", seconds}},
            R"({"id":")" + id + R"(","permissionMode":"All","resource":"dbs/d/colls/c"})");
    };
    for (const std::string bad : {"9", "86401", "-1", "ten", "1e3"})
        EXPECT_EQ(make("p", bad).status, 400) << bad;
    const std::string token = make("p", "10").member("_token");
    EXPECT_EQ(server_.send_token(token, "GET", kDocs).status, 200);
    server_.clock().advance_seconds(10);
    EXPECT_EQ(server_.send_token(token, "GET", kDocs).status, 403);
    const std::string fresh = server_.send("GET", "/dbs/d/users/u/permissions/p").member("_token");
    EXPECT_EQ(server_.send_token(fresh, "GET", kDocs).status, 200);
    EXPECT_EQ(make("q", "10").status, 409);  // one permission of a user per resource
}

}  // namespace
}  // namespace orrery::rest
