// The worked examples of docs/request-units.md, each through the whole engine.
#include <gtest/gtest.h>

#include <future>

#include "engine/engine_test_support.h"

namespace orrery::engine {
namespace {

using partition::ItemOperation;
using partition::OperationKind;
using testing_support::TestEngine;

constexpr std::string_view kA =
    R"({"id":"7","pk":"t1","tags":["x","y","x"],"dim":{"w":1,"h":1.0},"ok":true,"gone":null,"none":[],"sub":{}})";
constexpr std::string_view kB =
    R"({"id":"u1","tenant":"acme","name":"Ann","age":31,"email":"ann@example.com"})";

class WorkedExamples : public ::testing::Test {
protected:
    WorkedExamples() { server_.create_database("d"); }

    /// A new container; later operations go there.
    void container(const std::string& path = "/pk", const std::string& more = {},
                   const catalog::ThroughputRequest& throughput = {}) {
        container_ = server_.create_container("d",
                                              R"({"id":"c)" + std::to_string(++containers_) +
                                                  R"(","partitionKey":{"paths":[")" + path +
                                                  R"("],"version":2})" + more + "}",
                                              false, throughput);
    }
    std::string epk(const std::string& key_json) const {
        return TestEngine::epk(*container_, key_json);
    }
    TransactionAnswer run(const std::string& key_json, std::vector<ItemOperation> operations,
                          const RequestTerms& terms = {}) {
        return server_.run(container_, key_json, std::move(operations), terms);
    }
    static ItemOperation operation(OperationKind kind, std::string id, std::string_view body = {}) {
        ItemOperation out;
        out.kind = kind;
        out.id = std::move(id);
        out.body = std::string(body);
        return out;
    }
    /// Charge in quanta.
    static int64_t quanta(const TransactionAnswer& answer) {
        EXPECT_EQ(answer.total.units % meter::kUnitsPerQuantum, 0);
        return answer.total.units / meter::kUnitsPerQuantum;
    }
    int64_t create(const std::string& key_json, std::string_view body) {
        return quanta(run(key_json, {operation(OperationKind::kCreate, "", body)}));
    }
    int64_t read(const std::string& key_json, const std::string& id,
                 const RequestTerms& terms = {}) {
        return quanta(run(key_json, {operation(OperationKind::kRead, id)}, terms));
    }
    int64_t remove(const std::string& key_json, const std::string& id) {
        return quanta(run(key_json, {operation(OperationKind::kDelete, id)}));
    }
    meter::Charge query(const std::string& text) {
        QueryRequest request;
        request.text = text;
        request.over_container = true;
        const auto answer = server_.engine().query(*container_, request);
        EXPECT_TRUE(answer.ok());
        return answer->charge;
    }
    /// {"id":…,"pk":"a","s":"xx…"} of exactly that many bytes.
    static std::string of_size(const std::string& id, size_t bytes) {
        std::string body = R"({"id":")" + id + R"(","pk":"a","s":"")";
        body.insert(body.size() - 1, std::string(bytes - body.size() - 1, 'x'));
        return body + "}";
    }

    TestEngine server_;
    catalog::ContainerPtr container_;
    int containers_ = 0;
};

