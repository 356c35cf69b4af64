#include "index/terms.h"
#include "json/parse.h"
#include "partition/partition_test_support.h"
#include "storage/fault_file_system.h"

/// Composite indexes and markers of unindexed items, as a partition maintains them.
namespace orrery::partition {
namespace {

using namespace testing;
using Findings = std::vector<std::string>;

ContainerSettings settings_with(std::string_view policy) {
    json::Arena arena;
    ContainerSettings settings = default_settings();
    settings.indexing = index::parse_indexing_policy(json::parse(policy, arena).value()).value();
    return settings;
}

/// How many entries the partition has below a path or composite hash.
size_t entries_below(Bench& bench, uint64_t hash) {
    const std::string begin = storage::keys::index_path(Bench::kPartition, hash);
    const auto cursor =
        bench.store->view()->scan(storage::Family::kIndex, begin, prefix_successor(begin));
    size_t count = 0;
    for (; cursor->valid(); cursor->next()) ++count;
    return count;
}
size_t markers(Bench& bench) {
    return entries_below(bench, index::unindexed_path_hash(bench.partition->settings()->path_key));
}

ItemOperation with(ItemOperation operation, IndexingDirective directive) {
    operation.directive = directive;
    return operation;
}

constexpr const char* kComposite =
    R"({"compositeIndexes":[[{"path":"/name"},{"path":"/age","order":"descending"}]]})";

TEST(IndexEntries, CompositeCharges) {
    Bench bench(settings_with(kComposite));
    const uint64_t hash =
        index::composite_hash({1, 2}, bench.partition->settings()->indexing.composites[0]);
    // 2 per pair (id, pk, name, age) and 2 for the composite.
    OperationResult result = bench.one("a", create(R"({"id":"1","pk":"a","name":"n","age":3})"));
    EXPECT_EQ(result.work.terms_added, 10U);
    EXPECT_EQ(entries_below(bench, hash), 1U);
    result = bench.one("a", create(R"({"id":"2","pk":"a"})"));
    EXPECT_EQ(result.work.terms_added, 6U);
    EXPECT_EQ(entries_below(bench, hash), 2U);
    // A pair and the tuple change.
    result = bench.one("a", replace("1", R"({"id":"1","pk":"a","name":"n","age":4})"));
    EXPECT_EQ(result.work.terms_added, 4U);
    EXPECT_EQ(result.work.terms_removed, 4U);
    // Neither of the composite's paths changes.
    result = bench.one("a", patch("1", R"([{"op":"add","path":"/x","value":1}])"));
    EXPECT_EQ(result.work.terms_added, 2U);
    EXPECT_EQ(result.work.terms_removed, 0U);
    EXPECT_EQ(bench.check(), Findings());
    result = bench.one("a", remove("1"));
    EXPECT_EQ(result.work.terms_removed, 12U);
    EXPECT_EQ(entries_below(bench, hash), 1U);
    EXPECT_EQ(bench.check(), Findings());
}

TEST(IndexEntries, CompositeWithTs) {
    Bench bench(settings_with(
        R"({"compositeIndexes":[[{"path":"/name"},{"path":"/_ts","order":"descending"}]]})"));
    const uint64_t hash =
        index::composite_hash({1, 2}, bench.partition->settings()->indexing.composites[0]);
    EXPECT_EQ(bench.one("a", create(R"({"id":"1","pk":"a","name":"n"})")).work.terms_added, 8U);
    for (int i = 0; i < 3; ++i) {
        bench.clock.advance_seconds(1);
        const auto result = bench.one("a", upsert(R"({"id":"1","pk":"a","name":"n"})"));
        EXPECT_EQ(result.work.terms_added, 0U);  // `_ts` is not charged
        EXPECT_EQ(entries_below(bench, hash), 1U);
        EXPECT_EQ(bench.check(), Findings());
    }
    EXPECT_EQ(end_of(bench.one("a", remove("1"))), Ended::kRemoved);
    EXPECT_EQ(entries_below(bench, hash), 0U);
    EXPECT_EQ(bench.check(), Findings());
}

TEST(IndexEntries, UnindexedItemsHaveOneMarker) {
    Bench bench;
    EXPECT_EQ(end_of(bench.one("a", create(R"({"id":"0","pk":"a"})"))), Ended::kCreated);
    EXPECT_EQ(markers(bench), 0U);
    EXPECT_EQ(
        end_of(bench.one("a", with(create(R"({"id":"1","pk":"a"})"), IndexingDirective::kExclude))),
        Ended::kCreated);
    EXPECT_EQ(markers(bench), 1U);
    EXPECT_EQ(end_of(bench.one("a", patch("1", R"([{"op":"set","path":"/v","value":2}])"))),
              Ended::kOk);
    EXPECT_EQ(markers(bench), 1U);
    // A replace without directive goes by the policy again.
    EXPECT_EQ(end_of(bench.one("a", replace("1", R"({"id":"1","pk":"a"})"))), Ended::kOk);
    EXPECT_EQ(markers(bench), 0U);
    EXPECT_EQ(
        end_of(bench.one("a", with(upsert(R"({"id":"1","pk":"a"})"), IndexingDirective::kExclude))),
        Ended::kOk);
    EXPECT_EQ(markers(bench), 1U);
    EXPECT_EQ(end_of(bench.one("a", remove("1"))), Ended::kRemoved);
    EXPECT_EQ(markers(bench), 0U);
    EXPECT_EQ(bench.check(), Findings());
}

TEST(IndexEntries, ManualIndexing) {
    Bench bench(settings_with(R"({"automatic":false})"));
    EXPECT_EQ(bench.one("a", create(R"({"id":"1","pk":"a"})")).work.terms_added, 0U);
    EXPECT_EQ(bench.one("a", with(create(R"({"id":"2","pk":"a"})"), IndexingDirective::kInclude))
                  .work.terms_added,
              4U);
    EXPECT_EQ(markers(bench), 1U);
    EXPECT_EQ(end_of(bench.one("a", patch("2", R"([{"op":"set","path":"/v","value":2}])"))),
              Ended::kOk);
    EXPECT_EQ(markers(bench), 1U);
    EXPECT_EQ(end_of(bench.one("a", replace("2", R"({"id":"2","pk":"a"})"))), Ended::kOk);
    EXPECT_EQ(markers(bench), 2U);
    EXPECT_EQ(bench.check(), Findings());
    Bench none(settings_with(R"({"indexingMode":"none"})"));
    EXPECT_EQ(end_of(none.one("a", create(R"({"id":"1","pk":"a"})"))), Ended::kCreated);
    EXPECT_EQ(markers(none), 0U);
    EXPECT_EQ(none.check(), Findings());
}

void write_some(Bench& bench) {
    for (int i = 0; i < 20; ++i) {
        const std::string id = std::to_string(i);
        const auto directive =
            i % 2 == 0 ? IndexingDirective::kExclude : IndexingDirective::kDefault;
        ASSERT_EQ(end_of(bench.one("a", with(create(R"({"id":")" + id + R"(","pk":"a","name":"n)" +
                                                    id + R"("})"),
                                             directive))),
                  Ended::kCreated);
    }
    for (int i = 0; i < 20; i += 4)
        ASSERT_EQ(end_of(bench.one("a", patch(std::to_string(i),
                                              R"([{"op":"set","path":"/name","value":"m"}])"))),
                  Ended::kOk);
}

