#include "query/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "engine/engine_test_support.h"
#include "engine/ranges_test_support.h"
#include "json/order.h"

/// Selections: what a head asks that does not speak SQL.

namespace orrery::engine {
namespace {

using catalog::RangeChange;
using json::Value;
using query::PathCondition;
using query::Selection;
using query::SelectionHint;
using query::SelectionOrder;
using namespace testing_support;

/// Keeps the ids of the items that it is shown.
class IdSink final : public query::RowSink {
public:
    void begin_page() override { ids.clear(); }
    size_t add_item(const query::ShownItem& item) override {
        json::Arena arena;
        const auto id = item.document.id(arena);
        CHECK(id.ok());
        ids.emplace_back(*id);
        return item.document.text_bytes();
    }
    size_t add_value(const Value&) override { return unexpected(); }
    size_t add_text(std::string_view) override { return unexpected(); }
    void expect(size_t, size_t) override {}
    std::vector<std::string> ids;

private:
    static size_t unexpected() {
        ADD_FAILURE() << "a selection shows items";
        return 0;
    }
};

class IsEven final : public query::ValuePredicate {
public:
    bool holds(const Value& value) const override {
        return value.is_number() && static_cast<int64_t>(value.as_double()) % 2 == 0;
    }
};

/// Lets items pass by a member of theirs, and counts what it was asked.
class LastDigit final : public query::ItemPredicate {
public:
    explicit LastDigit(char digit) : digit_(digit) {}
    Result<bool> holds(const Value& item, const json::Document&) override {
        ++asked;
        return item.member("id").as_string().back() == digit_;
    }
    int asked = 0;

private:
    const char digit_;
};

class SelectionTest : public ::testing::Test {
protected:
    static constexpr int kItems = 120;

    SelectionTest() {
        test_.create_database("d");
        first_ = test_.create_container("d", kRangedContainer);
        for (int i = 0; i < kItems; ++i) {
            const std::string pk = "p" + std::to_string(i % 17);
            CHECK(put(engine(), first_, pk, id_of(i), i % 10).result.committed);
            places_[id_of(i)] = {epk_of(*first_, pk), i % 10};
        }
    }

    static std::string id_of(int i) { return "i" + std::to_string(100 + i); }
    Engine& engine() { return test_.engine(); }

    void split() {
        const auto now = test_.catalog().find_container("d", "c");
        RangeChange wanted;
        wanted.container = now->rid;
        wanted.range_ids = {now->ranges->ranges[splits_++ % now->ranges->ranges.size()].id};
        catalog::RangeProgress progress;
        const auto changed = test_.catalog().change_ranges(wanted, progress);
        ASSERT_TRUE(changed.ok()) << changed.error().message;
    }

    Selection selection(query::RowSink& sink, const partition::EpkRange& range = {}) {
        Selection out{.scope = {.sources = {},
                                .range = range,
                                .full_epk = {},
                                .clock = test_.clock(),
                                .position = {},
                                .rows = sink,
                                .rows_max = 1000,
                                .deadline_us = INT64_MAX,
                                .cancelled = {}},
                      .conditions = {},
                      .order = {},
                      .keys = {},
                      .hint = {}};
        const auto routed = engine().route(*first_);
        CHECK(routed.ok());
        routed_ = routed->container;
        for (const auto* one : routed->container->ranges->overlapping(range))
            out.scope.sources.push_back({one->partition.get(), routed->view, routed->settings});
        return out;
    }

    using Prepare = std::function<void(Selection&)>;
    /// All pages. `between`: called after the second.
    std::vector<std::string> pages(const Prepare& prepare, uint32_t rows,
                                   const std::function<void()>& between = {}) {
        std::vector<std::string> out;
        std::string position;
        for (int page = 0;; ++page) {
            IdSink sink;
            Selection one = selection(sink);
            one.scope.rows_max = rows;
            one.scope.position = position;
            prepare(one);
            const auto answer = query::select_page(one);
            if (!answer.ok()) {
                ADD_FAILURE() << answer.error().message;
                return out;
            }
            EXPECT_LE(sink.ids.size(), rows);
            EXPECT_EQ(answer->row_count, sink.ids.size());
            out.insert(out.end(), sink.ids.begin(), sink.ids.end());
            position = answer->position;
            if (position.empty()) return out;
            if (page == 1 && between) between();
        }
    }

