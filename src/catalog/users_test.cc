#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "catalog/catalog_test_support.h"

namespace orrery::catalog {
namespace {

using testing::Account;
using testing::Folder;
using testing::message_of;
using Upsert = Catalog::Upsert;

class UserTest : public ::testing::Test {
protected:
    UserTest() : account_(folder_.path()) {
        EXPECT_TRUE(account_.create_database(R"({"id":"d"})").ok());
        EXPECT_TRUE(
            account_.create_container("d", R"({"id":"c","partitionKey":{"paths":["/pk"]}})").ok());
        EXPECT_TRUE(
            account_.create_container("d", R"({"id":"e","partitionKey":{"paths":["/pk"]}})").ok());
    }
    Result<Catalog::UserChange> user(const std::string& id, Upsert upsert = Upsert::kNo) {
        return rest::by_body::create_user(*account_.catalog, "d",
                                          account_.parse(R"({"id":")" + id + "\"}"), upsert);
    }
    Result<Catalog::PermissionChange> permission(const std::string& user, const std::string& id,
                                                 const std::string& resource,
                                                 const std::string& extra = "",
                                                 Upsert upsert = Upsert::kNo) {
        return rest::by_body::create_permission(*account_.catalog, "d", user,
                                                account_.parse(body(id, resource, extra)), upsert);
    }
    static std::string body(const std::string& id, const std::string& resource,
                            const std::string& extra = "") {
        return R"({"id":")" + id + R"(","permissionMode":"Read","resource":")" + resource + "\"" +
               extra + "}";
    }
    Folder folder_;
    Account account_;
};

TEST_F(UserTest, AsClientsSeeIt) {
    const auto created = user("u");
    ASSERT_TRUE(created.ok());
    EXPECT_TRUE(created->created);
    const User& u = *created->user;
    EXPECT_EQ(rest::user_json(u), R"({"id":"u","_rid":")" + u.rid.text() + R"(","_self":"dbs/)" +
                                      u.database->rid.text() + "/users/" + u.rid.text() +
                                      R"(/","_etag":"\")" + u.version.etag + R"(\"","_ts":)" +
                                      std::to_string(u.version.ts) +
                                      R"(,"_permissions":"permissions/"})");
    EXPECT_EQ(account_->find_user("d", "u"), created->user);
    EXPECT_EQ(account_->find_user("d", u.rid.text()), created->user);
}

TEST_F(UserTest, CreateUpsertReplaceDelete) {
    ASSERT_TRUE(user("u").ok());
    EXPECT_EQ(ended(user("u")), Ended::kConflict);
    const auto upserted = user("u", Upsert::kYes);
    ASSERT_TRUE(upserted.ok());
    EXPECT_FALSE(upserted->created);
    const auto other = user("v", Upsert::kYes);
    ASSERT_TRUE(other.ok());
    EXPECT_TRUE(other->created);
    const auto replace = [&](std::string_view id, std::string_view text,
                             std::string_view if_match = "") {
        return rest::by_body::replace_user(*account_.catalog, "d", id, account_.parse(text),
                                           if_match);
    };
    EXPECT_EQ(ended(replace("u", R"({"id":"v"})")), Ended::kConflict);
    EXPECT_EQ(ended(replace("x", R"({"id":"x"})")), Ended::kNotFound);
    EXPECT_EQ(ended(replace("u", R"({"id":"a/b"})")), Ended::kBadRequest);
    EXPECT_EQ(ended(replace("u", R"({"id":"w"})", "other")), Ended::kPrecondition);
    ASSERT_TRUE(permission("u", "p", "dbs/d/colls/c").ok());
    const auto renamed = replace("u", R"({"id":"w"})");
    ASSERT_TRUE(renamed.ok());
    EXPECT_EQ(account_->find_user("d", "u"), nullptr);
    EXPECT_EQ(account_->find_user("d", "w"), *renamed);
    EXPECT_EQ(account_->find_permission("d", "w", "p")->user, *renamed);
    account_.reopen();
    EXPECT_EQ(account_->find_user("d", "u"), nullptr);
    EXPECT_NE(account_->find_permission("d", "w", "p"), nullptr);
    EXPECT_EQ(ended(account_->delete_user("d", "w", "other")), Ended::kPrecondition);
    EXPECT_EQ(ended(account_->delete_user("d", "w", "")), Ended::kOk);
    EXPECT_EQ(ended(account_->delete_user("d", "w", "")), Ended::kNotFound);
    account_.reopen();
    EXPECT_EQ(account_->find_permission("d", "w", "p"), nullptr);
    EXPECT_EQ(account_->find_user("d", "w"), nullptr);
}