TEST_F(WorkedExamples, OneToFive) {
    container();
    EXPECT_EQ(create(R"("a")", R"({"id":"1","pk":"a"})"), 120);  // 1
    EXPECT_EQ(read(R"("a")", "1"), 21);
    EXPECT_EQ(remove(R"("a")", "1"), 120);
    EXPECT_EQ(create(R"("t1")", kA), 168);  // 3
    EXPECT_EQ(
        create(
            R"("a")",
            R"({"id":"o1","pk":"a","lines":[{"sku":"A","n":1},{"sku":"B","n":1}],"m":[[1,2],[2]]})"),
        160);  // 5
    container("/id");
    EXPECT_EQ(create(R"("a")", R"({"id":"a"})"), 112);  // 2
    container(
        "/pk",
        R"(,"indexingPolicy":{"includedPaths":[{"path":"/pk/?"}],"excludedPaths":[{"path":"/*"}]})");
    EXPECT_EQ(create(R"("t1")", kA), 120);  // 4
    container("/pk", R"(,"indexingPolicy":{"indexingMode":"none","automatic":false})");
    EXPECT_EQ(create(R"("t1")", kA), 104);  // 4, mode none
}

TEST_F(WorkedExamples, SixAndSeven) {
    container(
        "/tenant",
        R"(,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/email"]}]},"indexingPolicy":{"compositeIndexes":)"
        R"([[{"path":"/name","order":"ascending"},{"path":"/age","order":"ascending"}]]})");
    EXPECT_EQ(create(R"("acme")", kB), 156);  // 6
    std::string older(kB);
    older.replace(older.find("31"), 2, "32");
    EXPECT_EQ(quanta(run(R"("acme")", {operation(OperationKind::kReplace, "u1", older)})),
              240);  // 7
    auto program = std::make_shared<partition::PatchProgram>();
    const auto parsed = json::parse(R"([{"op":"set","path":"/age","value":33}])", program->arena);
    program->patch = *json::parse_patch(*parsed, program->arena);
    ItemOperation patch = operation(OperationKind::kPatch, "u1");
    patch.patch = program;
    EXPECT_EQ(meter::ru_text(run(R"("acme")", {patch}).total), "11.83");  // 7, as a patch
}

TEST_F(WorkedExamples, EightToTen) {
    container();
    EXPECT_EQ(create(R"("a\"b")", R"({"id":"é","pk":"a\"b","n":1.50})"), 128);  // 8
    EXPECT_EQ(create(R"("a")", of_size("big", 3'000)), 160);                    // 9
    EXPECT_EQ(read(R"("a")", "big"), 23);
    RequestTerms strong;
    strong.strong = true;
    EXPECT_EQ(read(R"("a")", "big", strong), 46);
    EXPECT_EQ(create(R"("a")", of_size("huge", 716'800)), 7'297);  // 10
    EXPECT_EQ(read(R"("a")", "huge"), 1'670);
}

TEST_F(WorkedExamples, ElevenAndTwelve) {
    container();
    for (int i = 0; i < 4; ++i) {
        std::string body = R"({"id":")" + std::to_string(i) + R"(","pk":"t1","ok":true,"s":"")";
        body.insert(body.size() - 1, std::string(400 - body.size() - 1, 'x'));
        create(R"("t1")", body + "}");
    }
    create(R"("t1")", R"({"id":"no","pk":"t1","ok":false})");
    EXPECT_EQ(query(R"(SELECT * FROM c WHERE c.pk = "t1" AND c.ok = true)").units,
              63'402'281);  // 11
    container("/pk", {}, {18'000, std::nullopt, std::nullopt});
    ASSERT_EQ(container_->ranges->ranges.size(), 3u);
    EXPECT_EQ(query(R"(SELECT * FROM c WHERE c.n IN (1, 2))").units, 3 * 2'909'000 * 21);  // 12
    EXPECT_EQ(meter::ru_text(query(R"(SELECT * FROM c WHERE c.n IN (1, 2))")), "8.73");
}

TEST_F(WorkedExamples, ThirteenAndFifteen) {
    container();
    create(R"("a")", R"({"id":"0","pk":"a"})");
    std::string a(kA);
    a.replace(a.find("\"t1\""), 4, "\"aa\"");  // the same size, in the batch's logical partition
    create(R"("aa")", a);
    create(R"("aa")", R"({"id":"0","pk":"aa"})");
    const auto batch = run(
        R"("aa")", {operation(OperationKind::kCreate, "", R"({"id":"1","pk":"aa"})"),
                    operation(OperationKind::kRead, "0"), operation(OperationKind::kDelete, "7")});
    EXPECT_TRUE(batch.result.committed);
    EXPECT_EQ(quanta(batch), 309);  // 13
    const auto failed =
        run(R"("aa")", {operation(OperationKind::kCreate, "", R"({"id":"2","pk":"aa"})"),
                        operation(OperationKind::kCreate, "", R"({"id":"1","pk":"aa"})"),
                        operation(OperationKind::kRead, "0")});
    EXPECT_FALSE(failed.result.committed);
    EXPECT_EQ(quanta(failed), 26);  // the conflict; 424s cost nothing
    container();
    create(R"("a")", R"({"id":"1","pk":"a"})");
    create(R"("a")", of_size("big", 3'000));
    EXPECT_EQ(server_.engine().read_feed(*container_, {})->charge.units,
              44 * meter::kUnitsPerQuantum);  // 15
    EXPECT_EQ(create(R"("a")", R"({"id":"1","pk":"a"})"), 26);
}

/// Tuples of a JOIN beyond the first per item cost the same whether they become rows, groups or
/// nothing new.
TEST_F(WorkedExamples, JoinTuples) {
    container();
    create(R"("a")", R"({"id":"1","pk":"a","many":[1,2,3,4],"one":[7]})");
    create(R"("a")", R"({"id":"2","pk":"a","many":[5],"one":[7]})");
    create(R"("a")", R"({"id":"3","pk":"a","many":[],"one":[]})");
    constexpr int64_t kTuple = meter::kUnitsPerRu / 100;
    for (const std::string head : {"SELECT VALUE COUNT(1) FROM c JOIN t IN c.",
                                   "SELECT DISTINCT VALUE c.pk FROM c JOIN t IN c.",
                                   "SELECT VALUE MAX(c.pk) FROM c JOIN t IN c."})
        EXPECT_EQ(query(head + "many").units - query(head + "one").units, 3 * kTuple) << head;
    EXPECT_EQ(query("SELECT c.pk, COUNT(1) AS n FROM c JOIN t IN c.many GROUP BY c.pk").units -
                  query("SELECT c.pk, COUNT(1) AS n FROM c JOIN t IN c.one GROUP BY c.pk").units,
              3 * kTuple);
    // WHERE counts what it lets pass.
    EXPECT_EQ(query("SELECT VALUE COUNT(1) FROM c JOIN t IN c.many WHERE t > 2").units -
                  query("SELECT VALUE COUNT(1) FROM c JOIN t IN c.one WHERE t > 2").units,
              kTuple);
}

/// The same request on the same data costs the same, whatever ran in between.
TEST_F(WorkedExamples, TheSameEveryTime) {
    container("/pk", {}, {18'000, std::nullopt, std::nullopt});
    for (int i = 0; i < 200; ++i)
        create("\"k" + std::to_string(i % 17) + "\"",
               R"({"id":")" + std::to_string(i) + R"(","pk":"k)" + std::to_string(i % 17) +
                   R"(","n":)" + std::to_string(i % 5) + "}");
    for (const char* text :
         {"SELECT * FROM c WHERE c.n = 3", "SELECT VALUE COUNT(1) FROM c",
          "SELECT * FROM c ORDER BY c.n", "SELECT * FROM c WHERE CONTAINS(c.pk, 'k1')"}) {
        const meter::Charge first = query(text);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(query(text), first) << text;
        EXPECT_GT(first.units, meter::kUnitsPerRu);
    }
}

}  // namespace
}  // namespace orrery::engine