    /// Ids for which it holds, in the primary order.
    std::vector<std::string> primary(const std::function<bool(const std::string&, int)>& holds) {
        std::vector<std::string> out;
        for (const auto& [id, place] : places_)
            if (holds(id, place.second)) out.push_back(id);
        std::sort(out.begin(), out.end(), [&](const std::string& a, const std::string& b) {
            return std::pair(places_[a].first, a) < std::pair(places_[b].first, b);
        });
        return out;
    }
    static std::vector<std::string> sorted(std::vector<std::string> ids) {
        std::sort(ids.begin(), ids.end());
        return ids;
    }
    static PathCondition on(const char* member, PathCondition::Kind kind) {
        PathCondition out;
        out.kind = kind;
        out.path = {{false, member}};
        return out;
    }
    static PathCondition n_is(std::vector<int> numbers) {
        PathCondition out = on("n", PathCondition::Kind::kOneOf);
        for (const int number : numbers) out.values.push_back(Value::integer(number));
        return out;
    }
    static PathCondition n_between(int lower, int upper, bool inclusive) {
        PathCondition out = on("n", PathCondition::Kind::kRange);
        out.lower = {Value::integer(lower), inclusive};
        out.upper = {Value::integer(upper), inclusive};
        return out;
    }

    TestEngine test_;
    catalog::ContainerPtr first_;
    catalog::ContainerPtr routed_;
    std::map<std::string, std::pair<std::string, int>> places_;  ///< EPK and n, by id
    size_t splits_ = 0;
};

TEST_F(SelectionTest, ConditionsFindWhatItemsSay) {
    const IsEven even;
    PathCondition tested = on("n", PathCondition::Kind::kTested);
    tested.test = &even;
    PathCondition other_type = on("n", PathCondition::Kind::kOneOf);
    other_type.values = {Value::string("5")};
    PathCondition named = on("id", PathCondition::Kind::kOneOf);
    const std::string third = id_of(3);
    const std::string last = id_of(44);
    named.values = {Value::string(third), Value::string(last)};
    struct Case {
        std::vector<query::AnyCondition> conditions;
        std::function<bool(const std::string&, int)> holds;
    };
    const std::vector<Case> cases = {
        {{}, [](const std::string&, int) { return true; }},
        {{{n_is({5})}}, [](const std::string&, int n) { return n == 5; }},
        {{{n_is({5, 7})}}, [](const std::string&, int n) { return n == 5 || n == 7; }},
        {{{n_between(2, 5, true)}}, [](const std::string&, int n) { return n >= 2 && n <= 5; }},
        {{{n_between(2, 5, false)}}, [](const std::string&, int n) { return n > 2 && n < 5; }},
        {{{tested}}, [](const std::string&, int n) { return n % 2 == 0; }},
        {{{other_type}}, [](const std::string&, int) { return false; }},
        {{{on("missing", PathCondition::Kind::kDefined)}},
         [](const std::string&, int) { return false; }},
        {{{n_is({1}), named}},
         [](const std::string& id, int n) { return n == 1 || id == id_of(3) || id == id_of(44); }},
        {{{n_between(0, 4, true)}, {named, n_is({4})}},
         [](const std::string& id, int n) {
             return n <= 4 && (n == 4 || id == id_of(3) || id == id_of(44));
         }},
    };
    for (int ranges = 1; ranges <= 3; ++ranges) {
        for (size_t i = 0; i < cases.size(); ++i)
            for (const bool use_index : {true, false})
                for (const uint32_t rows : {3U, 1000U}) {
                    const auto found = pages(
                        [&](Selection& one) {
                            one.conditions = cases[i].conditions;
                            one.scope.use_index = use_index;
                        },
                        rows);
                    EXPECT_EQ(sorted(found), sorted(primary(cases[i].holds)))
                        << "case " << i << ", " << ranges << " ranges, index " << use_index
                        << ", pages of " << rows;
                }
        ASSERT_NO_FATAL_FAILURE(split());
    }
}

TEST_F(SelectionTest, ThePrimaryOrderGoesBothWaysThroughSplits) {
    const auto all = primary([](const std::string&, int) { return true; });
    for (const bool backward : {false, true}) {
        auto expected = all;
        if (backward) std::reverse(expected.begin(), expected.end());
        for (const uint32_t rows : {1U, 7U, 1000U})
            EXPECT_EQ(pages(
                          [&](Selection& one) {
                              one.order.kind = SelectionOrder::Kind::kPrimary;
                              one.order.backward = backward;
                          },
                          rows, [&] { split(); }),
                      expected)
                << backward << " " << rows;
    }
    // With conditions, and of few ids.
    query::IdBounds bounds{id_of(20), id_of(60), false, true};
    const auto some = primary(
        [&](const std::string& id, int n) { return n < 5 && id > id_of(20) && id <= id_of(60); });
    EXPECT_FALSE(some.empty());
    EXPECT_EQ(pages(
                  [&](Selection& one) {
                      one.order.kind = SelectionOrder::Kind::kPrimary;
                      one.order.ids = bounds;
                      one.conditions = {{n_between(0, 4, true)}};
                  },
                  4),
              some);
}

TEST_F(SelectionTest, IdsInsideOneKeyAreARange) {
    ASSERT_NO_FATAL_FAILURE(split());
    const std::string epk = places_[id_of(3)].first;
    const auto in_key = primary([&](const std::string& id, int) {
        return places_[id].first == epk && id >= id_of(20) && id < id_of(88);
    });
    ASSERT_GE(in_key.size(), 3U);
    for (const bool backward : {false, true}) {
        auto expected = in_key;
        if (backward) std::reverse(expected.begin(), expected.end());
        std::string position;
        std::vector<std::string> found;
        uint64_t candidates = 0;
        do {
            IdSink sink;
            Selection one = selection(sink, partition::range_of_key(epk));
            one.scope.full_epk = epk;
            one.scope.position = position;
            one.scope.rows_max = 2;
            one.order.kind = SelectionOrder::Kind::kPrimary;
            one.order.backward = backward;
            one.order.ids = {id_of(20), id_of(88), true, false};
            const auto answer = query::select_page(one);
            ASSERT_TRUE(answer.ok()) << answer.error().message;
            for (const auto& access : answer->accesses) {
                EXPECT_EQ(access.access, "primary order");
                candidates = std::max(candidates, access.candidates);
            }
            found.insert(found.end(), sink.ids.begin(), sink.ids.end());
            position = answer->position;
        } while (!position.empty());
        EXPECT_EQ(found, expected);
        EXPECT_LE(candidates, in_key.size());
    }
}

TEST_F(SelectionTest, OrdersByPathsSkipAndLimit) {
    for (const bool descending : {false, true}) {
        for (const uint32_t rows : {4U, 1000U}) {
            const auto found = pages(
                [&](Selection& one) {
                    one.order.kind = SelectionOrder::Kind::kPaths;
                    one.order.keys = {{{{false, "n"}}, descending}};
                    one.conditions = {{n_between(2, 8, true)}};
                    one.skip = 5;
                    one.limit = 50;
                },
                rows, [&] { split(); });
            ASSERT_EQ(found.size(), 50U);
            EXPECT_EQ(std::set<std::string>(found.begin(), found.end()).size(), 50U);
            std::vector<int> numbers;
            for (const std::string& id : found) numbers.push_back(places_[id].second);
            if (descending) std::reverse(numbers.begin(), numbers.end());
            EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
            // Twelve of each number, five are skipped.
            EXPECT_EQ(std::count(numbers.begin(), numbers.end(), descending ? 8 : 2), 7);
        }
    }
}

TEST_F(SelectionTest, ListsOfKeysAreReadInTheirOrder) {
    ASSERT_NO_FATAL_FAILURE(split());
    const std::vector<std::string> wanted = {id_of(70), id_of(2), id_of(33), id_of(90), id_of(1)};
    std::vector<query::ItemKey> keys;
    for (const std::string& id : wanted) keys.push_back({places_[id].first, id});
    keys.insert(keys.begin() + 2, {places_[id_of(4)].first, "none"});
    const auto all = pages([&](Selection& one) { one.keys = keys; }, 2, [&] { split(); });
    EXPECT_EQ(all, wanted);
    const auto some = pages(
        [&](Selection& one) {
            one.keys = keys;
            one.conditions = {{n_is({0, 1})}};
        },
        2);
    EXPECT_EQ(some, (std::vector<std::string>{id_of(70), id_of(90), id_of(1)}));
}

TEST_F(SelectionTest, ResidualsSeeWhatTheIndexLeft) {
    LastDigit residual('4');
    const auto found = pages(
        [&](Selection& one) {
            one.conditions = {{n_is({4, 5})}};
            one.residual = &residual;
        },
        5);
    EXPECT_EQ(sorted(found), sorted(primary([](const std::string&, int n) { return n == 4; })));
    EXPECT_GE(residual.asked, 24);
    EXPECT_LE(residual.asked, 24 + 3);  // at the end of a full page once more
}

TEST_F(SelectionTest, HintsSayWhatFindsItems) {
    const auto access = [&](const SelectionHint& hint) {
        IdSink sink;
        Selection one = selection(sink);
        one.scope.explain = true;
        PathCondition named = on("id", PathCondition::Kind::kOneOf);
        const std::string fourteenth = id_of(14);
        named.values = {Value::string(fourteenth)};
        one.conditions = {{n_is({4})}, {named}};
        one.hint = hint;
        const auto answer = query::select_page(one);
        CHECK(answer.ok());
        EXPECT_EQ(sink.ids, std::vector<std::string>{id_of(14)});
        return answer->accesses.at(0).access + " " + answer->accesses.at(0).detail;
    };
    EXPECT_EQ(access({SelectionHint::Kind::kScan, {}}), "scan every item");
    EXPECT_EQ(access({SelectionHint::Kind::kPath, {{false, "n"}}}), "index /n");
    EXPECT_EQ(access({SelectionHint::Kind::kPath, {{false, "id"}}}), "index /id");
}

/// Each range has its own view and its own settings.
TEST_F(SelectionTest, RangesStandAlone) {
    ASSERT_NO_FATAL_FAILURE(split());
    IdSink before;
    const Selection old = selection(before);
    ASSERT_EQ(old.scope.sources.size(), 2U);
    for (int i = 0; i < kItems; ++i)
        ASSERT_TRUE(
            put(engine(), first_, "p" + std::to_string(i % 17), "new" + std::to_string(i), 5)
                .result.committed);
    IdSink sink;
    Selection mixed = selection(sink);
    mixed.conditions = {{n_is({5})}};
    auto other = std::make_shared<partition::ContainerSettings>(*mixed.scope.sources[1].settings);
    other->indexing.mode = index::IndexingMode::kNone;
    mixed.scope.sources[0].view = old.scope.sources[0].view;
    mixed.scope.sources[1].settings = other;
    const auto answer = query::select_page(mixed);
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    ASSERT_EQ(answer->accesses.size(), 2U);
    EXPECT_EQ(answer->accesses[0].access, "index");
    EXPECT_EQ(answer->accesses[1].access, "scan");
    std::vector<std::string> expected;
    const auto& second = mixed.scope.sources[1].partition->identity().range;
    for (const auto& [id, place] : places_)
        if (place.second == 5) expected.push_back(id);
    for (int i = 0; i < kItems; ++i)
        if (second.contains(epk_of(*first_, "p" + std::to_string(i % 17))))
            expected.push_back("new" + std::to_string(i));
    EXPECT_EQ(sorted(sink.ids), sorted(expected));
}

/// The same work is counted as for the query that says the same.
TEST_F(SelectionTest, WorkIsCountedAsForSql) {
    ASSERT_NO_FATAL_FAILURE(split());
    IdSink sink;
    Selection one = selection(sink);
    one.conditions = {{n_is({5})}};
    const auto found = query::select_page(one);
    ASSERT_TRUE(found.ok());
    QueryRequest request;
    request.text = "SELECT * FROM c WHERE c.n = 5";
    request.items_max = 1000;
    const auto answer = engine().query(*first_, request);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(found->row_count, answer->page.row_count);
    EXPECT_EQ(found->retrieved_bytes, answer->page.retrieved_bytes);
    EXPECT_EQ(found->returned_bytes, answer->page.returned_bytes);
    ASSERT_EQ(found->work.size(), answer->page.work.size());
    for (size_t i = 0; i < found->work.size(); ++i) {
        EXPECT_EQ(found->work[i].seeks, answer->page.work[i].seeks);
        EXPECT_EQ(found->work[i].loaded_items, answer->page.work[i].loaded_items);
        EXPECT_EQ(found->work[i].index_entries, answer->page.work[i].index_entries);
    }
}

}  // namespace
}  // namespace orrery::engine