TEST_F(UserTest, PermissionAsClientsSeeIt) {
    ASSERT_TRUE(user("u").ok());
    const auto created = permission("u", "p", "dbs/d/colls/c", R"(,"resourcePartitionKey":["k"])");
    ASSERT_TRUE(created.ok()) << message_of(created);
    const Permission& p = *created->permission;
    const std::string expected =
        R"({"id":"p","permissionMode":"Read","resource":"dbs/d/colls/c","resourcePartitionKey":["k"],"_rid":")" +
        p.rid.text() + R"(","_self":")" + p.user->database->self() + "users/" + p.user->rid.text() +
        "/" + "permissions/" + p.rid.text() + R"(/","_etag":"\")" + p.version.etag +
        R"(\"","_ts":)" + std::to_string(p.version.ts);
    EXPECT_EQ(rest::permission_json(p, "type=resource&ver=1.0&sig=x"),
              expected + R"(,"_token":"type=resource&ver=1.0&sig=x"})");
    EXPECT_EQ(rest::permission_json(p, ""), expected + "}");
    EXPECT_EQ(account_->find_permission("d", "u", "p"), created->permission);
    EXPECT_EQ(account_->find_permission("d", "u", p.rid.text()), created->permission);
}

TEST_F(UserTest, OnePermissionPerResource) {
    ASSERT_TRUE(user("u").ok());
    ASSERT_TRUE(user("v").ok());
    const ContainerPtr container = account_->find_container("d", "c");
    ASSERT_TRUE(permission("u", "p", "dbs/d/colls/c").ok());
    EXPECT_EQ(ended(permission("u", "p", "dbs/d/colls/e")), Ended::kConflict);  // the id
    EXPECT_EQ(ended(permission("u", "q", "dbs/d/colls/c")), Ended::kConflict);  // the resource
    EXPECT_EQ(ended(permission("u", "q", "/dbs/d/colls/c/")),
              Ended::kConflict);  // written otherwise
    EXPECT_EQ(ended(permission("u", "q", container->self())), Ended::kConflict);  // by rid
    EXPECT_EQ(ended(permission("v", "p", "dbs/d/colls/c")), Ended::kOk);          // another user
    EXPECT_EQ(ended(permission("u", "q", "dbs/d/colls/e")), Ended::kOk);
    EXPECT_EQ(ended(permission("u", "r", "dbs/d/colls/c/docs/1")), Ended::kOk);  // an item of it
    EXPECT_EQ(ended(permission("u", "s", "dbs/d/colls/c/docs/1")), Ended::kConflict);
    const auto upserted = permission("u", "q", "dbs/d/colls/e", "", Upsert::kYes);
    ASSERT_TRUE(upserted.ok());
    EXPECT_FALSE(upserted->created);
    EXPECT_EQ(ended(permission("u", "q", "dbs/d/colls/c", "", Upsert::kYes)), Ended::kConflict);
}

