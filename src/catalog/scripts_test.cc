#include <gtest/gtest.h>

#include "base/encoding.h"
#include "base/ended_test_support.h"
#include "catalog/catalog.h"
#include "catalog/catalog_test_support.h"
#include "catalog/records.h"

namespace orrery::catalog {
namespace {

using testing::Account;
using testing::Folder;
using Upsert = Catalog::Upsert;

class ScriptTest : public ::testing::Test {
protected:
    ScriptTest() : account_(folder_.path()) {
        EXPECT_TRUE(account_.create_database(R"({"id":"d"})").ok());
        EXPECT_TRUE(
            account_.create_container("d", R"({"id":"c","partitionKey":{"paths":["/pk"]}})").ok());
        rid_ = account_->find_container("d", "c")->rid;
    }
    Result<Catalog::ScriptChange> create(ChildType type, std::string_view body,
                                         Upsert upsert = Upsert::kNo) {
        return rest::by_body::create_script(*account_.catalog, rid_, type, account_.parse(body),
                                            upsert);
    }
    Folder folder_;
    Account account_;
    ContainerRid rid_;
};

TEST_F(ScriptTest, AsClientsSeeIt) {
    const auto made = create(
        ChildType::kTrigger,
        R"({"id":"t","body":"function(){}","triggerType":"pre","triggerOperation":"create"})");
    ASSERT_TRUE(made.ok());
    const Script& script = *made->script;
    EXPECT_EQ(
        rest::script_json(script),
        R"({"body":"function(){}","id":"t","triggerType":"Pre","triggerOperation":"Create","_rid":")" +
            script.rid() + R"(","_self":"dbs/)" + rid_.database.text() + "/colls/" + rid_.text() +
            "/triggers/" + script.rid() + R"(/","_etag":"\")" + script.version.etag +
            R"(\"","_ts":)" + std::to_string(script.version.ts) + "}");
    EXPECT_EQ(account_->find_script(rid_, ChildType::kTrigger, "t"), made->script);
    EXPECT_EQ(account_->find_script(rid_, ChildType::kTrigger, script.rid()), made->script);
    EXPECT_EQ(account_->find_script(rid_, ChildType::kUdf, "t"), nullptr);
    EXPECT_EQ(account_->find_script(rid_, ChildType::kUdf, script.rid()), nullptr);
}

TEST_F(ScriptTest, Bodies) {
    const std::string body = R"(,"body":"function(){}")";
    EXPECT_EQ(ended(create(ChildType::kProcedure, R"({"id":"p"})")), Ended::kBadRequest);
    EXPECT_EQ(ended(create(ChildType::kProcedure, R"({"id":"p","body":5})")), Ended::kBadRequest);
    EXPECT_EQ(ended(create(ChildType::kProcedure, R"({"body":"function(){}"})")),
              Ended::kBadRequest);
    EXPECT_EQ(ended(create(ChildType::kProcedure, R"({"id":"a/b")" + body + "}")),
              Ended::kBadRequest);
    EXPECT_EQ(ended(create(ChildType::kTrigger, R"({"id":"t")" + body + "}")), Ended::kBadRequest);
    EXPECT_EQ(ended(create(ChildType::kTrigger, R"({"id":"t","triggerType":"Pre")" + body + "}")),
              Ended::kBadRequest);
    EXPECT_EQ(
        ended(create(ChildType::kTrigger,
                     R"({"id":"t","triggerType":"Mid","triggerOperation":"All")" + body + "}")),
        Ended::kBadRequest);
    EXPECT_EQ(
        ended(create(ChildType::kTrigger,
                     R"({"id":"t","triggerType":"Pre","triggerOperation":"Some")" + body + "}")),
        Ended::kBadRequest);
    EXPECT_TRUE(create(ChildType::kTrigger,
                       R"({"id":"t","triggerType":"Post","triggerOperation":"Delete")" + body + "}")
                    .ok());
    // What is not kept is refused by name; what the server added, and null, come back.
    for (const ChildType type : {ChildType::kProcedure, ChildType::kUdf}) {
        const auto unknown = create(type, R"({"id":"u","triggerType":"Pre")" + body + "}");
        EXPECT_EQ(ended(unknown), Ended::kBadRequest);
        EXPECT_NE(unknown.error().message.find("'triggerType'"), std::string::npos);
        EXPECT_EQ(ended(create(type, R"({"id":"u","_etag":"x","note":null)" + body + "}")),
                  Ended::kOk);
    }
    EXPECT_EQ(ended(create(ChildType::kTrigger,
                           R"({"id":"v","triggerType":"Pre","triggerOperation":"All","when":1)" +
                               body + "}")),
              Ended::kBadRequest);
}

