#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "catalog/catalog_test_support.h"

namespace orrery::catalog {
namespace {

using testing::Account;
using testing::code_of;
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
        return account_->create_user("d", account_.parse(R"({"id":")" + id + "\"}"), upsert);
    }
    Result<Catalog::PermissionChange> permission(const std::string& user, const std::string& id,
                                                 const std::string& resource,
                                                 const std::string& extra = "",
                                                 Upsert upsert = Upsert::kNo) {
        return account_->create_permission("d", user, account_.parse(body(id, resource, extra)),
                                           upsert);
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
    EXPECT_EQ(u.json(), R"({"id":"u","_rid":")" + u.rid.text() + R"(","_self":"dbs/)" +
                            u.database->rid.text() + "/users/" + u.rid.text() +
                            R"(/","_etag":"\")" + u.version.etag + R"(\"","_ts":)" +
                            std::to_string(u.version.ts) + R"(,"_permissions":"permissions/"})");
    EXPECT_EQ(account_->find_user("d", "u"), created->user);
    EXPECT_EQ(account_->find_user("d", u.rid.text()), created->user);
}

TEST_F(UserTest, CreateUpsertReplaceDelete) {
    ASSERT_TRUE(user("u").ok());
    EXPECT_EQ(code_of(user("u")), "409");
    const auto upserted = user("u", Upsert::kYes);
    ASSERT_TRUE(upserted.ok());
    EXPECT_FALSE(upserted->created);
    const auto other = user("v", Upsert::kYes);
    ASSERT_TRUE(other.ok());
    EXPECT_TRUE(other->created);
    const auto replace = [&](std::string_view id, std::string_view text,
                             std::string_view if_match = "") {
        return account_->replace_user("d", id, account_.parse(text), if_match);
    };
    EXPECT_EQ(code_of(replace("u", R"({"id":"v"})")), "409");
    EXPECT_EQ(code_of(replace("x", R"({"id":"x"})")), "404");
    EXPECT_EQ(code_of(replace("u", R"({"id":"a/b"})")), "400");
    EXPECT_EQ(code_of(replace("u", R"({"id":"w"})", "other")), "412");
    ASSERT_TRUE(permission("u", "p", "dbs/d/colls/c").ok());
    const auto renamed = replace("u", R"({"id":"w"})");
    ASSERT_TRUE(renamed.ok());
    EXPECT_EQ(account_->find_user("d", "u"), nullptr);
    EXPECT_EQ(account_->find_user("d", "w"), *renamed);
    EXPECT_EQ(account_->find_permission("d", "w", "p")->user, *renamed);
    account_.reopen();
    EXPECT_EQ(account_->find_user("d", "u"), nullptr);
    EXPECT_NE(account_->find_permission("d", "w", "p"), nullptr);
    EXPECT_EQ(code_of(account_->delete_user("d", "w", "other")), "412");
    EXPECT_EQ(code_of(account_->delete_user("d", "w", "")), "ok");
    EXPECT_EQ(code_of(account_->delete_user("d", "w", "")), "404");
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
        p.rid.text() + R"(","_self":")" + p.user->self() + "permissions/" + p.rid.text() +
        R"(/","_etag":"\")" + p.version.etag + R"(\"","_ts":)" + std::to_string(p.version.ts);
    EXPECT_EQ(p.json("type=resource&ver=1.0&sig=x"),
              expected + R"(,"_token":"type=resource&ver=1.0&sig=x"})");
    EXPECT_EQ(p.json(""), expected + "}");
    EXPECT_EQ(account_->find_permission("d", "u", "p"), created->permission);
    EXPECT_EQ(account_->find_permission("d", "u", p.rid.text()), created->permission);
}

TEST_F(UserTest, OnePermissionPerResource) {
    ASSERT_TRUE(user("u").ok());
    ASSERT_TRUE(user("v").ok());
    const ContainerPtr container = account_->find_container("d", "c");
    ASSERT_TRUE(permission("u", "p", "dbs/d/colls/c").ok());
    EXPECT_EQ(code_of(permission("u", "p", "dbs/d/colls/e")), "409");    // the id
    EXPECT_EQ(code_of(permission("u", "q", "dbs/d/colls/c")), "409");    // the resource
    EXPECT_EQ(code_of(permission("u", "q", "/dbs/d/colls/c/")), "409");  // written otherwise
    EXPECT_EQ(code_of(permission("u", "q", container->self())), "409");  // by rid
    EXPECT_EQ(code_of(permission("v", "p", "dbs/d/colls/c")), "ok");     // another user
    EXPECT_EQ(code_of(permission("u", "q", "dbs/d/colls/e")), "ok");
    EXPECT_EQ(code_of(permission("u", "r", "dbs/d/colls/c/docs/1")), "ok");  // an item of it
    EXPECT_EQ(code_of(permission("u", "s", "dbs/d/colls/c/docs/1")), "409");
    const auto upserted = permission("u", "q", "dbs/d/colls/e", "", Upsert::kYes);
    ASSERT_TRUE(upserted.ok());
    EXPECT_FALSE(upserted->created);
    EXPECT_EQ(code_of(permission("u", "q", "dbs/d/colls/c", "", Upsert::kYes)), "409");
}

