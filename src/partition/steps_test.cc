// Transactions whose operations come one by one.
#include <gtest/gtest.h>

#include "base/ended_test_support.h"
#include "partition/partition_test_support.h"

namespace orrery::partition {
namespace {

using testing::Bench;
using testing::default_settings;
using testing::epk_of;

ItemOperation operation(OperationKind kind, const std::string& id, const std::string& rest = "") {
    ItemOperation out;
    out.kind = kind;
    out.id = id;
    if (kind == OperationKind::kCreate || kind == OperationKind::kReplace ||
        kind == OperationKind::kUpsert)
        out.body = R"({"id":")" + id + R"(","pk":"a")" + rest + "}";
    return out;
}

StepTransaction::Ending commit(StepTransaction& steps) {
    std::promise<StepTransaction::Ending> promise;
    auto future = promise.get_future();
    steps.commit([&](StepTransaction::Ending ending) { promise.set_value(std::move(ending)); });
    return future.get();
}

class StepsTest : public ::testing::Test {
protected:
    std::unique_ptr<StepTransaction> begin(Bench& bench) {
        return bench.partition->begin_steps(epk_of("a"), bench.store->view());
    }
    Ended end_of(const OperationResult& result) { return ended(result.status); }
    Ended read(Bench& bench, const std::string& id) {
        return end_of(bench.one("a", operation(OperationKind::kRead, id)));
    }
};

TEST_F(StepsTest, OneCommitOrNothing) {
    Bench bench;
    ASSERT_TRUE(bench.one("a", operation(OperationKind::kCreate, "old")).status.ok());
    const auto before = bench.partition->lsn();
    auto steps = begin(bench);
    const OperationResult made = steps->run(operation(OperationKind::kCreate, "new", R"(,"n":1)"));
    ASSERT_TRUE(made.status.ok());
    EXPECT_TRUE(made.created);
    EXPECT_TRUE(steps->run(operation(OperationKind::kRead, "new")).status.ok());
    EXPECT_EQ(end_of(steps->run(operation(OperationKind::kCreate, "new"))), Ended::kConflict);
    EXPECT_TRUE(steps->run(operation(OperationKind::kDelete, "old")).status.ok());
    EXPECT_EQ(end_of(steps->run(operation(OperationKind::kRead, "old"))), Ended::kNotFound);
    EXPECT_EQ(end_of(steps->run(operation(OperationKind::kReplace, "none"))), Ended::kNotFound);
    EXPECT_EQ(read(bench, "new"), Ended::kNotFound);
    EXPECT_EQ(read(bench, "old"), Ended::kOk);
    const auto ending = commit(*steps);
    EXPECT_TRUE(ending.committed);
    EXPECT_EQ(ending.lsn, before + 1);
    ASSERT_EQ(ending.etags.size(), 1U);
    EXPECT_EQ(ending.etags[0].first, made.etag);
    EXPECT_EQ(read(bench, "new"), Ended::kOk);
    EXPECT_EQ(read(bench, "old"), Ended::kNotFound);
    EXPECT_EQ(bench.one("a", operation(OperationKind::kRead, "new")).etag, ending.etags[0].second);
    EXPECT_TRUE(bench.check().empty());

    auto abandoned = begin(bench);
    ASSERT_TRUE(abandoned->run(operation(OperationKind::kDelete, "new")).status.ok());
    abandoned.reset();
    EXPECT_EQ(read(bench, "new"), Ended::kOk);
}

TEST_F(StepsTest, EtagsOfOwnWritesHold) {
    Bench bench;
    auto steps = begin(bench);
    const OperationResult made = steps->run(operation(OperationKind::kCreate, "x"));
    ItemOperation replace = operation(OperationKind::kReplace, "x", R"(,"n":2)");
    replace.if_match = made.etag;
    EXPECT_TRUE(steps->run(replace).status.ok());
    EXPECT_EQ(end_of(steps->run(replace)), Ended::kPrecondition);
    EXPECT_TRUE(commit(*steps).committed);
    EXPECT_TRUE(bench.check().empty());
}

TEST_F(StepsTest, StaleWhenWhatItRestsOnHasChanged) {
    Bench bench;
    ASSERT_TRUE(bench.one("a", operation(OperationKind::kCreate, "x")).status.ok());
    // Read, written, found absent: each is something to rest on.
    for (const auto& [mine, theirs] :
         {std::pair{operation(OperationKind::kRead, "x"),
                    operation(OperationKind::kReplace, "x", R"(,"n":3)")},
          std::pair{operation(OperationKind::kUpsert, "x"),
                    operation(OperationKind::kReplace, "x", R"(,"n":4)")},
          std::pair{operation(OperationKind::kCreate, "y"), operation(OperationKind::kCreate, "y")},
          std::pair{operation(OperationKind::kRead, "z"),
                    operation(OperationKind::kCreate, "z")}}) {
        auto steps = begin(bench);
        (void)steps->run(mine);
        ASSERT_TRUE(steps->run(operation(OperationKind::kUpsert, "other")).status.ok());
        ASSERT_TRUE(bench.one("a", theirs).status.ok());
        const auto ending = commit(*steps);
        EXPECT_FALSE(ending.committed);
        EXPECT_TRUE(ending.stale);
    }
    EXPECT_EQ(read(bench, "other"), Ended::kNotFound);
    EXPECT_TRUE(bench.check().empty());
}

TEST_F(StepsTest, OthersItemsAreNoReason) {
    Bench bench;
    auto steps = begin(bench);
    ASSERT_TRUE(steps->run(operation(OperationKind::kCreate, "x")).status.ok());
    ASSERT_TRUE(bench.one("a", operation(OperationKind::kCreate, "y")).status.ok());
    EXPECT_TRUE(commit(*steps).committed);
}

TEST_F(StepsTest, ReadersNeedNoCommit) {
    Bench bench;
    ASSERT_TRUE(bench.one("a", operation(OperationKind::kCreate, "x")).status.ok());
    const auto before = bench.partition->lsn();
    auto steps = begin(bench);
    ASSERT_TRUE(steps->run(operation(OperationKind::kRead, "x")).status.ok());
    EXPECT_TRUE(commit(*steps).committed);
    auto empty = begin(bench);
    EXPECT_TRUE(commit(*empty).committed);
    EXPECT_EQ(bench.partition->lsn(), before);
}

TEST_F(StepsTest, UniqueKeysAreCheckedAtOnceAndAgain) {
    ContainerSettings settings = default_settings();
    settings.unique_keys = {{0, {{"n"}}}};
    Bench bench(settings);
    ASSERT_TRUE(bench.one("a", operation(OperationKind::kCreate, "x", R"(,"n":1)")).status.ok());
    auto steps = begin(bench);
    EXPECT_EQ(end_of(steps->run(operation(OperationKind::kCreate, "y", R"(,"n":1)"))),
              Ended::kConflict);
    EXPECT_TRUE(steps->run(operation(OperationKind::kCreate, "y", R"(,"n":2)")).status.ok());
    EXPECT_EQ(end_of(steps->run(operation(OperationKind::kCreate, "z", R"(,"n":2)"))),
              Ended::kConflict);
    EXPECT_TRUE(steps->run(operation(OperationKind::kDelete, "x")).status.ok());
    EXPECT_TRUE(steps->run(operation(OperationKind::kCreate, "z", R"(,"n":1)")).status.ok());
    EXPECT_TRUE(commit(*steps).committed);
    EXPECT_TRUE(bench.check().empty());

    auto late = begin(bench);
    ASSERT_TRUE(late->run(operation(OperationKind::kCreate, "p", R"(,"n":9)")).status.ok());
    ASSERT_TRUE(bench.one("a", operation(OperationKind::kCreate, "q", R"(,"n":9)")).status.ok());
    EXPECT_TRUE(commit(*late).stale);
    EXPECT_TRUE(bench.check().empty());
}

TEST_F(StepsTest, ManyItems) {
    Bench bench;
    auto steps = begin(bench);
    for (int i = 0; i < 2000; ++i)
        ASSERT_TRUE(
            steps->run(operation(OperationKind::kCreate, "i" + std::to_string(i), R"(,"n":5)"))
                .status.ok());
    for (int i = 0; i < 2000; i += 2)
        ASSERT_TRUE(
            steps->run(operation(OperationKind::kDelete, "i" + std::to_string(i))).status.ok());
    EXPECT_TRUE(commit(*steps).committed);
    EXPECT_EQ(read(bench, "i1"), Ended::kOk);
    EXPECT_EQ(read(bench, "i2"), Ended::kNotFound);
    EXPECT_TRUE(bench.check().empty());
}

}  // namespace
}  // namespace orrery::partition
