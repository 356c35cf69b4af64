#include "engine/resource_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/encoding.h"
#include "base/ended_test_support.h"
#include "engine/engine_test_support.h"

namespace orrery::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class ResourceTokenTest : public ::testing::Test {
protected:
    ResourceTokenTest() {
        server_.create_database("d");
        container_ = server_.create_container(
            "d", R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}})");
        server_.create_user("d", "u");
    }
    std::string issue(std::string_view body, int64_t seconds = 3600) {
        const auto permission = server_.create_permission("d", "u", body);
        const auto token = tokens().issue(*permission, seconds);
        EXPECT_TRUE(token.ok());
        return token.ok() ? *token : "";
    }
    std::string issue_for_container() {
        return issue(R"({"id":"p","permissionMode":"All","resource":"dbs/d/colls/c"})");
    }
    const ResourceTokens& tokens() { return server_.engine().tokens(); }
    Ended verdict(std::string_view token) { return ended(tokens().verify(token)); }

    testing_support::TestEngine server_;
    catalog::ContainerPtr container_;
};

TEST_F(ResourceTokenTest, FormAndScope) {
    const std::string token = issue_for_container();
    EXPECT_THAT(token, StartsWith("type=resource&ver=1.0&sig="));
    EXPECT_EQ(std::count(token.begin(), token.end(), ';'), 2);
    const auto principal = tokens().verify(token);
    ASSERT_TRUE(principal.ok());
    EXPECT_EQ(principal->kind, Principal::Kind::kToken);
    EXPECT_EQ(principal->scope.container, container_->rid);
    EXPECT_EQ(principal->scope.item_id, "");
    EXPECT_FALSE(principal->scope.epk);
    EXPECT_EQ(principal->scope.mode, catalog::PermissionMode::kAll);
}

TEST_F(ResourceTokenTest, KeyAndItemScopes) {
    const auto by_key = tokens().verify(issue(
        R"({"id":"k","permissionMode":"Read","resource":"dbs/d/colls/c","resourcePartitionKey":["a"]})"));
    ASSERT_TRUE(by_key.ok());
    const auto epk =
        partition::effective_partition_key(container_->settings->key, {json::Value::string("a")});
    EXPECT_EQ(by_key->scope.epk, *epk);
    EXPECT_EQ(by_key->scope.mode, catalog::PermissionMode::kRead);
}

TEST_F(ResourceTokenTest, RidLinksNameTheSameContainer) {
    const auto principal = tokens().verify(
        issue(R"({"id":"p","permissionMode":"All","resource":")" + container_->self() + "\"}"));
    ASSERT_TRUE(principal.ok());
    EXPECT_EQ(principal->scope.container, container_->rid);
}

TEST_F(ResourceTokenTest, EncodedLinks) {
    const auto spaced =
        server_.create_container("d", R"({"id":"c 1","partitionKey":{"paths":["/pk"]}})");
    const auto principal = tokens().verify(
        issue(R"({"id":"p","permissionMode":"All","resource":"dbs/d/colls/c%201/docs/i%20j"})"));
    ASSERT_TRUE(principal.ok());
    EXPECT_EQ(principal->scope.container, spaced->rid);
    EXPECT_EQ(principal->scope.item_id, "i j");
}

TEST_F(ResourceTokenTest, ItemsByRidAreRefused) {
    const std::string rid = catalog::child_rid(container_->rid, catalog::ChildType::kItem, 1);
    EXPECT_EQ(ended(tokens().check_resource(container_->self() + "docs/" + rid + "/").error()),
              Ended::kBadRequest);
    EXPECT_TRUE(tokens().check_resource(container_->self()).ok());
    EXPECT_TRUE(
        tokens().check_resource("dbs/d/colls/c/docs/" + rid).ok());  // an id that looks like a rid
}

TEST_F(ResourceTokenTest, Expiry) {
    const std::string token =
        issue(R"({"id":"p","permissionMode":"All","resource":"dbs/d/colls/c"})", 10);
    server_.clock().advance_seconds(9);
    EXPECT_EQ(verdict(token), Ended::kOk);
    server_.clock().advance_seconds(1);
    EXPECT_EQ(verdict(token), Ended::kForbidden);
    EXPECT_THAT(tokens().verify(token).error().message, HasSubstr("expired"));
}

TEST_F(ResourceTokenTest, EveryAlterationIsForged) {
    const std::string token = issue_for_container();
    for (size_t i = 0; i < token.size(); ++i) {
        std::string altered = token;
        altered[i] = altered[i] == 'A' ? 'B' : 'A';
        EXPECT_EQ(verdict(altered), Ended::kUnauthorized) << i;
        EXPECT_EQ(verdict(token.substr(0, i)), Ended::kUnauthorized) << i;
    }
    EXPECT_EQ(verdict(token + ";"), Ended::kUnauthorized);
    EXPECT_EQ(verdict(token + "A"), Ended::kUnauthorized);
    EXPECT_EQ(verdict("type=resource&ver=1.0&sig=;;"), Ended::kUnauthorized);
}

TEST_F(ResourceTokenTest, AnotherAccountsTokensAreForeign) {
    testing_support::TestEngine other;
    other.create_database("d");
    other.create_container("d", R"({"id":"c","partitionKey":{"paths":["/pk"]}})");
    other.create_user("d", "u");
    const auto permission = other.create_permission(
        "d", "u", R"({"id":"p","permissionMode":"All","resource":"dbs/d/colls/c"})");
    const auto token = other.engine().tokens().issue(*permission, 3600);
    EXPECT_EQ(verdict(*token), Ended::kUnauthorized);
}

TEST_F(ResourceTokenTest, DeletedOrChangedPermissionsEndTheirTokens) {
    const std::string token = issue_for_container();
    json::Arena arena;
    const auto body =
        json::parse(R"({"id":"p","permissionMode":"Read","resource":"dbs/d/colls/c"})", arena);
    const auto replaced =
        rest::by_body::replace_permission(server_.catalog(), "d", "u", "p", *body, "");
    ASSERT_TRUE(replaced.ok());
    EXPECT_EQ(verdict(token), Ended::kForbidden);
    const auto fresh = tokens().issue(**replaced, 3600);
    EXPECT_EQ(verdict(*fresh), Ended::kOk);
    ASSERT_TRUE(server_.catalog().delete_permission("d", "u", "p", "").ok());
    EXPECT_EQ(verdict(*fresh), Ended::kForbidden);
}

TEST_F(ResourceTokenTest, DeletedUserEndsTheTokens) {
    const std::string token = issue_for_container();
    ASSERT_TRUE(server_.catalog().delete_user("d", "u", "").ok());
    EXPECT_EQ(verdict(token), Ended::kForbidden);
}

TEST_F(ResourceTokenTest, ARecreatedContainerIsAnotherOne) {
    const std::string token = issue_for_container();
    ASSERT_TRUE(server_.catalog().delete_container("d", "c", "").ok());
    EXPECT_EQ(verdict(token), Ended::kForbidden);
    server_.create_container("d", R"({"id":"c","partitionKey":{"paths":["/pk"]}})");
    EXPECT_EQ(verdict(token), Ended::kForbidden);
}

}  // namespace
}  // namespace orrery::engine
