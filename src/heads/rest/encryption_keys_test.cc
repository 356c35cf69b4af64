#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heads/rest/rest_test_support.h"

namespace orrery::rest {
namespace {

using testing::HasSubstr;
using testing_support::Reply;
using testing_support::TestServer;

const std::string kKeys = "/dbs/d/clientencryptionkeys";

std::string body(const std::string& id, const std::string& wrapped) {
    return R"({"id":")" + id +
           R"(","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256","wrappedDataEncryptionKey":")" +
           wrapped +
           R"(","keyWrapMetadata":{"type":"t","name":"n","value":"v","algorithm":"RSA-OAEP"}})";
}

TEST(EncryptionKeys, AllOperations) {
    TestServer server;
    ASSERT_EQ(server.send("POST", "/dbs", {}, R"({"id":"d"})").status, 201);
    const Reply created = server.send("POST", kKeys, {}, body("k", "AAAA"));
    EXPECT_EQ(created.status, 201);
    EXPECT_EQ(created.header("etag").size(), 38u);
    EXPECT_EQ(server.send("POST", kKeys, {}, body("k", "AAAA")).status, 409);
    EXPECT_EQ(server.send("POST", kKeys, {}, body("l", "")).status, 400);
    EXPECT_EQ(server.send("POST", kKeys, {{"x-ms-documentdb-is-upsert", "true"}}, body("k", "AAAA"))
                  .status,
              400);
    const Reply read = server.send("GET", kKeys + "/k");
    EXPECT_EQ(read.status, 200);
    EXPECT_EQ(read.body, created.body);
    EXPECT_EQ(server.send("GET", kKeys + "/" + created.member("_rid")).body, created.body);
    EXPECT_EQ(server.send("GET", kKeys + "/k", {{"if-none-match", created.header("etag")}}).status,
              304);
    EXPECT_EQ(server.send("GET", kKeys + "/none").status, 404);
    const Reply replaced =
        server.send("PUT", kKeys + "/k", {{"if-match", created.header("etag")}}, body("k", "BBBB"));
    EXPECT_EQ(replaced.status, 200);
    EXPECT_EQ(replaced.member("wrappedDataEncryptionKey"), "BBBB");
    EXPECT_EQ(
        server.send("PUT", kKeys + "/k", {{"if-match", created.header("etag")}}, body("k", "CCCC"))
            .status,
        412);
    const Reply list = server.send("GET", kKeys);
    EXPECT_THAT(list.body, HasSubstr(R"("ClientEncryptionKeys":[{"id":"k",)"));
    EXPECT_EQ(list.header("x-ms-item-count"), "1");
    const Reply query = server.send("POST", kKeys, {{"content-type", "application/query+json"}},
                                    R"({"query":"SELECT * FROM c WHERE c.id = 'k'"})");
    EXPECT_EQ(query.status, 200);
    EXPECT_THAT(query.body, HasSubstr("BBBB"));
    EXPECT_EQ(server.send("DELETE", kKeys + "/k").status, 405);
    EXPECT_EQ(server.send("GET", "/dbs/none/clientencryptionkeys").status, 404);
    // A read-only key reads and does not write.
    EXPECT_EQ(server.send("GET", kKeys + "/k", {}, {}, 2).status, 200);
    EXPECT_EQ(server.send("POST", kKeys, {}, body("m", "AAAA"), 2).status, 403);
}

}  // namespace
}  // namespace orrery::rest