TEST_F(UserTest, PermissionBodies) {
    ASSERT_TRUE(user("u").ok());
    const auto create = [&](std::string_view text) {
        return code_of(account_->create_permission("d", "u", account_.parse(text), Upsert::kNo));
    };
    EXPECT_EQ(create(R"({"permissionMode":"All","resource":"dbs/d/colls/c"})"), "400");
    EXPECT_EQ(create(R"({"id":"p","resource":"dbs/d/colls/c"})"), "400");
    EXPECT_EQ(create(R"({"id":"p","permissionMode":"Write","resource":"dbs/d/colls/c"})"), "400");
    EXPECT_EQ(create(R"({"id":"p","permissionMode":5,"resource":"dbs/d/colls/c"})"), "400");
    EXPECT_EQ(create(R"({"id":"p","permissionMode":"All"})"), "400");
    EXPECT_EQ(create(R"({"id":"p","permissionMode":"All","resource":5})"), "400");
    EXPECT_EQ(
        create(R"({"id":"p","permissionMode":"All","resource":"dbs/d/colls/c","expires":60})"),
        "400");
    EXPECT_EQ(code_of(account_->create_user("d", account_.parse(R"({"id":"w","name":"x"})"),
                                            Upsert::kNo)),
              "400");
    EXPECT_EQ(
        code_of(account_->replace_user("d", "u", account_.parse(R"({"id":"u","name":"x"})"), "")),
        "400");
    for (std::string_view link :
         {"", "/", "dbs/d", "dbs/d/colls", "dbs/d/users/u", "colls/c", "dbs/d/colls/c/docs",
          "dbs/d/colls/c/pkranges/0", "dbs/d/colls/c/docs/1/attachments/a",
          "dbs/d/colls/c/triggers/t", "dbs/d/colls/c/udfs/f"})
        EXPECT_EQ(code_of(permission("u", "p", std::string(link))), "400") << link;
    for (std::string_view link : {"dbs/x/colls/c", "dbs/d/colls/x", "dbs/d/colls/c/sprocs/s"})
        EXPECT_EQ(code_of(permission("u", "p", std::string(link))), "404") << link;
    for (std::string_view key : {"5", "\"k\"", "[]", "[[1]]", "[{\"a\":1}]", R"(["a","b"])"})
        EXPECT_EQ(code_of(permission("u", "p", "dbs/d/colls/c",
                                     ",\"resourcePartitionKey\":" + std::string(key))),
                  "400")
            << key;
    EXPECT_EQ(code_of(permission("x", "p", "dbs/d/colls/c")), "404/1003");
    EXPECT_EQ(
        create(
            R"({"id":"p","permissionMode":"all","resource":"dbs/d/colls/c","resourcePartitionKey":null})"),
        "ok");
}

TEST_F(UserTest, ReplaceAndDeletePermission) {
    ASSERT_TRUE(user("u").ok());
    ASSERT_TRUE(permission("u", "p", "dbs/d/colls/c").ok());
    ASSERT_TRUE(permission("u", "q", "dbs/d/colls/e").ok());
    const auto replace = [&](std::string_view id, const std::string& text,
                             std::string_view if_match = "") {
        return account_->replace_permission("d", "u", id, account_.parse(text), if_match);
    };
    EXPECT_EQ(code_of(replace("p", body("q", "dbs/d/colls/c"))), "409");
    EXPECT_EQ(code_of(replace("p", body("p", "dbs/d/colls/e"))), "409");
    EXPECT_EQ(code_of(replace("x", body("x", "dbs/d/colls/e"))), "404");
    EXPECT_EQ(code_of(replace("p", body("p", "dbs/d/colls/c"), "other")), "412");
    const auto renamed = replace("p", body("r", "dbs/d/colls/c"));
    ASSERT_TRUE(renamed.ok());
    EXPECT_EQ(account_->find_permission("d", "u", "p"), nullptr);
    account_.reopen();
    EXPECT_EQ(account_->find_permission("d", "u", "p"), nullptr);
    ASSERT_NE(account_->find_permission("d", "u", "r"), nullptr);
    const UserPtr owner = account_->find_user("d", "u");
    EXPECT_EQ(account_->list_permissions(*owner, {}).items.size(), 2u);
    EXPECT_EQ(code_of(account_->delete_permission("d", "u", "r", "other")), "412");
    EXPECT_EQ(code_of(account_->delete_permission("d", "u", "r", "")), "ok");
    EXPECT_EQ(code_of(account_->delete_permission("d", "u", "r", "")), "404");
    EXPECT_EQ(account_->list_permissions(*owner, {}).items.size(), 1u);
    // Numbers go on.
    const auto next = permission("u", "z", "dbs/d/colls/c");
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(next->permission->rid.number, 3u);
}

}  // namespace
}  // namespace orrery::catalog