TEST_F(UserTest, PermissionBodies) {
    ASSERT_TRUE(user("u").ok());
    const auto create = [&](std::string_view text) {
        return ended(rest::by_body::create_permission(*account_.catalog, "d", "u",
                                                      account_.parse(text), Upsert::kNo));
    };
    EXPECT_EQ(create(R"({"permissionMode":"All","resource":"dbs/d/colls/c"})"), Ended::kBadRequest);
    EXPECT_EQ(create(R"({"id":"p","resource":"dbs/d/colls/c"})"), Ended::kBadRequest);
    EXPECT_EQ(create(R"({"id":"p","permissionMode":"Write","resource":"dbs/d/colls/c"})"),
              Ended::kBadRequest);
    EXPECT_EQ(create(R"({"id":"p","permissionMode":5,"resource":"dbs/d/colls/c"})"),
              Ended::kBadRequest);
    EXPECT_EQ(create(R"({"id":"p","permissionMode":"All"})"), Ended::kBadRequest);
    EXPECT_EQ(create(R"({"id":"p","permissionMode":"All","resource":5})"), Ended::kBadRequest);
    EXPECT_EQ(
        create(R"({"id":"p","permissionMode":"All","resource":"dbs/d/colls/c","expires":60})"),
        Ended::kBadRequest);
    EXPECT_EQ(ended(rest::by_body::create_user(
                  *account_.catalog, "d", account_.parse(R"({"id":"w","name":"x"})"), Upsert::kNo)),
              Ended::kBadRequest);
    EXPECT_EQ(ended(rest::by_body::replace_user(*account_.catalog, "d", "u",
                                                account_.parse(R"({"id":"u","name":"x"})"), "")),
              Ended::kBadRequest);
    for (std::string_view link :
         {"", "/", "dbs/d", "dbs/d/colls", "dbs/d/users/u", "colls/c", "dbs/d/colls/c/docs",
          "dbs/d/colls/c/pkranges/0", "dbs/d/colls/c/docs/1/attachments/a",
          "dbs/d/colls/c/triggers/t", "dbs/d/colls/c/udfs/f"})
        EXPECT_EQ(ended(permission("u", "p", std::string(link))), Ended::kBadRequest) << link;
    for (std::string_view link : {"dbs/x/colls/c", "dbs/d/colls/x", "dbs/d/colls/c/sprocs/s"})
        EXPECT_EQ(ended(permission("u", "p", std::string(link))), Ended::kNotFound) << link;
    for (std::string_view key : {"5", "\"k\"", "[]", "[[1]]", "[{\"a\":1}]", R"(["a","b"])"})
        EXPECT_EQ(ended(permission("u", "p", "dbs/d/colls/c",
                                   ",\"resourcePartitionKey\":" + std::string(key))),
                  Ended::kBadRequest)
            << key;
    EXPECT_EQ(ended(permission("x", "p", "dbs/d/colls/c")), Ended::kOwnerNotFound);
    EXPECT_EQ(
        create(
            R"({"id":"p","permissionMode":"all","resource":"dbs/d/colls/c","resourcePartitionKey":null})"),
        Ended::kOk);
}

TEST_F(UserTest, ReplaceAndDeletePermission) {
    ASSERT_TRUE(user("u").ok());
    ASSERT_TRUE(permission("u", "p", "dbs/d/colls/c").ok());
    ASSERT_TRUE(permission("u", "q", "dbs/d/colls/e").ok());
    const auto replace = [&](std::string_view id, const std::string& text,
                             std::string_view if_match = "") {
        return rest::by_body::replace_permission(*account_.catalog, "d", "u", id,
                                                 account_.parse(text), if_match);
    };
    EXPECT_EQ(ended(replace("p", body("q", "dbs/d/colls/c"))), Ended::kConflict);
    EXPECT_EQ(ended(replace("p", body("p", "dbs/d/colls/e"))), Ended::kConflict);
    EXPECT_EQ(ended(replace("x", body("x", "dbs/d/colls/e"))), Ended::kNotFound);
    EXPECT_EQ(ended(replace("p", body("p", "dbs/d/colls/c"), "other")), Ended::kPrecondition);
    const auto renamed = replace("p", body("r", "dbs/d/colls/c"));
    ASSERT_TRUE(renamed.ok());
    EXPECT_EQ(account_->find_permission("d", "u", "p"), nullptr);
    account_.reopen();
    EXPECT_EQ(account_->find_permission("d", "u", "p"), nullptr);
    ASSERT_NE(account_->find_permission("d", "u", "r"), nullptr);
    const UserPtr owner = account_->find_user("d", "u");
    EXPECT_EQ(account_->list_permissions(*owner, {}).items.size(), 2u);
    EXPECT_EQ(ended(account_->delete_permission("d", "u", "r", "other")), Ended::kPrecondition);
    EXPECT_EQ(ended(account_->delete_permission("d", "u", "r", "")), Ended::kOk);
    EXPECT_EQ(ended(account_->delete_permission("d", "u", "r", "")), Ended::kNotFound);
    EXPECT_EQ(account_->list_permissions(*owner, {}).items.size(), 1u);
    // Numbers go on.
    const auto next = permission("u", "z", "dbs/d/colls/c");
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(next->permission->rid.number, 3u);
}

}  // namespace
}  // namespace orrery::catalog