TEST(IndexEntries, DirectivesSurviveRestart) {
    storage::FaultFileSystem files;
    storage::StoreOptions options;
    options.folder = "/data";
    options.file_system = files.file_system();
    Bench bench(settings_with(kComposite), options);
    write_some(bench);
    bench.close();
    bench.open();
    EXPECT_FALSE(bench.replayed);
    EXPECT_EQ(markers(bench), 10U);
    EXPECT_EQ(bench.check(), Findings());
    // The diff against a version from disk knows that it had no entries.
    EXPECT_EQ(bench.one("a", replace("0", R"({"id":"0","pk":"a"})")).work.terms_removed, 0U);
    EXPECT_EQ(bench.one("a", replace("1", R"({"id":"1","pk":"a"})")).work.terms_removed, 4U);
    EXPECT_EQ(markers(bench), 9U);
    EXPECT_EQ(bench.check(), Findings());
}

TEST(IndexEntries, DirectivesSurviveACrash) {
    storage::FaultFileSystem files;
    storage::StoreOptions options;
    options.folder = "/data";
    options.file_system = files.file_system();
    Bench bench(settings_with(kComposite), options);
    write_some(bench);
    files.cut_power();
    bench.close();
    files.restore_power(storage::FaultFileSystem::Loss::kEverything, 1);
    bench.open();
    EXPECT_TRUE(bench.replayed);
    EXPECT_EQ(markers(bench), 10U);
    EXPECT_EQ(bench.check(), Findings());
}

}  // namespace
}  // namespace orrery::partition
