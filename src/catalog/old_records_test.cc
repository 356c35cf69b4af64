#include <gtest/gtest.h>

#include "base/bytes.h"
#include "catalog/catalog_test_support.h"
#include "catalog/records.h"
#include "storage/store_test_support.h"

namespace orrery::catalog {
namespace {

using testing::Account;
using testing::Folder;

/// The records of a container as the second format had them: with its JSON.
class OldRecordsTest : public ::testing::Test {
protected:
    OldRecordsTest() : account_(folder_.path()) {
        EXPECT_TRUE(account_.create_database(R"({"id":"d"})").ok());
        EXPECT_TRUE(
            account_
                .create_container(
                    "d",
                    R"({"id":"c","partitionKey":{"paths":["/pk"],"version":2},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/a"]}]}})")
                .ok());
    }
    ContainerPtr container() { return account_->find_container("d", "c"); }
    void write_in_second_format(const ContainerPtr& container,
                                const std::string& index_state = {}) {
        std::string tail = rest::definition_json(container->id, *container->definition);
        tail.erase(0, tail.find(',') + 1);
        const std::string key = records::container_key(container->rid);
        const auto stored = account_.store->view()->get(storage::Family::kMeta, key);
        auto record = records::decode_container(key, **stored).value();
        std::string out = {2};
        append_bytes(out, record.id);
        append_bytes(out, record.version.etag);
        append_varint(out, static_cast<uint64_t>(record.version.ts + 1));
        append_bytes(out, tail);
        append_u64_le(out, record.path_key.k0);
        append_u64_le(out, record.path_key.k1);
        append_varint(out, record.settings_version);
        append_varint(out, record.map_version);
        append_varint(out, static_cast<uint64_t>(record.map_ts + 1));
        append_varint(out, record.next_range);
        append_varint(out, record.ranges.size());
        for (const records::Range& range : record.ranges) {
            append_varint(out, range.number);
            append_varint(out, range.partition);
            append_varint(out, range.parents.size());
            append_varint(out, range.weight);
        }
        out += index_state;
        EXPECT_TRUE(storage::testing::commit(*account_.store, [&](storage::CommitScope& scope) {
                        scope.put(storage::Family::kMeta, key, out);
                        return true;
                    }).ok());
    }
    Folder folder_;
    Account account_;
};

TEST_F(OldRecordsTest, OpenAsTheyWere) {
    ASSERT_TRUE(account_
                    .replace_container("d", "c",
                                       R"({"id":"c","defaultTtl":60,"indexingPolicy":)"
                                       R"({"compositeIndexes":[[{"path":"/a"},{"path":"/b"}]]}})")
                    .ok());
    const std::string json = rest::container_json(*container());
    const auto before = container()->settings;
    write_in_second_format(container());
    account_.reopen();
    EXPECT_EQ(rest::container_json(*container()), json);
    EXPECT_EQ(container()->settings->unique_keys, before->unique_keys);
    EXPECT_EQ(container()->settings->default_ttl, 60);
    EXPECT_EQ(container()->definition->dialect, json::Dialect::kNosql);
    // The next change writes it as it is written now.
    ASSERT_TRUE(account_.replace_container("d", "c", R"({"id":"c"})").ok());
    const auto stored = account_.store->view()->get(storage::Family::kMeta,
                                                    records::container_key(container()->rid));
    EXPECT_EQ((**stored)[0], 3);
    account_.reopen();
    EXPECT_EQ(container()->settings->unique_keys, before->unique_keys);
    EXPECT_FALSE(container()->settings->default_ttl);
}

TEST_F(OldRecordsTest, PreviousPoliciesAsJson) {
    // Change 2, no sorted paths, one previous policy without sorted paths.
    const std::string policy = R"({"indexingMode":"none"})";
    std::string state = {2, 0, 1};
    append_bytes(state, policy);
    state.push_back(0);
    write_in_second_format(container(), state);
    account_.reopen();
    ASSERT_EQ(container()->settings->previous.size(), 1U);
    EXPECT_EQ(container()->settings->previous[0]->mode, index::IndexingMode::kNone);
    EXPECT_EQ(container()->settings->index_change, 2U);
    while (account_->carry_out_index_changes().value()) {
    }
    EXPECT_TRUE(container()->settings->previous.empty());
    account_.reopen();
    EXPECT_TRUE(container()->settings->previous.empty());
    std::vector<std::string> findings;
    auto& partition = *container()->ranges->ranges[0].partition;
    EXPECT_TRUE(partition.check(*account_.store->view(), findings).ok());
    EXPECT_EQ(findings, std::vector<std::string>());
}

}  // namespace
}  // namespace orrery::catalog
