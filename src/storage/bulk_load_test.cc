#include "storage/bulk_load.h"

#include <map>

#include "base/bytes.h"
#include "storage/fault_file_system.h"
#include "storage/light_view.h"
#include "storage/store_test_support.h"

namespace orrery::storage {
namespace {

using testing::commit;
using testing::index_key;
using testing::open_started;
using testing::TemporaryFolder;

std::string item_key(PartitionId partition, uint64_t number) {
    return keys::item(partition, Docref("12345678", number));
}
std::string counter(PartitionId partition, std::string_view name) {
    return keys::index_path(partition, 2).append(name);
}

size_t count_keys(const View& view, Family family, PartitionId partition) {
    const std::string begin = keys::partition(partition);
    size_t count = 0;
    for (const auto cursor = view.scan(family, begin, prefix_successor(begin)); cursor->valid();
         cursor->next())
        ++count;
    return count;
}

/// Everything shows at once, in a new view; a later load wins; the committer goes on from there.
TEST(BulkLoad, IsSeenWhole) {
    TemporaryFolder folder;
    StoreOptions options;
    options.folder = folder.path();
    auto store = open_started(options);
    const ViewPtr before = store->view();
    {
        const auto load = store->bulk_load();
        for (const PartitionId partition : {5U, 6U}) {
            for (uint64_t i = 0; i < 1000; ++i)
                ASSERT_TRUE(load->put(Family::kItems, item_key(partition, i), "old").ok());
            ASSERT_TRUE(load->set_count(counter(partition, "a"), {1000, 3000}).ok());
            for (uint64_t i = 0; i < 1000; ++i)
                ASSERT_TRUE(
                    load->put(Family::kIndex, index_key(partition, 1, "t", i), kPartialTerm).ok());
        }
        ASSERT_EQ(count_keys(*store->view(), Family::kItems, 5), 0U);
        EXPECT_GT(load->bytes(), 10'000U);
        ASSERT_TRUE(load->ingest().ok());
    }
    EXPECT_EQ(count_keys(*before, Family::kItems, 5), 0U);
    EXPECT_EQ(count_keys(*store->view(), Family::kItems, 5), 1000U);
    EXPECT_EQ(count_keys(*store->view(), Family::kIndex, 6), 1000U);
    EXPECT_EQ(store->view()->count(counter(6, "a"))->items, 1000);
    {
        const auto load = store->bulk_load();
        ASSERT_TRUE(load->put(Family::kItems, item_key(5, 7), "new").ok());
        ASSERT_TRUE(load->remove(Family::kItems, item_key(5, 8)).ok());
        ASSERT_TRUE(load->set_count(counter(5, "a"), {999, 2997}).ok());
        ASSERT_TRUE(load->remove(Family::kIndex, index_key(5, 1, "t", 8)).ok());
        ASSERT_TRUE(load->ingest().ok());
    }
    ASSERT_TRUE(commit(*store, [](CommitScope& scope) {
                    IndexDelta delta;
                    delta.remove(index_key(5, 1, "t", 9));
                    delta.add(index_key(5, 1, "t", 2000), false);
                    scope.put(Family::kItems, item_key(5, 2000), "newer");
                    scope.index(5, 1, std::move(delta));
                    scope.count(counter(5, "a"), {2, 20});
                    scope.count(counter(5, "b"), {1, 10});
                    return true;
                }).ok());
    for (int round = 0; round < 2; ++round) {
        const ViewPtr view = store->view();
        EXPECT_EQ(view->get(Family::kItems, item_key(5, 7))->value_or(""), "new");
        EXPECT_EQ(count_keys(*view, Family::kItems, 5), 1000U);
        EXPECT_EQ(count_keys(*view, Family::kIndex, 5), 999U);
        EXPECT_EQ(count_keys(*view, Family::kIndex, 6), 1000U);
        EXPECT_EQ(view->count(counter(5, "a"))->items, 1001);
        std::map<std::string, int64_t> sums;
        const std::string prefix = counter(5, "");
        ASSERT_TRUE(view->each_count(prefix, prefix_successor(prefix),
                                     [&](std::string_view key, const Count& sum) -> Status {
                                         sums[std::string(key.substr(prefix.size()))] = sum.bytes;
                                         return {};
                                     })
                        .ok());
        EXPECT_EQ(sums, (std::map<std::string, int64_t>{{"a", 3017}, {"b", 10}}));
        ASSERT_TRUE(store->flush().ok());
    }
}

TEST(BulkLoad, LeavesNothingWhenDropped) {
    TemporaryFolder folder;
    StoreOptions options;
    options.folder = folder.path();
    auto store = open_started(options);
    {
        const auto load = store->bulk_load();
        ASSERT_TRUE(load->put(Family::kItems, item_key(5, 1), "x").ok());
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder.path() + "/staging"));
    EXPECT_EQ(count_keys(*store->view(), Family::kItems, 5), 0U);
}

/// No room for the files: the load fails, the store goes on.
TEST(BulkLoad, FullDisk) {
    FaultFileSystem faults;
    StoreOptions options;
    options.folder = "/data";
    options.file_system = faults.file_system();
    auto store = open_started(options);
    faults.set_free_bytes(20'000);
    {
        const auto load = store->bulk_load();
        Status status;
        for (uint64_t i = 0; i < 100'000 && status.ok(); ++i) {
            char value[64];
            for (size_t b = 0; b < sizeof(value); ++b)
                value[b] = static_cast<char>((i * 2654435761U) >> (b % 24));
            status = load->put(Family::kItems, item_key(5, i), {value, sizeof(value)});
        }
        if (status.ok()) status = load->ingest();
        EXPECT_FALSE(status.ok());
    }
    faults.unlimited_space();
    EXPECT_TRUE(store->health().ok());
    EXPECT_TRUE(commit(*store, [](CommitScope& scope) {
                    scope.put(Family::kItems, item_key(7, 1), "x");
                    return true;
                }).ok());
}

/// After a start most files have not been opened. A read from memory alone says so; it never finds
/// an empty value where it has not looked.
TEST(BulkLoad, ReadsFromMemoryKnowWhichFilesAreNotOpen) {
    constexpr PartitionId kFiles = 60;
    TemporaryFolder folder;
    StoreOptions options;
    options.folder = folder.path();
    {
        auto store = open_started(options);
        for (PartitionId partition = 1; partition <= kFiles; ++partition) {
            const auto load = store->bulk_load();
            ASSERT_TRUE(load->put(Family::kItems, item_key(partition, 1), "value").ok());
            ASSERT_TRUE(load->put(Family::kIndex, index_key(partition, 1, "t", 1), "").ok());
            ASSERT_TRUE(load->ingest().ok());
        }
        ASSERT_TRUE(store->close().ok());
    }
    auto store = open_started(options);
    const ViewPtr view = store->view();
    size_t missed_files = 0;
    for (PartitionId partition = 1; partition <= kFiles; ++partition) {
        bool missed = false;
        const auto value = view->get_in_memory(Family::kItems, item_key(partition, 1), missed);
        ASSERT_TRUE(value.ok());
        if (missed)
            ++missed_files;
        else
            EXPECT_EQ(value->value_or("(none)"), "value") << partition;
        ReadBudget budget{.steps_left = 1'000'000};
        const ViewPtr light = in_memory(*view, budget);
        const auto absent = light->get(Family::kIndex, index_key(partition, 1, "t", 0));
        EXPECT_TRUE(!absent.ok() || !absent->has_value()) << partition;
        const auto many = light->multi_get(Family::kItems, {item_key(partition, 1)});
        EXPECT_TRUE(!many.ok() || many->front().value_or("(none)") == "value") << partition;
    }
    EXPECT_GT(missed_files, 0U) << "nothing was tested: all files were open";
    // Nor does a walk pass over a file that is not open, where it comes from one that is.
    size_t cut_short = 0;
    for (PartitionId partition = 1; partition < kFiles; partition += 2) {
        for (const Family family : {Family::kItems, Family::kIndex}) {
            const auto last =
                family == Family::kItems ? item_key(partition, 1) : index_key(partition, 1, "t", 1);
            ASSERT_TRUE(view->get(family, last)->has_value());
            ReadBudget budget{.steps_left = 1'000'000};
            const auto cursor =
                in_memory(*view, budget)
                    ->scan(family, keys::partition(partition), keys::partition(partition + 2));
            size_t rows = 0;
            for (; cursor->valid(); cursor->next()) ++rows;
            EXPECT_TRUE(budget.exceeded || rows == 2) << partition << ": " << rows;
            cut_short += budget.exceeded ? 1 : 0;
        }
    }
    EXPECT_GT(cut_short, 0U) << "nothing was tested: all files were open";
    // Once they have been read, memory has them.
    for (PartitionId partition = 1; partition <= kFiles; ++partition) {
        EXPECT_EQ(view->get(Family::kItems, item_key(partition, 1))->value(), "value");
        EXPECT_TRUE(view->get(Family::kIndex, index_key(partition, 1, "t", 1))->has_value());
        bool missed = false;
        EXPECT_EQ(view->get_in_memory(Family::kItems, item_key(partition, 1), missed)->value_or(""),
                  "value");
        EXPECT_FALSE(missed);
        ReadBudget budget{.steps_left = 1'000'000};
        const auto present =
            in_memory(*view, budget)->get(Family::kIndex, index_key(partition, 1, "t", 1));
        EXPECT_TRUE(present.ok() && present->has_value()) << partition;
    }
}

}  // namespace
}  // namespace orrery::storage
