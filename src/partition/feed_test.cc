#include "partition/partition_test_support.h"

namespace orrery::partition {
namespace {

using namespace testing;

std::vector<std::string> all(Bench& bench, FeedRequest request, size_t* pages = nullptr) {
    std::vector<std::string> texts;
    const storage::ViewPtr view = bench.store->view();
    for (;;) {
        FeedPage page = bench.partition->read_feed(*view, request).value();
        EXPECT_LE(page.items.size(), request.items_max);
        if (pages != nullptr) ++*pages;
        for (const StoredItem& item : page.items)
            texts.emplace_back(json::decode_document(*item.document).value().text());
        if (page.resume_after.empty()) return texts;
        request.resume_after = page.resume_after;
    }
}

TEST(Feed, PagesAndRanges) {
    Bench bench;
    for (int i = 0; i < 30; ++i) {
        const std::string pk = std::string(1, static_cast<char>('a' + i % 3));
        bench.one(pk, create(R"({"id":")" + std::to_string(i) + R"(","pk":")" + pk + "\"}"));
    }
    size_t pages = 0;
    FeedRequest request;
    request.items_max = 7;
    EXPECT_EQ(all(bench, request, &pages).size(), 30U);
    EXPECT_EQ(pages, 5U);
    request.items_max = 100;
    request.bytes_max = 50;  // two items of 23 bytes
    pages = 0;
    EXPECT_EQ(all(bench, request, &pages).size(), 30U);
    EXPECT_GE(pages, 15U);
    request.bytes_max = 1;  // always at least one
    EXPECT_EQ(all(bench, request).size(), 30U);

    FeedRequest one_key;
    one_key.range = range_of_key(epk_of("b"));
    const auto of_b = all(bench, one_key);
    EXPECT_EQ(of_b.size(), 10U);
    for (const std::string& text : of_b) EXPECT_NE(text.find("\"pk\":\"b\""), std::string::npos);

    FeedRequest lower;
    lower.range.max = epk_of("b");
    FeedRequest upper;
    upper.range.min = epk_of("b");
    EXPECT_EQ(all(bench, lower).size() + all(bench, upper).size(), 30U);

    FeedRequest bad;
    bad.resume_after = "garbage";
    EXPECT_FALSE(bench.partition->read_feed(*bench.store->view(), bad).ok());
}

TEST(Feed, ViewsStayAsTheyAre) {
    Bench bench;
    bench.one("a", create(R"({"id":"1","pk":"a"})"));
    const storage::ViewPtr view = bench.store->view();
    bench.one("a", create(R"({"id":"2","pk":"a"})"));
    bench.one("a", remove("1"));
    EXPECT_EQ(bench.partition->read_feed(*view, {}).value().items.size(), 1U);
    EXPECT_EQ(bench.partition->totals(*view).value().items, 1);
}

TEST(Feed, DeleteLogicalPartition) {
    ContainerSettings settings = default_settings();
    settings.unique_keys = {{0, {{"u"}}}};
    settings.default_ttl = 100;
    Bench bench(settings);
    for (int i = 0; i < 230; ++i) {
        const std::string pk = i % 10 == 0 ? "b" : "a";
        bench.one(pk, create(R"({"id":")" + std::to_string(i) + R"(","pk":")" + pk + R"(","u":)" +
                             std::to_string(i) + "}"));
    }
    const storage::Lsn before = bench.partition->lsn();
    ASSERT_TRUE(bench.partition->delete_logical_partition(epk_of("a")).ok());
    EXPECT_EQ(bench.partition->lsn(), before + 3);  // 207 items, at most 100 per commit
    EXPECT_EQ(bench.totals().items, 23);
    EXPECT_EQ(end_of(bench.one("a", read("1"))), Ended::kNotFound);
    EXPECT_EQ(end_of(bench.one("b", read("0"))), Ended::kOk);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
    ASSERT_TRUE(bench.partition->delete_logical_partition(epk_of("none")).ok());
    EXPECT_EQ(bench.partition->lsn(), before + 3);
}

}  // namespace
}  // namespace orrery::partition
