#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <set>

#include "base/ended_test_support.h"
#include "engine/engine_test_support.h"
#include "engine/light_query.h"
#include "engine/ranges_test_support.h"
#include "partition/move.h"

/// Continuation tokens and positions of the change feed, with splits and merges in between.

namespace orrery::engine {
namespace {

using catalog::RangeChange;
using namespace testing_support;

/// Pages of feeds and queries go on from their tokens whatever becomes of the ranges in between.
TEST(SplitTokens, TokensSurvive) {
    TestEngine test;
    Engine& engine = test.engine();
    test.create_database("d");
    const auto first = test.create_container("d", kRangedContainer);
    constexpr int kItems = 200;
    for (int i = 0; i < kItems; ++i)
        ASSERT_TRUE(put(engine, first, "p" + std::to_string(i % 50), "i" + std::to_string(i), i)
                        .result.committed);
    const auto change = [&](int round) {
        // Queries that sort have asked for entries; splits wait for them.
        for (auto more = test.catalog().carry_out_index_changes(); more.ok() && *more;)
            more = test.catalog().carry_out_index_changes();
        const auto now = test.catalog().find_container("d", "c");
        const auto& ranges = now->ranges->ranges;
        RangeChange wanted;
        wanted.container = now->rid;
        if (round % 3 == 2) {
            wanted.range_ids = {ranges[0].id, ranges[1].id};
        } else {
            wanted.range_ids = {ranges[static_cast<size_t>(round) % ranges.size()].id};
        }
        catalog::RangeProgress progress;
        const auto changed = test.catalog().change_ranges(wanted, progress);
        ASSERT_TRUE(changed.ok()) << changed.error().message;
    };
    int round = 0;
    for (const char* text :
         {"SELECT VALUE c.n FROM c", "SELECT VALUE c.n FROM c ORDER BY c.n DESC",
          "SELECT VALUE c.n FROM c WHERE c.n >= 0", "SELECT DISTINCT VALUE c.n FROM c",
          "SELECT VALUE c.n FROM c OFFSET 0 LIMIT 1000", "feed"}) {
        std::vector<std::string> rows;
        std::string token;
        do {
            // The request found the container long ago.
            if (std::string_view(text) == "feed") {
                FeedRequest request;
                request.items_max = 23;
                request.continuation = token;
                const auto page = engine.read_feed(*first, request);
                ASSERT_TRUE(page.ok()) << page.error().message;
                for (const auto& item : page->items)
                    rows.push_back(std::string(item.docref.bytes()));
                token = page->continuation;
            } else {
                QueryRequest request;
                request.text = text;
                request.items_max = 23;
                request.continuation = token;
                const auto page = engine.query(*first, request);
                ASSERT_TRUE(page.ok()) << page.error().message;
                for (const auto row : page->rows) rows.emplace_back(row);
                token = page->continuation;
            }
            if (rows.size() % 3 == 0) {
                ASSERT_NO_FATAL_FAILURE(change(round++));
            }
        } while (!token.empty());
        EXPECT_EQ(rows.size(), static_cast<size_t>(kItems)) << text;
        EXPECT_EQ(std::set<std::string>(rows.begin(), rows.end()).size(), rows.size()) << text;
    }
    EXPECT_GT(round, 3);
    EXPECT_EQ(engine.totals(*first)->items, kItems);
}

/// A client that merges the answers of ranges itself gives both halves of a split the token of the
/// old range: together they go on where it stood, also where rows are counted and not placed.
TEST(SplitTokens, HalvesGoOnTogether) {
    TestEngine test;
    Engine& engine = test.engine();
    test.create_database("d");
    const auto first = test.create_container("d", kRangedContainer);
    constexpr int kItems = 120;
    for (int i = 0; i < kItems; ++i)
        ASSERT_TRUE(put(engine, first, "p" + std::to_string(i % 40), "i" + std::to_string(i), i)
                        .result.committed);
    std::string points = "SELECT VALUE c.n FROM c WHERE false";
    for (int i = 0; i < 30; ++i)
        points += " OR (c.id = 'i" + std::to_string(i) + "' AND c.pk = 'p" +
                  std::to_string(i % 40) + "')";
    struct Case {
        std::string text;
        size_t rows;
    };
    const std::vector<Case> cases = {
        {"SELECT VALUE c.n FROM c", 120},
        {"SELECT VALUE c.n FROM c ORDER BY c.n", 120},
        {"SELECT DISTINCT VALUE c.pk FROM c", 40},
        {"SELECT VALUE {'pk': c.pk, 'n': COUNT(1)} FROM c GROUP BY c.pk", 40},
        {"SELECT VALUE c.n FROM c OFFSET 100 LIMIT 50", 20},
        {points, 30},
    };
    for (const Case& one : cases) {
        const auto now = test.catalog().find_container("d", "c");
        ASSERT_EQ(now->ranges->ranges.size(), 1U);
        const auto page = [&](const partition::EpkRange& range, std::string& token) {
            QueryRequest request;
            request.text = one.text;
            request.items_max = 7;
            request.range = range;
            request.continuation = token;
            auto found = engine.query(*now, request);
            EXPECT_TRUE(found.ok()) << one.text << ": " << found.error().message;
            std::vector<std::string> rows;
            if (!found.ok()) return token.clear(), rows;
            for (const auto row : found->rows) rows.emplace_back(row);
            token = found->continuation;
            return rows;
        };
        const auto finish = [&](const partition::EpkRange& range, std::string token,
                                std::vector<std::string>& rows) {
            while (!token.empty())
                for (auto& row : page(range, token)) rows.push_back(std::move(row));
        };
        std::string token;
        std::vector<std::string> rows = page({}, token);
        ASSERT_FALSE(token.empty()) << one.text;
        for (auto more = test.catalog().carry_out_index_changes(); more.ok() && *more;)
            more = test.catalog().carry_out_index_changes();
        RangeChange wanted;
        wanted.container = now->rid;
        wanted.range_ids = {now->ranges->ranges[0].id};
        catalog::RangeProgress progress;
        ASSERT_TRUE(test.catalog().change_ranges(wanted, progress).ok());
        const auto split = test.catalog().find_container("d", "c");
        ASSERT_EQ(split->ranges->ranges.size(), 2U);
        // The second one first: it must not take what is the first one's.
        for (const size_t half : {1U, 0U})
            finish(split->ranges->ranges[half].partition->identity().range, token, rows);
        EXPECT_EQ(rows.size(), one.rows) << one.text;
        EXPECT_EQ(std::set<std::string>(rows.begin(), rows.end()).size(), rows.size()) << one.text;

        // Positions of both halves, after they were merged.
        std::vector<std::string> merged;
        std::vector<std::string> tokens(2);
        for (const size_t half : {0U, 1U})
            for (auto& row :
                 page(split->ranges->ranges[half].partition->identity().range, tokens[half]))
                merged.push_back(std::move(row));
        std::vector<std::string> expected = merged;
        for (const size_t half : {0U, 1U})
            finish(split->ranges->ranges[half].partition->identity().range, tokens[half], expected);
        wanted.range_ids = {split->ranges->ranges[0].id, split->ranges->ranges[1].id};
        ASSERT_TRUE(test.catalog().change_ranges(wanted, progress).ok());
        for (const size_t half : {0U, 1U}) finish({}, tokens[half], merged);
        std::sort(merged.begin(), merged.end());
        std::sort(expected.begin(), expected.end());
        EXPECT_EQ(merged, expected) << one.text;

        // No part of what the token is about.
        if (tokens[0].empty()) continue;
        QueryRequest foreign;
        foreign.text = one.text;
        foreign.range = split->ranges->ranges[1].partition->identity().range;
        foreign.continuation = tokens[0];
        const auto refused = engine.query(*now, foreign);
        ASSERT_FALSE(refused.ok()) << one.text;
        EXPECT_EQ(ended(refused.error()), Ended::kBadRequest);
    }
}

/// Headers may have no key in common; nothing is found then, and nothing else happens.
TEST(SplitTokens, NoKeysNoRows) {
    TestEngine test;
    Engine& engine = test.engine();
    test.create_database("d");
    const auto container = test.create_container("d", kRangedContainer);
    ASSERT_TRUE(put(engine, container, "p", "i", 1).result.committed);
    for (const auto& [text, rows] :
         {std::pair("SELECT * FROM c", 0), std::pair("SELECT VALUE COUNT(1) FROM c", 1),
          std::pair("SELECT * FROM c ORDER BY c.n", 0),
          std::pair("SELECT DISTINCT VALUE c.n FROM c", 0),
          std::pair("SELECT * FROM c WHERE c.id = 'i' AND c.pk = 'p'", 0)}) {
        QueryRequest request;
        request.text = text;
        request.range = {"\x20", "\x20"};
        const auto found = engine.query(*container, request);
        ASSERT_TRUE(found.ok()) << text << ": " << found.error().message;
        EXPECT_EQ(found->rows.size(), static_cast<size_t>(rows)) << text;
        const auto light = query_in_memory(engine, *container, request);
        if (light) {
            ASSERT_TRUE(light->ok());
            EXPECT_EQ((*light)->rows.size(), static_cast<size_t>(rows)) << text;
        }
    }
}

/// A thread that must not wait gives a query away while a switch is being written, and afterwards
/// until it knows the new map.
TEST(SplitTokens, ASwitchStopsNoLoop) {
    TestEngine test;
    Engine& engine = test.engine();
    test.create_database("d");
    const auto container = test.create_container("d", kRangedContainer);
    ASSERT_TRUE(put(engine, container, "p", "i", 1).result.committed);
    // Not one that has been given away: the next runs of such a text are not tried.
    int runs = 0;
    const auto light = [&] {
        QueryRequest request;
        request.text = "SELECT VALUE c.n FROM c WHERE c.n = " + std::to_string(++runs);
        return query_in_memory(engine, *container, request);
    };
    ASSERT_TRUE(light().has_value());

    const auto& source = container->ranges->ranges[0].partition;
    const auto& identity = source->identity();
    partition::PartitionMove::Plan plan;
    plan.sources = {source};
    plan.settings = container->settings;
    plan.targets = {identity, identity};
    for (auto& target : plan.targets)
        target.id += 1000 + static_cast<uint32_t>(&target - plan.targets.data());
    plan.targets[0].range.max = plan.targets[1].range.min = "\x20";
    const auto move = partition::PartitionMove::create(
        plan, {test.store(), test.cache(), engine.workers(), test.clock()});
    ASSERT_TRUE(move->copy().ok());
    ASSERT_TRUE(move->open().ok());
    const auto closed = move->close(UINT64_MAX);
    ASSERT_TRUE(closed.ok() && *closed);
    EXPECT_TRUE(light().has_value());  // only writers wait
    move->begin_switch();
    auto asked = std::async(std::launch::async, light);
    const auto state = asked.wait_for(std::chrono::minutes(1));
    EXPECT_EQ(state, std::future_status::ready);
    auto waiting = std::async(std::launch::async, [&] {
        QueryRequest request;
        request.text = "SELECT VALUE c.n FROM c";
        return engine.query(*container, request);
    });
    move->abandon();
    if (state == std::future_status::ready) {
        EXPECT_FALSE(asked.get().has_value());
    }
    EXPECT_TRUE(waiting.get().ok());
    EXPECT_TRUE(light().has_value());

    RangeChange wanted;
    wanted.container = container->rid;
    wanted.range_ids = {container->ranges->ranges[0].id};
    catalog::RangeProgress progress;
    ASSERT_TRUE(test.catalog().change_ranges(wanted, progress).ok());
    EXPECT_FALSE(light().has_value());
}

/// A follower of the whole change feed does not carry the history of the ranges with it.
TEST(SplitTokens, PositionsOfTheChangeFeedDoNotGrow) {
    TestEngine test;
    Engine& engine = test.engine();
    test.create_database("d");
    const auto first = test.create_container("d", kRangedContainer);
    int written = 0;
    const auto write = [&] {
        for (int i = 0; i < 30; ++i, ++written)
            ASSERT_TRUE(
                put(engine, first, "p" + std::to_string(i), "i" + std::to_string(written), written)
                    .result.committed);
    };
    std::set<std::string> seen;
    std::string position;
    const auto follow = [&] {
        for (;;) {
            ChangeFeedRequest request;
            request.items_max = 7;
            request.continuation = position;
            const auto page = engine.read_changes(*first, request);
            ASSERT_TRUE(page.ok()) << page.error().message;
            position = page->position;
            for (const auto& change : page->changes)
                EXPECT_TRUE(seen.insert(std::string(change.current.docref.bytes())).second);
            if (page->nothing_new) return;
        }
    };
    const auto change = [&](std::vector<std::string> ids) {
        RangeChange wanted;
        wanted.container = first->rid;
        wanted.range_ids = std::move(ids);
        catalog::RangeProgress progress;
        const auto changed = test.catalog().change_ranges(wanted, progress);
        ASSERT_TRUE(changed.ok()) << changed.error().message;
    };
    size_t with_two = 0;
    for (int round = 0; round < 6; ++round) {
        ASSERT_NO_FATAL_FAILURE(write());
        ASSERT_NO_FATAL_FAILURE(follow());
        const auto whole = test.catalog().find_container("d", "c");
        ASSERT_EQ(whole->ranges->ranges.size(), 1U);
        EXPECT_LE(position.size(), 4U) << position;  // a number again
        ASSERT_NO_FATAL_FAILURE(change({whole->ranges->ranges[0].id}));
        ASSERT_NO_FATAL_FAILURE(write());
        ASSERT_NO_FATAL_FAILURE(follow());
        if (with_two == 0) with_two = position.size();
        EXPECT_LE(position.size(), with_two + 8);
        const auto now = test.catalog().find_container("d", "c");
        ASSERT_NO_FATAL_FAILURE(write());  // seen only after the merge
        ASSERT_NO_FATAL_FAILURE(change({now->ranges->ranges[0].id, now->ranges->ranges[1].id}));
    }
    ASSERT_NO_FATAL_FAILURE(follow());
    EXPECT_EQ(seen.size(), static_cast<size_t>(written));
}

/// A client that hears of a split gives both halves the position of the old range, which may be one
/// over both of them when the split came while the last page was read.
TEST(SplitTokens, PositionsOfTheChangeFeedServeNarrowerRanges) {
    TestEngine test;
    Engine& engine = test.engine();
    test.create_database("d");
    const auto first = test.create_container("d", kRangedContainer);
    for (int i = 0; i < 40; ++i)
        ASSERT_TRUE(put(engine, first, "p" + std::to_string(i), "i" + std::to_string(i), i)
                        .result.committed);
    RangeChange wanted;
    wanted.container = first->rid;
    wanted.range_ids = {first->ranges->ranges[0].id};
    catalog::RangeProgress progress;
    const auto changed = test.catalog().change_ranges(wanted, progress);
    ASSERT_TRUE(changed.ok()) << changed.error().message;
    ChangeFeedRequest whole;
    whole.items_max = 11;
    const auto page = engine.read_changes(**changed, whole);
    ASSERT_TRUE(page.ok()) << page.error().message;
    ASSERT_GT(page->position.size(), 20U) << "a position over two ranges: " << page->position;
    std::set<std::string> seen;
    const auto see = [&](const ChangeFeedAnswer& answer) {
        for (const auto& change : answer.changes)
            EXPECT_TRUE(seen.insert(std::string(change.current.docref.bytes())).second);
    };
    see(*page);
    for (const catalog::PartitionRange& half : (*changed)->ranges->ranges) {
        ChangeFeedRequest narrow;
        narrow.range = half.partition->identity().range;
        narrow.continuation = page->position;
        const auto rest = engine.read_changes(**changed, narrow);
        ASSERT_TRUE(rest.ok()) << rest.error().message;
        see(*rest);
    }
    EXPECT_EQ(seen.size(), 40U);

    // A position over a part says nothing about the rest.
    ChangeFeedRequest around_middle;
    around_middle.range = {"\x01", "\xF0"};
    const auto around = engine.read_changes(**changed, around_middle);
    ASSERT_TRUE(around.ok()) << around.error().message;
    ChangeFeedRequest wider;
    wider.continuation = around->position;
    const auto refused = engine.read_changes(**changed, wider);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(ended(refused.error()), Ended::kBadRequest);
    EXPECT_NE(refused.error().message.find("another part"), std::string::npos);
}

/// Rows of DISTINCT and GROUP BY under TOP, OFFSET and LIMIT that need several pages: whatever
/// comes between them (the pass is lost, ranges split and merge), no row comes twice and none is
/// missing.
TEST(SplitTokens, WindowsOfDistinctRowsSurvive) {
    TestEngine test;
    Engine& engine = test.engine();
    test.create_database("d");
    const auto first = test.create_container("d", kRangedContainer);
    for (int i = 0; i < 240; ++i)
        ASSERT_TRUE(put(engine, first, "p" + std::to_string(i % 40), "i" + std::to_string(i),
                        i % 120, i % 3 == 0 ? 5 : 0)
                        .result.committed);
    struct Case {
        const char* text;
        size_t rows;
    };
    size_t round = 0;
    for (const Case& one :
         {Case{"SELECT DISTINCT TOP 50 VALUE c.n FROM c", 50},
          Case{"SELECT DISTINCT VALUE c.n FROM c OFFSET 10 LIMIT 60", 60},
          Case{"SELECT DISTINCT VALUE c.n FROM c OFFSET 100 LIMIT 60", 20},
          Case{"SELECT DISTINCT c.n, c.x FROM c WHERE c.n >= 30 OFFSET 5 LIMIT 70", 70},
          Case{"SELECT DISTINCT c.n, c.x FROM c ORDER BY c.x", 120},
          Case{"SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n OFFSET 20 LIMIT 50", 50}}) {
        std::vector<std::string> rows;
        std::string token;
        do {
            QueryRequest request;
            request.text = one.text;
            request.items_max = 17;
            request.continuation = token;
            const auto page = engine.query(*first, request);
            ASSERT_TRUE(page.ok()) << one.text << page.error().message;
            for (const auto row : page->rows) rows.emplace_back(row);
            token = page->continuation;
            // Long enough for what was kept between pages to go.
            test.clock().advance_seconds(600);
            for (auto more = test.catalog().carry_out_index_changes(); more.ok() && *more;)
                more = test.catalog().carry_out_index_changes();
            const auto now = test.catalog().find_container("d", "c");
            const auto& ranges = now->ranges->ranges;
            RangeChange change;
            change.container = now->rid;
            if (ranges.size() > 3)
                change.range_ids = {ranges[round % 3].id, ranges[round % 3 + 1].id};
            else
                change.range_ids = {ranges[round % ranges.size()].id};
            ++round;
            catalog::RangeProgress progress;
            const auto changed = test.catalog().change_ranges(change, progress);
            ASSERT_TRUE(changed.ok()) << changed.error().message;
        } while (!token.empty());
        EXPECT_EQ(rows.size(), one.rows) << one.text;
        EXPECT_EQ(std::set<std::string>(rows.begin(), rows.end()).size(), rows.size()) << one.text;
    }
    // One page takes the first that come, and looks no further.
    QueryRequest request;
    request.text = "SELECT DISTINCT TOP 5 VALUE c.n FROM c";
    const auto page = engine.query(*first, request);
    ASSERT_TRUE(page.ok());
    EXPECT_EQ(page->rows.size(), 5U);
    EXPECT_TRUE(page->continuation.empty());
}

/// Before a merge, two ranges numbered their commits apart: what one did early may have a higher
/// number than what the other did late. A feed from a time gives all that is newer nevertheless.
TEST(SplitTokens, FeedFromATimeBeforeAMerge) {
    TestEngine test;
    Engine& engine = test.engine();
    test.create_database("d");
    catalog::ThroughputRequest throughput;
    throughput.manual = 12'000;
    const auto container = test.create_container("d", kRangedContainer, false, throughput);
    ASSERT_EQ(container->ranges->ranges.size(), 2U);
    std::vector<std::string> keys[2];
    for (int i = 0; keys[0].size() < 3 || keys[1].size() < 3; ++i) {
        const std::string pk = "p" + std::to_string(i);
        const auto& range = container->ranges->of_epk(epk_of(*container, pk));
        keys[&range - container->ranges->ranges.data()].push_back(pk);
    }
    const auto write = [&](int range, const std::string& id, int count) {
        for (int i = 0; i < count; ++i)
            ASSERT_TRUE(
                put(engine, container, keys[range][0], id + std::to_string(i), i).result.committed);
    };
    const int64_t start = test.clock().wall_seconds();
    write(0, "early", 40);
    test.clock().advance_seconds(100);
    write(1, "middle", 10);  // numbers 1 to 10, after 40 earlier commits of the other
    test.clock().advance_seconds(100);
    write(0, "late", 5);
    ASSERT_TRUE(test.catalog()
                    .replace_offer(test.catalog().offer_of(container->rid_text)->rid, {6'000, {}},
                                   catalog::Migrate::kNo, "")
                    .ok());
    catalog::RangeProgress progress;
    RangeChange change;
    change.container = container->rid;
    change.range_ids = {"0", "1"};
    const auto merged = test.catalog().change_ranges(change, progress);
    ASSERT_TRUE(merged.ok()) << merged.error().message;
    test.clock().advance_seconds(100);
    ASSERT_TRUE(put(engine, *merged, keys[0][0], "last", 1).result.committed);
    for (const auto& [after, expected] : std::vector<std::pair<int64_t, size_t>>{
             {-1, 56}, {50, 16}, {150, 6}, {250, 1}, {350, 0}}) {
        ChangeFeedRequest request;
        request.newer_than = start + after;
        request.items_max = 1000;
        const auto answer = engine.read_changes(**merged, request);
        ASSERT_TRUE(answer.ok());
        EXPECT_EQ(answer->changes.size(), expected) << after;
    }
}

}  // namespace
}  // namespace orrery::engine