TEST_F(ScriptTest, CreateUpsertReplaceDeleteSurviveARestart) {
    const auto first = create(ChildType::kProcedure, R"({"id":"p","body":"function(){}"})");
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(ended(create(ChildType::kProcedure, R"({"id":"p","body":"function(){}"})")),
              Ended::kConflict);
    const auto upserted =
        create(ChildType::kProcedure, R"({"id":"p","body":"() => 1"})", Upsert::kYes);
    ASSERT_TRUE(upserted.ok());
    EXPECT_FALSE(upserted->created);
    EXPECT_EQ(upserted->script->rid(), first->script->rid());
    EXPECT_NE(upserted->script->version.etag, first->script->version.etag);
    const json::Value renamed = account_.parse(R"({"id":"q","body":"() => 2"})");
    EXPECT_EQ(ended(rest::by_body::replace_script(*account_.catalog, rid_, ChildType::kProcedure,
                                                  "p", renamed, "other")),
              Ended::kPrecondition);
    ASSERT_TRUE(rest::by_body::replace_script(*account_.catalog, rid_, ChildType::kProcedure, "p",
                                              renamed, upserted->script->version.etag)
                    .ok());
    EXPECT_EQ(account_->find_script(rid_, ChildType::kProcedure, "p"), nullptr);
    ASSERT_TRUE(create(ChildType::kUdf, R"({"id":"f","body":"() => 3"})").ok());
    ASSERT_TRUE(create(ChildType::kUdf, R"({"id":"g","body":"() => 4"})").ok());
    EXPECT_TRUE(account_->delete_script(rid_, ChildType::kUdf, "g", "").ok());
    EXPECT_EQ(ended(account_->delete_script(rid_, ChildType::kUdf, "g", "").error()),
              Ended::kNotFound);
    const auto etag = account_->find_script(rid_, ChildType::kProcedure, "q")->version.etag;
    account_.reopen();
    const ScriptPtr found = account_->find_script(rid_, ChildType::kProcedure, "q");
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->body, "() => 2");
    EXPECT_EQ(found->version.etag, etag);
    EXPECT_EQ(account_->list_scripts(rid_, ChildType::kUdf, {}).items.size(), 1U);
    // They go with their container.
    ASSERT_TRUE(account_->delete_container("d", "c", "").ok());
    EXPECT_EQ(account_->find_script(rid_, ChildType::kProcedure, "q"), nullptr);
    account_.reopen();
    EXPECT_EQ(account_->find_script(rid_, ChildType::kProcedure, "q"), nullptr);
}

TEST_F(ScriptTest, AsManyAsThereMayBe) {
    for (int i = 0; i < 25; ++i)
        ASSERT_TRUE(create(ChildType::kTrigger,
                           R"({"id":"t)" + std::to_string(i) +
                               R"(","body":"","triggerType":"Pre","triggerOperation":"All"})")
                        .ok());
    EXPECT_EQ(
        ended(create(ChildType::kTrigger,
                     R"({"id":"more","body":"","triggerType":"Pre","triggerOperation":"All"})")),
        Ended::kForbidden);
    const auto page = account_->list_scripts(rid_, ChildType::kTrigger, {"", 10});
    EXPECT_EQ(page.items.size(), 10U);
    EXPECT_EQ(
        account_->list_scripts(rid_, ChildType::kTrigger, {page.continuation, 100}).items.size(),
        15U);
}

TEST(ScriptRecord, GoldenBytes) {
    records::Script record;
    record.container = {{0x2A3B4C5D}, 0x80000001};
    record.type = ChildType::kTrigger;
    record.number = 5;
    record.id = "t";
    record.version = {"e-tag", 1'700'000'000};
    record.body = "f";
    record.runs_after = true;
    record.operation = TriggerOperation::kDelete;
    EXPECT_EQ(hex_encode_upper(records::key(record)),
              "0000000043"
              "14"
              "2A3B4C5D"
              "80000001"
              "07"
              "0000000000000005");
    EXPECT_EQ(hex_encode_upper(records::encode(record)),
              "02"
              "0174"
              "05652D746167"
              "81E2CFAA06"
              "0166"
              "01"
              "03");
    const auto back = records::decode_script(records::key(record), records::encode(record));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(records::encode(*back), records::encode(record));
    EXPECT_FALSE(records::decode_script(records::key(record), records::encode(record) + "x").ok());
}

}  // namespace
}  // namespace orrery::catalog
