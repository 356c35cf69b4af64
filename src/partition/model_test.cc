#include <map>
#include <random>
#include <set>

#include "base/encoding.h"
#include "base/rounds_test_support.h"
#include "partition/partition_test_support.h"
#include "partition/record.h"
#include "storage/fault_file_system.h"
#include "storage/store_test_support.h"

namespace orrery::partition {
namespace {

using namespace testing;

/// Random operations on few items, and a map that says what must be there.
class Model {
public:
    explicit Model(uint64_t seed) : random_(seed) {}

    /// The transaction and the state if it commits.
    struct Step {
        std::string pk;
        Transaction transaction;
        std::map<std::pair<std::string, std::string>, std::string> after;
        bool must_succeed = true;
    };
    Step next() {
        Step step;
        step.after = state;
        step.pk = std::string(1, static_cast<char>('a' + pick(3)));
        step.transaction.epk = epk_of(step.pk);
        const size_t count = pick(4) == 0 ? 1 + pick(8) : 1;
        step.transaction.is_batch = count > 1;
        for (size_t i = 0; i < count && step.must_succeed; ++i) add(step);
        return step;
    }
    size_t pick(size_t below) { return random_() % below; }

    std::map<std::pair<std::string, std::string>, std::string> state;

private:
    std::string body(const Step& step, const std::string& id) {
        std::string text =
            R"({"id":")" + id + R"(","pk":")" + step.pk + R"(","v":)" + std::to_string(pick(1000));
        for (size_t i = pick(5); i > 0; --i)
            text += ",\"k" + std::to_string(pick(8)) + std::to_string(i) + R"(":["x)" +
                    std::to_string(pick(50)) + R"(",{"y":null}])";
        if (pick(20) == 0) text += R"(,"long":")" + std::string(300 + pick(3), 'z') + "\"";
        return text + "}";
    }
    void add(Step& step) {
        const std::string id = "i" + std::to_string(pick(12));
        auto& after = step.after;
        const auto key = std::pair(step.pk, id);
        const bool exists = after.contains(key);
        ItemOperation operation;
        switch (pick(6)) {
            case 0:
                operation = create(body(step, id));
                step.must_succeed = !exists;
                after[key] = operation.body;
                break;
            case 1:
                operation = replace(id, body(step, id));
                step.must_succeed = exists;
                after[key] = operation.body;
                break;
            case 2:
                operation = remove(id);
                step.must_succeed = exists;
                after.erase(key);
                break;
            case 3: {
                const std::string value = std::to_string(pick(1000));
                operation = patch(id, R"([{"op":"set","path":"/v","value":)" + value + "}]");
                step.must_succeed = exists;
                if (!exists) break;
                std::string& text = after[key];
                const size_t at = text.find("\"v\":") + 4;
                text.replace(at, text.find_first_of(",}", at) - at, value);
                break;
            }
            default:
                operation = upsert(body(step, id));
                after[key] = operation.body;
                break;
        }
        if (pick(10) == 0) operation.directive = IndexingDirective::kExclude;
        step.transaction.operations.push_back(std::move(operation));
    }

    std::mt19937_64 random_;
};

void expect_state(Bench& bench, const Model& model) {
    for (int pk = 0; pk < 3; ++pk) {
        for (int i = 0; i < 12; ++i) {
            const auto key =
                std::pair(std::string(1, static_cast<char>('a' + pk)), "i" + std::to_string(i));
            const OperationResult result = bench.one(key.first, read(key.second));
            const auto expected = model.state.find(key);
            ASSERT_EQ(text_of(result), expected == model.state.end() ? "" : expected->second)
                << key.first << key.second;
        }
    }
    ASSERT_EQ(bench.totals().items, static_cast<int64_t>(model.state.size()));
}

