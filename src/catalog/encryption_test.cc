#include <gtest/gtest.h>

#include "base/limits.h"
#include "catalog/catalog.h"
#include "catalog/catalog_test_support.h"

namespace orrery::catalog {
namespace {

using testing::Account;
using testing::Folder;
using testing::message_of;

class EncryptionTest : public ::testing::Test {
protected:
    EncryptionTest() : account_(folder_.path()) {
        EXPECT_TRUE(account_.create_database(R"({"id":"d"})").ok());
    }
    static std::string key_body(const std::string& id, const std::string& wrapped = "d3JhcA==") {
        return R"({"id":")" + id +
               R"(","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256","wrappedDataEncryptionKey":")" +
               wrapped +
               R"(","keyWrapMetadata":{"type":"local","name":"n","value":"v","algorithm":"RSA-OAEP"}})";
    }
    Result<EncryptionKeyPtr> create_key(const std::string& body) {
        return rest::by_body::create_encryption_key(*account_.catalog, "d", account_.parse(body));
    }
    static std::string path(const std::string& name, const std::string& type = "Deterministic",
                            const std::string& key = "k") {
        return R"({"path":")" + name + R"(","clientEncryptionKeyId":")" + key +
               R"(","encryptionType":")" + type +
               R"(","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256"})";
    }
    static std::string container(const std::string& policy, const std::string& id = "c") {
        return R"({"id":")" + id +
               R"(","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"clientEncryptionPolicy":)" +
               policy + "}";
    }
    static std::string policy(const std::string& paths, int version = 1) {
        return R"({"includedPaths":[)" + paths + R"(],"policyFormatVersion":)" +
               std::to_string(version) + "}";
    }
    Folder folder_;
    Account account_;
};

TEST_F(EncryptionTest, KeysAsClientsSeeThem) {
    const auto created = create_key(key_body("k"));
    ASSERT_TRUE(created.ok()) << created.error().message;
    const EncryptionKey& key = **created;
    EXPECT_EQ(
        rest::encryption_key_json(key),
        R"({"id":"k","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256",)"
        R"("wrappedDataEncryptionKey":"d3JhcA==","keyWrapMetadata":{"type":"local","name":"n",)"
        R"("value":"v","algorithm":"RSA-OAEP"},"_rid":")" +
            key.rid.text() + R"(","_self":"dbs/)" + key.database->rid.text() +
            "/clientencryptionkeys/" + key.rid.text() + R"(/","_etag":"\")" + key.version.etag +
            R"(\"","_ts":)" + std::to_string(key.version.ts) + "}");
    EXPECT_EQ(key.rid.text().size(), 16u);  // 12 bytes
    EXPECT_EQ(account_->find_encryption_key("d", "k"), *created);
    EXPECT_EQ(account_->find_encryption_key("d", key.rid.text()), *created);
    EXPECT_EQ(account_->find_encryption_key("d", "other"), nullptr);
    EXPECT_EQ(ended(create_key(key_body("k"))), Ended::kConflict);
    EXPECT_EQ(ended(rest::by_body::create_encryption_key(*account_.catalog, "x",
                                                         account_.parse(key_body("k")))),
              Ended::kOwnerNotFound);
}

TEST_F(EncryptionTest, KeysAreRewrappedAndSurviveARestart) {
    ASSERT_TRUE(create_key(key_body("k")).ok());
    const auto before = account_->find_encryption_key("d", "k");
    const auto replace = [&](const std::string& body, const std::string& if_match) {
        return rest::by_body::replace_encryption_key(*account_.catalog, "d", "k",
                                                     account_.parse(body), if_match);
    };
    EXPECT_EQ(ended(replace(key_body("k", "bmV3"), "stale")), Ended::kPrecondition);
    EXPECT_EQ(ended(replace(key_body("other", "bmV3"), "")), Ended::kBadRequest);
    const auto after = replace(key_body("k", "bmV3"), before->version.etag);
    ASSERT_TRUE(after.ok());
    EXPECT_NE(rest::encryption_key_json(**after).find("bmV3"), std::string::npos);
    EXPECT_EQ((*after)->rid, before->rid);
    EXPECT_NE((*after)->version.etag, before->version.etag);
    EXPECT_EQ(ended(rest::by_body::replace_encryption_key(*account_.catalog, "d", "none",
                                                          account_.parse(key_body("none")), "")),
              Ended::kNotFound);
    const std::string json = rest::encryption_key_json(**after);
    account_.reopen();
    ASSERT_NE(account_->find_encryption_key("d", "k"), nullptr);
    EXPECT_EQ(rest::encryption_key_json(*account_->find_encryption_key("d", "k")), json);
    // With the database they go, and its name comes back without them.
    ASSERT_TRUE(account_->delete_database("d", "").ok());
    account_.reopen();
    ASSERT_TRUE(account_.create_database(R"({"id":"d"})").ok());
    EXPECT_EQ(account_->find_encryption_key("d", "k"), nullptr);
}

