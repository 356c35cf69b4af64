#include "partition/partition_test_support.h"

namespace orrery::partition {
namespace {

using namespace testing;

template <typename... Operations>
std::vector<ItemOperation> list(Operations... operations) {
    std::vector<ItemOperation> out;
    (out.push_back(std::move(operations)), ...);
    return out;
}
std::vector<Ended> statuses(const TransactionResult& result) {
    std::vector<Ended> out;
    for (const OperationResult& one : result.results) out.push_back(end_of(one));
    return out;
}

TEST(Batch, AllKindsInOrderUnderOneLsn) {
    Bench bench;
    bench.one("a", create(R"({"id":"old","pk":"a","v":1})"));
    const TransactionResult result =
        bench.batch("a", list(create(R"({"id":"1","pk":"a","v":1})"),
                              replace("1", R"({"id":"1","pk":"a","v":2})"),
                              patch("1", R"([{"op":"incr","path":"/v","value":5}])"), read("1"),
                              upsert(R"({"id":"2","pk":"a"})"), remove("old"),
                              upsert(R"({"id":"1","pk":"a","v":8})"), read("2")));
    EXPECT_TRUE(result.committed);
    EXPECT_EQ(result.lsn, 2U);
    EXPECT_EQ(statuses(result),
              (std::vector<Ended>{Ended::kCreated, Ended::kOk, Ended::kOk, Ended::kOk,
                                  Ended::kCreated, Ended::kRemoved, Ended::kOk, Ended::kOk}));
    EXPECT_EQ(text_of(result.results[3]), R"({"id":"1","pk":"a","v":7})");
    EXPECT_EQ(result.results[3].etag, result.results[2].etag);
    EXPECT_NE(result.results[6].etag, result.results[2].etag);
    EXPECT_EQ(text_of(bench.one("a", read("1"))), R"({"id":"1","pk":"a","v":8})");
    EXPECT_EQ(bench.one("a", read("1")).etag, result.results[6].etag);
    EXPECT_EQ(end_of(bench.one("a", read("old"))), Ended::kNotFound);
    EXPECT_EQ(bench.totals().items, 2);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Batch, FailureRollsEverythingBack) {
    Bench bench;
    bench.one("a", create(R"({"id":"x","pk":"a","v":1})"));
    const auto before = bench.totals();
    for (int failing = 0; failing < 6; ++failing) {
        ItemOperation bad;
        Ended expected = Ended::kOk;
        switch (failing) {
            case 0:
                bad = create(R"({"id":"x","pk":"a"})");
                expected = Ended::kConflict;
                break;
            case 1:
                bad = replace("none", R"({"id":"none","pk":"a"})");
                expected = Ended::kNotFound;
                break;
            case 2:
                bad = replace("x", R"({"id":"x","pk":"a"})", "wrong");
                expected = Ended::kPrecondition;
                break;
            case 3:
                bad = create(R"({"id":"y","pk":"other"})");
                expected = Ended::kBadRequest;
                break;
            case 4:
                bad = patch("x", R"([{"op":"remove","path":"/none"}])");
                expected = Ended::kBadRequest;
                break;
            case 5:
                bad = read("none");
                expected = Ended::kNotFound;
                break;
        }
        const TransactionResult result = bench.batch(
            "a",
            list(create(R"({"id":"1","pk":"a"})"), remove("x"), create(R"({"id":"x","pk":"a"})"),
                 upsert(R"({"id":"1","pk":"a","v":1})"), std::move(bad), remove("1")));
        EXPECT_FALSE(result.committed);
        EXPECT_EQ(statuses(result),
                  (std::vector<Ended>{Ended::kDependency, Ended::kDependency, Ended::kDependency,
                                      Ended::kDependency, expected, Ended::kDependency}))
            << failing;
        EXPECT_FALSE(result.results[0].has_item);
        EXPECT_EQ(end_of(bench.one("a", read("1"))), Ended::kNotFound);
        EXPECT_EQ(text_of(bench.one("a", read("x"))), R"({"id":"x","pk":"a","v":1})");
    }
    EXPECT_EQ(bench.partition->lsn(), 1U);
    EXPECT_EQ(bench.totals().bytes, before.bytes);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Batch, EarlierFailureWinsOverLaterOnes) {
    ContainerSettings settings = default_settings();
    settings.unique_keys = {{0, {{"u"}}}};
    Bench bench(settings);
    bench.one("a", create(R"({"id":"x","pk":"a","u":1})"));
    // The unique key is decided in the committer, the missing item before: the first in order
    // counts.
    TransactionResult result =
        bench.batch("a", list(create(R"({"id":"1","pk":"a","u":1})"), remove("none")));
    EXPECT_EQ(statuses(result), (std::vector<Ended>{Ended::kConflict, Ended::kDependency}));
    result = bench.batch("a", list(create(R"({"id":"1","pk":"a","u":2})"), remove("none")));
    EXPECT_EQ(statuses(result), (std::vector<Ended>{Ended::kDependency, Ended::kNotFound}));
    result = bench.batch("a", list(create(R"({"id":"x","pk":"a","u":3})"), remove("none")));
    EXPECT_EQ(statuses(result), (std::vector<Ended>{Ended::kConflict, Ended::kDependency}));
}

TEST(Batch, AnswerThatIsTooLongFailsTheWhole) {
    Bench bench;
    bench.one("a", create(R"({"id":"x","pk":"a","v":")" + std::string(5000, 'x') + "\"}"));
    const auto run = [&](uint64_t answer_bytes_max, bool wants_item) {
        Transaction transaction;
        transaction.epk = epk_of("a");
        transaction.is_batch = true;
        transaction.answer_bytes_max = answer_bytes_max;
        transaction.operations =
            list(upsert(R"({"id":"1","pk":"a"})"),
                 patch("x", R"([{"op":"incr","path":"/n","value":1}])"), read("x"), remove("1"));
        transaction.operations[1].wants_item = wants_item;
        return bench.run(std::move(transaction));
    };
    const TransactionResult refused = run(8000, true);
    EXPECT_FALSE(refused.committed);
    EXPECT_EQ(statuses(refused), (std::vector<Ended>{Ended::kTooLarge, Ended::kTooLarge,
                                                     Ended::kTooLarge, Ended::kTooLarge}));
    EXPECT_FALSE(refused.results[1].has_item);
    EXPECT_EQ(bench.partition->lsn(), 1U);
    EXPECT_TRUE(run(8000, false).committed);
    EXPECT_TRUE(run(13'000, true).committed);
    EXPECT_TRUE(run(0, true).committed);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Batch, ComesAndGoes) {
    Bench bench;
    const TransactionResult result =
        bench.batch("a", list(create(R"({"id":"1","pk":"a"})"), remove("1")));
    EXPECT_TRUE(result.committed);
    EXPECT_EQ(statuses(result), (std::vector<Ended>{Ended::kCreated, Ended::kRemoved}));
    EXPECT_EQ(json::decode_document(*result.results[0].item.document).value().header.ts,
              bench.clock.wall_seconds());
    EXPECT_EQ(end_of(bench.one("a", read("1"))), Ended::kNotFound);
    EXPECT_EQ(bench.partition->lsn(), 0U);
    bench.one("a", create(R"({"id":"2","pk":"a"})"));
    const TransactionResult again =
        bench.batch("a", list(remove("2"), create(R"({"id":"2","pk":"a","v":1})"), remove("2"),
                              create(R"({"id":"2","pk":"a","v":2})")));
    EXPECT_EQ(statuses(again), (std::vector<Ended>{Ended::kRemoved, Ended::kCreated,
                                                   Ended::kRemoved, Ended::kCreated}));
    EXPECT_EQ(text_of(bench.one("a", read("2"))), R"({"id":"2","pk":"a","v":2})");
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Batch, UniqueKeySwap) {
    ContainerSettings settings = default_settings();
    settings.unique_keys = {{0, {{"u"}}}};
    Bench bench(settings);
    bench.one("a", create(R"({"id":"1","pk":"a","u":1})"));
    bench.one("a", create(R"({"id":"2","pk":"a","u":2})"));
    // Operations are checked one after the other: a direct exchange passes through a conflict.
    TransactionResult result = bench.batch("a", list(replace("1", R"({"id":"1","pk":"a","u":2})"),
                                                     replace("2", R"({"id":"2","pk":"a","u":1})")));
    EXPECT_EQ(statuses(result), (std::vector<Ended>{Ended::kConflict, Ended::kDependency}));
    EXPECT_EQ(bench.check(), std::vector<std::string>());
    result = bench.batch("a", list(replace("1", R"({"id":"1","pk":"a","u":3})"),
                                   replace("2", R"({"id":"2","pk":"a","u":1})"),
                                   replace("1", R"({"id":"1","pk":"a","u":2})")));
    EXPECT_EQ(statuses(result), (std::vector<Ended>{Ended::kOk, Ended::kOk, Ended::kOk}));
    EXPECT_EQ(bench.check(), std::vector<std::string>());
    result = bench.batch("a", list(remove("1"), create(R"({"id":"3","pk":"a","u":2})")));
    EXPECT_EQ(statuses(result), (std::vector<Ended>{Ended::kRemoved, Ended::kCreated}));
    result = bench.batch(
        "a", list(create(R"({"id":"4","pk":"a","u":7})"), create(R"({"id":"5","pk":"a","u":7})")));
    EXPECT_EQ(statuses(result), (std::vector<Ended>{Ended::kDependency, Ended::kConflict}));
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Batch, SizeLimits) {
    Bench bench;
    std::vector<ItemOperation> operations;
    for (int i = 0; i < 100; ++i)
        operations.push_back(create(R"({"id":")" + std::to_string(i) + R"(","pk":"a"})"));
    EXPECT_TRUE(bench.batch("a", std::move(operations)).committed);
    operations = {};
    for (int i = 0; i < 101; ++i) operations.push_back(read("1"));
    EXPECT_EQ(end_of(bench.batch("a", std::move(operations)).results[0]), Ended::kBadRequest);
    EXPECT_FALSE(bench.batch("a", {}).committed);
    EXPECT_EQ(bench.partition->lsn(), 1U);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Batch, ReadsOnly) {
    Bench bench;
    const OperationResult created = bench.one("a", create(R"({"id":"1","pk":"a"})"));
    const TransactionResult result = bench.batch("a", list(read("1"), read("1", created.etag)));
    EXPECT_TRUE(result.committed);
    EXPECT_EQ(statuses(result), (std::vector<Ended>{Ended::kOk, Ended::kNotModified}));
    EXPECT_EQ(result.results[1].etag, created.etag);
    EXPECT_EQ(result.lsn, 1U);
}

}  // namespace
}  // namespace orrery::partition
