#include <gtest/gtest.h>

#include "catalog/catalog_test_support.h"

namespace orrery::catalog {
namespace {

using testing::Account;
using testing::Folder;
using testing::message_of;

class UniqueKeyChangeTest : public ::testing::Test {
protected:
    UniqueKeyChangeTest() : account_(folder_.path()) {
        EXPECT_TRUE(account_.create_database(R"({"id":"d"})").ok());
        EXPECT_TRUE(
            account_
                .create_container(
                    "d",
                    R"({"id":"c","partitionKey":{"paths":["/pk"],"version":2},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/a"]}]}})")
                .ok());
    }
    ContainerPtr container() { return account_->find_container("d", "c"); }
    std::vector<uint32_t> numbers() {
        std::vector<uint32_t> out;
        for (const partition::UniqueKey& key : container()->settings->unique_keys)
            out.push_back(key.number);
        return out;
    }
    std::vector<std::string> check() {
        std::vector<std::string> findings;
        for (const PartitionRange& range : container()->ranges->ranges)
            EXPECT_TRUE(range.partition->check(*account_.store->view(), findings).ok());
        return findings;
    }
    size_t unique_entries() {
        size_t count = 0;
        const storage::ViewPtr view = account_.store->view();
        for (const auto cursor = view->scan(storage::Family::kIds, "", ""); cursor->valid();
             cursor->next())
            if (storage::keys::decode_id(cursor->key())->kind == storage::IdKind::kUniqueKey)
                ++count;
        return count;
    }
    Folder folder_;
    Account account_;
};

TEST_F(UniqueKeyChangeTest, AddedToAnEmptyContainer) {
    using Numbers = std::vector<uint32_t>;
    EXPECT_EQ(numbers(), Numbers({0}));
    const std::string etag = container()->version.etag;
    const auto added = account_->add_unique_key(container()->rid, {"/v"});
    ASSERT_TRUE(added.ok()) << message_of(added);
    EXPECT_NE((*added)->version.etag, etag);
    EXPECT_EQ(numbers(), Numbers({0, 1}));
    EXPECT_EQ(container()->definition->unique_keys->next_number, 2U);
    EXPECT_NE(rest::container_json(*container())
                  .find(R"("uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/a"]},{"paths":["/v"]}]})"),
              std::string::npos);
    // Items are held to it: `v` is 1 in both.
    EXPECT_TRUE(account_.put_item(*container(), "x").committed);
    EXPECT_FALSE(account_.put_item(*container(), "y").committed);
    EXPECT_EQ(check(), std::vector<std::string>());
    account_.reopen();
    EXPECT_EQ(numbers(), Numbers({0, 1}));
    EXPECT_FALSE(account_.put_item(*container(), "y").committed);
}

TEST_F(UniqueKeyChangeTest, RefusedWhileThereAreItems) {
    ASSERT_TRUE(account_.put_item(*container(), "x").committed);
    const auto refused = account_->add_unique_key(container()->rid, {"/v"});
    EXPECT_EQ(ended(refused), Ended::kBadRequest);
    EXPECT_NE(message_of(refused).find("empty"), std::string::npos);
    ASSERT_TRUE(account_.delete_item(*container(), "x").committed);
    EXPECT_EQ(ended(account_->add_unique_key(container()->rid, {"/v"})), Ended::kOk);
    EXPECT_EQ(ended(account_->add_unique_key(container()->rid, {"/v"})),
              Ended::kBadRequest);  // the same
    EXPECT_EQ(ended(account_->add_unique_key(container()->rid, {"v"})), Ended::kBadRequest);
    EXPECT_EQ(ended(account_->add_unique_key({{7}, 0x8000'0001}, {"/v"})), Ended::kNotFound);
}

TEST_F(UniqueKeyChangeTest, DroppedOnesGiveTheirValuesFree) {
    using Numbers = std::vector<uint32_t>;
    ASSERT_TRUE(account_.put_item(*container(), "x").committed);  // `a` is missing
    EXPECT_FALSE(account_.put_item(*container(), "y").committed);
    EXPECT_EQ(unique_entries(), 1U);
    ASSERT_TRUE(account_->drop_unique_key(container()->rid, 0).ok());
    EXPECT_EQ(unique_entries(), 0U);
    EXPECT_EQ(ended(account_->drop_unique_key(container()->rid, 0)), Ended::kNotFound);
    EXPECT_EQ(numbers(), Numbers());
    EXPECT_TRUE(account_.put_item(*container(), "y").committed);
    EXPECT_EQ(check(), std::vector<std::string>());
    account_.reopen();
    EXPECT_EQ(check(), std::vector<std::string>());
    // The number is not given again, whatever the entries of the first one say.
    ASSERT_TRUE(account_.delete_item(*container(), "x").committed);
    ASSERT_TRUE(account_.delete_item(*container(), "y").committed);
    ASSERT_TRUE(account_->add_unique_key(container()->rid, {"/a"}).ok());
    EXPECT_EQ(numbers(), Numbers({1}));
    EXPECT_TRUE(account_.put_item(*container(), "z").committed);
    EXPECT_FALSE(account_.put_item(*container(), "x").committed);
    EXPECT_EQ(check(), std::vector<std::string>());
}

TEST_F(UniqueKeyChangeTest, NamesGoWithTheirKey) {
    ContainerDefinition definition = *container()->definition;
    definition.index_names = {{"one", IndexName::Kind::kUniqueKey, "0"},
                              {"two", IndexName::Kind::kUniqueKey, "0"},
                              {"all", IndexName::Kind::kPath, "/*"}};
    ASSERT_TRUE(account_->replace_container("d", "c", definition, "").ok());
    ASSERT_TRUE(account_->drop_unique_key(container()->rid, 0).ok());
    ASSERT_EQ(container()->definition->index_names.size(), 1U);
    EXPECT_EQ(container()->definition->index_names[0].name, "all");
}

}  // namespace
}  // namespace orrery::catalog
