#include <random>

#include "base/rounds_test_support.h"
#include "index/terms.h"
#include "json/parse.h"
#include "partition/partition_test_support.h"
#include "storage/fault_file_system.h"

/// Changes of the indexing policy, carried out while items are written.
namespace orrery::partition {
namespace {

using namespace testing;
using FillState = Partition::FillState;
using Findings = std::vector<std::string>;

const char* const kPolicies[] = {
    "{}",
    R"({"indexingMode":"none"})",
    R"({"includedPaths":[{"path":"/v/?"},{"path":"/w/?"}],"excludedPaths":[{"path":"/*"}]})",
    (R"({"compositeIndexes":[[{"path":"/v"},{"path":"/_ts","order":"descending"}],)"
     R"([{"path":"/w"},{"path":"/id"}]]})"),
    R"({"automatic":false,"excludedPaths":[{"path":"/l/*"}]})",
    R"({"compositeIndexes":[[{"path":"/w"},{"path":"/id"}]],"includedPaths":[{"path":"/*"},{"path":"/missing/?"}]})",
};

index::IndexingPolicy policy_of(const char* text) {
    json::Arena arena;
    return index::parse_indexing_policy(json::parse(text, arena).value()).value();
}

/// What the catalog does with a container's settings, for one partition.
class Change {
public:
    explicit Change(Bench& bench, const char* first) : bench_(bench) {
        settings_ = default_settings();
        settings_.indexing = policy_of(first);
    }
    const ContainerSettings& settings() const { return settings_; }

    void begin(index::IndexingPolicy policy) {
        settings_.previous.push_back(
            std::make_shared<const index::IndexingPolicy>(settings_.indexing));
        settings_.indexing = std::move(policy);
        ++settings_.index_change;
        bench_.set(settings_);
    }
    void begin(const char* policy) { begin(policy_of(policy)); }
    FillState step(size_t items) {
        const auto state = bench_.partition->fill_index(bench_.partition->settings(), items);
        EXPECT_TRUE(state.ok()) << (state.ok() ? "" : state.error().message);
        return state.ok() ? state->state : FillState::kStale;
    }
    void save() {
        const IndexFill fill = bench_.partition->index_fill();
        ASSERT_TRUE(bench_.store->flush().ok());
        ASSERT_TRUE(bench_.partition->save_index_fill(fill).ok());
    }
    void finish() {
        while (step(7) != FillState::kComplete) {
        }
        ASSERT_TRUE(bench_.store->flush().ok());
        settings_.previous.clear();
        bench_.set(settings_);
    }

private:
    Bench& bench_;
    ContainerSettings settings_;
};

class Writer {
public:
    explicit Writer(uint64_t seed) : random_(seed) {}
    size_t pick(size_t below) { return random_() % below; }
    void write(Bench& bench) {
        const std::string pk(1, static_cast<char>('a' + pick(4)));
        const std::string id = "i" + std::to_string(pick(10));
        ItemOperation operation;
        switch (pick(5)) {
            case 0:
                operation = remove(id);
                break;
            case 1:
                operation = patch(
                    id, R"([{"op":"set","path":"/v","value":)" + std::to_string(pick(5)) + "}]");
                break;
            default:
                operation = upsert(body(pk, id));
        }
        if (pick(4) == 0) operation.directive = IndexingDirective::kExclude;
        if (pick(6) == 0) operation.directive = IndexingDirective::kInclude;
        bench.clock.advance_us(200'000);
        bench.one(pk, std::move(operation));
    }

private:
    std::string body(const std::string& pk, const std::string& id) {
        std::string text = R"({"id":")" + id + R"(","pk":")" + pk + "\"";
        if (pick(3) != 0) text += R"(,"v":)" + std::to_string(pick(5));
        if (pick(3) != 0) text += R"(,"w":"x)" + std::to_string(pick(5)) + "\"";
        if (pick(10) == 0) text += R"(,"w2":")" + std::string(300, 'z') + "\"";
        if (pick(2) == 0) text += R"(,"l":[1,{"m":2}])";
        return text + "}";
    }
    std::mt19937_64 random_;
};

TEST(IndexChange, FillsAndRemoves) {
    Bench bench;
    Change change(bench, "{}");
    for (int i = 0; i < 50; ++i)
        ASSERT_EQ(end_of(bench.one("a", create(R"({"id":")" + std::to_string(i) +
                                               R"(","pk":"a","v":1,"w":2})"))),
                  Ended::kCreated);
    change.begin(kPolicies[3]);
    const auto settings = bench.partition->settings();
    const auto v = std::vector<index::PathStep>{{false, "v"}};
    EXPECT_TRUE(settings->path_usable(v));
    EXPECT_FALSE(settings->composite_usable(settings->indexing.composites[0]));
    EXPECT_FALSE(bench.check().size() > 0) << bench.check().front();
    EXPECT_EQ(change.step(20), FillState::kMore);
    EXPECT_EQ(bench.partition->index_fill().items, 20U);
    EXPECT_EQ(bench.partition->index_fill().items_all, 50U);
    EXPECT_EQ(bench.check(), Findings());
    change.finish();
    EXPECT_EQ(bench.check(), Findings());
    EXPECT_TRUE(bench.partition->settings()->composite_usable(settings->indexing.composites[0]));
    change.begin(kPolicies[2]);
    EXPECT_FALSE(bench.partition->settings()->composite_usable(settings->indexing.composites[0]));
    EXPECT_TRUE(bench.partition->settings()->path_usable(v));
    EXPECT_FALSE(bench.partition->settings()->path_usable({{false, "l"}}));
    EXPECT_FALSE(bench.partition->settings()->undefined_usable(v));
    change.finish();
    EXPECT_EQ(bench.check(), Findings());
    EXPECT_TRUE(bench.partition->settings()->undefined_usable(v));
    // To none: nothing is left. And back.
    change.begin(kPolicies[1]);
    EXPECT_FALSE(bench.partition->settings()->markers_usable());
    change.finish();
    EXPECT_EQ(bench.check(), Findings());
    const std::string begin =
        storage::keys::index_path(Bench::kPartition, storage::keys::kReservedPathHashes);
    EXPECT_FALSE(bench.store->view()
                     ->scan(storage::Family::kIndex, begin,
                            prefix_successor(storage::keys::partition(Bench::kPartition)))
                     ->valid());
    change.begin(kPolicies[0]);
    change.finish();
    EXPECT_EQ(bench.check(), Findings());
}

TEST(IndexChange, OtherSettingsAreStale) {
    Bench bench;
    Change change(bench, "{}");
    bench.one("a", create(R"({"id":"1","pk":"a"})"));
    const auto before = bench.partition->settings();
    change.begin(kPolicies[2]);
    EXPECT_EQ(bench.partition->fill_index(before, 10)->state, FillState::kStale);
    EXPECT_EQ(change.step(10), FillState::kComplete);
    // A later change starts from the first item.
    change.begin(kPolicies[3]);
    EXPECT_EQ(change.step(0), FillState::kMore);
    EXPECT_EQ(bench.check(), Findings());
}

/// Sorted paths: items that lack them post undefined.
TEST(IndexChange, SortedPaths) {
    Bench bench;
    Change change(bench, "{}");
    const std::vector<index::PathStep> path = {{false, "s"}};
    ASSERT_EQ(end_of(bench.one("a", create(R"({"id":"1","pk":"a","s":1})"))), Ended::kCreated);
    OperationResult created = bench.one("a", create(R"({"id":"2","pk":"a"})"));
    const auto count = [&] {
        const std::string begin =
            storage::keys::index_path(Bench::kPartition, index::path_hash({1, 2}, path));
        size_t found = 0;
        const auto cursor =
            bench.store->view()->scan(storage::Family::kIndex, begin, prefix_successor(begin));
        for (; cursor->valid(); cursor->next()) ++found;
        return found;
    };
    EXPECT_EQ(count(), 1U);
    change.begin(index::with_sorted_paths(change.settings().indexing, {path}));
    EXPECT_FALSE(bench.partition->settings()->undefined_usable(path));
    change.finish();
    EXPECT_TRUE(bench.partition->settings()->undefined_usable(path));
    EXPECT_EQ(count(), 2U);
    EXPECT_EQ(bench.one("a", create(R"({"id":"3","pk":"a"})")).work.terms_added,
              created.work.terms_added);  // uncharged
    EXPECT_EQ(count(), 3U);
    EXPECT_EQ(bench.check(), Findings());
}

/// Random writes and random changes, also one on top of another: after each step every item has
/// exactly the entries of one policy, in the end those of the last.
TEST(IndexChange, RandomWritesAndChanges) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
        storage::StoreOptions options;
        options.index_table_bytes = 8 << 10;
        Bench bench(default_settings(), options);
        Change change(bench, kPolicies[0]);
        Writer writer(seed);
        for (int round = 0; round < rounds(15); ++round) {
            for (size_t i = writer.pick(25); i > 0; --i) writer.write(bench);
            if (change.settings().previous.size() < 3)
                change.begin(kPolicies[writer.pick(std::size(kPolicies))]);
            for (size_t i = writer.pick(12); i > 0; --i) {
                change.step(1 + writer.pick(4));
                writer.write(bench);
            }
            ASSERT_EQ(bench.check(), Findings()) << "seed " << seed << " round " << round;
            if (writer.pick(3) != 0) continue;
            change.finish();
            ASSERT_EQ(bench.check(), Findings()) << "seed " << seed << " round " << round;
        }
        change.finish();
        ASSERT_EQ(bench.check(), Findings()) << "seed " << seed;
    }
}

TEST(IndexChange, PowerCuts) {
    for (uint64_t seed = 1; seed <= 2; ++seed) {
        storage::FaultFileSystem faults;
        storage::StoreOptions options;
        options.folder = "/data";
        options.file_system = faults.file_system();
        options.index_table_bytes = 8 << 10;
        Bench bench(default_settings(), options);
        Change change(bench, kPolicies[0]);
        Writer writer(100 + seed);
        size_t replays = 0;
        for (int round = 0; round < rounds(10); ++round) {
            for (size_t i = writer.pick(40); i > 0; --i) writer.write(bench);
            if (change.settings().previous.size() < 3)
                change.begin(kPolicies[writer.pick(std::size(kPolicies))]);
            for (size_t i = writer.pick(16); i > 0; --i) {
                change.step(1 + writer.pick(4));
                writer.write(bench);
                if (writer.pick(4) == 0) change.save();
            }
            faults.cut_power();
            writer.write(bench);
            bench.close();
            faults.restore_power(round % 2 == 0 ? storage::FaultFileSystem::Loss::kEverything
                                                : storage::FaultFileSystem::Loss::kKeepPrefix,
                                 seed * 100 + static_cast<uint64_t>(round));
            bench.open();
            ASSERT_TRUE(bench.partition != nullptr);
            replays += bench.replayed ? 1 : 0;
            ASSERT_EQ(bench.check(), Findings()) << "seed " << seed << " round " << round;
            if (writer.pick(2) != 0) continue;
            change.finish();
            ASSERT_EQ(bench.check(), Findings()) << "seed " << seed << " round " << round;
        }
        change.finish();
        ASSERT_EQ(bench.check(), Findings()) << "seed " << seed;
        EXPECT_GT(replays, 0U);
    }
}

}  // namespace
}  // namespace orrery::partition