TEST(Model, RandomOperations) {
    for (uint64_t seed = 1; seed <= rounds(4u); ++seed) {
        storage::StoreOptions options;
        options.index_table_bytes = 16 << 10;  // tables are written all the time
        Bench bench(default_settings(), options);
        Model model(seed);
        storage::Lsn lsn = 0;
        for (int i = 0; i < 600; ++i) {
            Model::Step step = model.next();
            bench.clock.advance_us(100'000);
            if (i % 50 == 0) bench.cache->erase_partition(Bench::kPartition);
            TransactionResult result = bench.run(std::move(step.transaction));
            ASSERT_EQ(result.committed, step.must_succeed) << seed << " " << i;
            if (!result.committed) continue;
            model.state = std::move(step.after);
            ASSERT_TRUE(result.lsn == lsn + 1 || result.lsn == lsn);
            lsn = result.lsn;
        }
        expect_state(bench, model);
        ASSERT_EQ(bench.check(), std::vector<std::string>()) << seed;
    }
}

TEST(Model, CheckFindsDamage) {
    using storage::Family;
    Bench bench;
    ContainerSettings settings = default_settings();
    settings.unique_keys = {{0, {{"u"}}}};
    settings.default_ttl = 100;
    bench.set(settings);
    const OperationResult created =
        bench.one("a", create(R"({"id":"victim","pk":"a","v":1,"u":1})"));
    bench.one("a", create(R"({"id":"other","pk":"a","v":2,"u":2})"));
    ASSERT_EQ(bench.check(), std::vector<std::string>());
    const std::string epk = epk_of("a");
    const storage::Docref docref = created.item.docref;
    const std::string item_key = storage::keys::item(Bench::kPartition, docref);
    const std::string id_key =
        storage::keys::id(Bench::kPartition, epk, storage::IdKind::kItem, "victim");
    const std::string log_key = storage::keys::log(Bench::kPartition, 1, docref);
    const std::string ttl_key =
        storage::keys::ttl(Bench::kPartition, storage::keys::TtlKind::kUnderDefault,
                           bench.clock.wall_seconds(), docref);
    const auto unique_prefix =
        storage::keys::ids_of_epk(Bench::kPartition, epk, storage::IdKind::kUniqueKey);
    const std::string unique_key =
        std::string(bench.store->view()->scan(Family::kIds, unique_prefix, "")->key());
    for (const auto& place :
         std::vector<std::pair<Family, std::string>>{{Family::kItems, item_key},
                                                     {Family::kIds, id_key},
                                                     {Family::kLog, log_key},
                                                     {Family::kTtl, ttl_key},
                                                     {Family::kIds, unique_key}}) {
        const Family family = place.first;
        const std::string& key = place.second;
        const auto value = bench.store->view()->get(family, key).value();
        ASSERT_TRUE(value) << hex_encode_upper(key);
        ASSERT_TRUE(storage::testing::commit(*bench.store, [&](storage::CommitScope& scope) {
                        scope.remove(family, key);
                        return true;
                    }).ok());
        EXPECT_FALSE(bench.check().empty()) << static_cast<int>(family);
        ASSERT_TRUE(storage::testing::commit(*bench.store, [&](storage::CommitScope& scope) {
                        scope.put(family, key, *value);
                        return true;
                    }).ok());
        ASSERT_EQ(bench.check(), std::vector<std::string>());
    }
    // An index entry too many, and one too few.
    const std::string begin =
        storage::keys::index_path(Bench::kPartition, storage::keys::kReservedPathHashes);
    const std::string some_entry(bench.store->view()->scan(Family::kIndex, begin, "")->key());
    for (const bool removing : {true, false}) {
        ASSERT_TRUE(storage::testing::commit(*bench.store, [&](storage::CommitScope& scope) {
                        storage::IndexDelta delta;
                        if (removing)
                            delta.remove(some_entry);
                        else
                            delta.add(some_entry, false);
                        scope.index(Bench::kPartition, 2, std::move(delta));
                        return true;
                    }).ok());
        EXPECT_EQ(bench.check().empty(), !removing);
    }
    // Counters: totals, a logical partition, and one that has become empty.
    bench.one("b", create(R"({"id":"1","pk":"b"})"));
    bench.one("b", remove("1"));
    for (const std::string& counter :
         {counter_keys::totals(Bench::kPartition),
          counter_keys::logical_partition(Bench::kPartition, epk),
          counter_keys::logical_partition(Bench::kPartition, epk_of("b"))}) {
        ASSERT_EQ(bench.check(), std::vector<std::string>());
        for (const int64_t change : {1, -1}) {
            ASSERT_TRUE(storage::testing::commit(*bench.store, [&](storage::CommitScope& scope) {
                            scope.index(Bench::kPartition, 4, {});
                            scope.count(counter, {change, 0});
                            return true;
                        }).ok());
            EXPECT_EQ(bench.check().empty(), change < 0);
        }
    }
}

/// Power cuts at random moments: every acknowledged transaction is there, at most the one under way
/// is in doubt, and the index comes back.
TEST(Model, PowerCuts) {
    storage::FaultFileSystem faults;
    storage::StoreOptions options;
    options.folder = "/data";
    options.file_system = faults.file_system();
    options.index_table_bytes = 8 << 10;
    ContainerSettings settings = default_settings();
    json::Arena arena;
    settings.indexing = index::parse_indexing_policy(
                            json::parse(R"({"compositeIndexes":[[{"path":"/pk"},{"path":"/_ts"}],)"
                                        R"([{"path":"/id","order":"descending"},{"path":"/v"}]]})",
                                        arena)
                                .value())
                            .value();
    Bench bench(settings, options);
    Model model(99);
    std::set<uint64_t> numbers;
    size_t replays = 0;
    for (int round = 0; round < rounds(12); ++round) {
        const size_t steps = 20 + model.pick(120);
        for (size_t i = 0; i <= steps; ++i) {
            Model::Step step = model.next();
            if (i == steps) faults.cut_power();
            bench.clock.advance_us(50'000);
            TransactionResult result = bench.run(std::move(step.transaction));
            if (result.committed) {
                for (const OperationResult& one : result.results) {
                    if (!one.created) continue;
                    ASSERT_TRUE(numbers.insert(one.item.docref.item_number()).second);
                }
                ASSERT_LT(i, steps);
                model.state = std::move(step.after);
            }
        }
        bench.close();
        faults.restore_power(round % 2 == 0 ? storage::FaultFileSystem::Loss::kEverything
                                            : storage::FaultFileSystem::Loss::kKeepPrefix,
                             static_cast<uint64_t>(round));
        bench.open();
        ASSERT_TRUE(bench.partition != nullptr);
        replays += bench.replayed ? 1 : 0;
        ASSERT_EQ(bench.check(), std::vector<std::string>()) << "round " << round;
        ASSERT_NO_FATAL_FAILURE(expect_state(bench, model)) << "round " << round;
    }
    EXPECT_GT(replays, 0U);
}

}  // namespace
}  // namespace orrery::partition