TEST_F(EncryptionTest, AtMostTwentyKeys) {
    for (uint32_t i = 0; i < limits::kEncryptionKeysMax; ++i)
        ASSERT_TRUE(create_key(key_body("k" + std::to_string(i))).ok());
    EXPECT_EQ(ended(create_key(key_body("more"))), Ended::kForbidden);
    const auto page = account_->list_encryption_keys(*account_->find_database("d"), {"", 7});
    EXPECT_EQ(page.items.size(), 7u);
    EXPECT_FALSE(page.continuation.empty());
}

TEST_F(EncryptionTest, MalformedKeysAreRefused) {
    for (const auto& [from, to, why] : std::vector<std::array<std::string, 3>>{
             {"AEAD_AES_256_CBC_HMAC_SHA256", "ROT13", "encryptionAlgorithm"},
             {"d3JhcA==", "", "wrappedDataEncryptionKey"},
             {"d3JhcA==", "no base64!", "wrappedDataEncryptionKey"},
             {R"("type":"local")", R"("type":5)", "keyWrapMetadata.type"},
             {R"("name":"n",)", "", "keyWrapMetadata.name"},
             {R"("name":"n")", R"("name":"n","colour":"red")", "colour"},
             {R"("keyWrapMetadata":{)", R"("extra":1,"keyWrapMetadata":{)", "extra"},
             {R"({"id":"k",)", "{", "id"}}) {
        std::string body = key_body("k");
        body.replace(body.find(from), from.size(), to);
        const auto result = create_key(body);
        EXPECT_EQ(ended(result), Ended::kBadRequest) << body;
        EXPECT_NE(message_of(result).find(why), std::string::npos) << message_of(result);
    }
    EXPECT_EQ(account_->find_encryption_key("d", "k"), nullptr);
}

TEST_F(EncryptionTest, PoliciesNameKeysThatExist) {
    const std::string body = container(policy(path("/ssn") + "," + path("/notes", "Randomized")));
    const auto missing = account_.create_container("d", body);
    EXPECT_EQ(ended(missing), Ended::kBadRequest);
    EXPECT_NE(message_of(missing).find("'k'"), std::string::npos) << message_of(missing);
    ASSERT_TRUE(create_key(key_body("k")).ok());
    const auto created = account_.create_container("d", body);
    ASSERT_TRUE(created.ok()) << created.error().message;
    EXPECT_NE(rest::container_json(**created).find(
                  R"("clientEncryptionPolicy":{"includedPaths":[)" + path("/ssn") + "," +
                  path("/notes", "Randomized") + R"(],"policyFormatVersion":1})"),
              std::string::npos)
        << rest::container_json(**created);
    const std::string json = rest::container_json(**created);
    account_.reopen();
    EXPECT_EQ(rest::container_json(*account_->find_container("d", "c")), json);
}

TEST_F(EncryptionTest, PoliciesAreImmutable) {
    ASSERT_TRUE(create_key(key_body("k")).ok());
    ASSERT_TRUE(account_.create_container("d", container(policy(path("/a")))).ok());
    ASSERT_TRUE(
        account_.create_container("d", R"({"id":"plain","partitionKey":{"paths":["/pk"]}})").ok());
    EXPECT_EQ(ended(account_.replace_container("d", "c", container(policy(path("/b"))))),
              Ended::kBadRequest);
    EXPECT_EQ(ended(account_.replace_container("d", "c", container(policy("")))),
              Ended::kBadRequest);
    EXPECT_EQ(
        ended(account_.replace_container("d", "plain", container(policy(path("/a")), "plain"))),
        Ended::kBadRequest);
    // The same, or left out: it stays.
    ASSERT_TRUE(account_.replace_container("d", "c", container(policy(path("/a")))).ok());
    const auto left_out = account_.replace_container(
        "d", "c",
        R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":60})");
    ASSERT_TRUE(left_out.ok()) << left_out.error().message;
    EXPECT_NE(rest::container_json(**left_out).find(path("/a")), std::string::npos);
}

TEST_F(EncryptionTest, MalformedPoliciesAreRefused) {
    ASSERT_TRUE(create_key(key_body("k")).ok());
    for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
             {"5", "object"},
             {R"({"includedPaths":5})", "array"},
             {policy(path("/a"), 3), "policyFormatVersion"},
             {policy(path("/a") + "," + path("/a")), "twice"},
             {policy(path("/a/b")), "top of an item"},
             {policy(path("a")), "top of an item"},
             {policy(path("/")), "top of an item"},
             {policy(path("/a", "Reversible")), "encryptionType"},
             {policy(path("/id")), "policyFormatVersion 2"},
             {policy(path("/pk")), "policyFormatVersion 2"},
             {policy(path("/pk", "Randomized"), 2), "Deterministic"},
             {policy(R"({"path":"/a"})"), "clientEncryptionKeyId"},
             {R"({"includedPaths":[],"mode":"on"})", "mode"}}) {
        const auto result = account_.create_container("d", container(text));
        EXPECT_EQ(ended(result), Ended::kBadRequest) << text;
        EXPECT_NE(message_of(result).find(why), std::string::npos) << message_of(result);
    }
    EXPECT_TRUE(
        account_.create_container("d", container(policy(path("/pk") + "," + path("/id"), 2))).ok());
    EXPECT_TRUE(account_.create_container("d", container(policy(""), "empty")).ok());
}

}  // namespace
}  // namespace orrery::catalog
