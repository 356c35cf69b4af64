#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/rounds_test_support.h"
#include "engine/query_generator_test_support.h"
#include "engine/query_reference_test_support.h"
#include "engine/query_test_support.h"

// Items change between the pages of a query. Whatever happens to those: every other item that
// matches comes exactly once and in order.
namespace orrery::engine {
namespace {

using testing_support::QueryContainer;
using testing_support::QueryContainerSpec;
using testing_support::QueryGenerator;
using testing_support::QueryOptions;
using testing_support::QueryOutcome;
using testing_support::Reference;
using testing_support::ReferenceRun;
using testing_support::TestEngine;

constexpr uint64_t kIds = 60;

/// A container and what is in it.
class World {
public:
    World(TestEngine& engine, uint64_t seed) : random_(seed), engine_(engine) {
        bool composites = false;
        QueryContainerSpec spec;
        spec.partition_key = random_.key_definition();
        spec.indexing_policy = random_.policy(composites, complete_);
        spec.several_partitions = random_.chance(50);
        container_ = QueryContainer::create(engine, spec);
        CHECK(container_.has_value());
        for (uint64_t n = random_.below(kIds); n > 0; --n) change(random_.below(kIds));
    }
    ~World() { container_->drop(); }

    /// What is wrong with the answer; empty: nothing. `trace` tells what happened.
    std::string check(std::string& trace) {
        const auto asked = random_.id_query();
        const std::vector<std::string> items = container_->items();
        trace = asked.text + "   " + asked.parameters;
        for (const std::string& row : items) trace += "\n" + row.substr(0, row.find(",\"_rid"));
        QueryOptions options;
        options.parameters = asked.parameters;
        options.page_rows = static_cast<uint32_t>(random_.below(6) + 1);
        Reference reference = ReferenceRun(items, asked.parameters).run(asked.text);
        if (reference.error) return *reference.error;

        std::set<std::string> changed;  // ids as rows show them
        QueryOutcome outcome;
        size_t shown = 0;
        do {
            container_->next_page(asked.text, options, outcome);
            if (outcome.error) return reference.sort_keys > 0 && !complete_ ? "" : *outcome.error;
            if (outcome.pages > 1000) return "it does not end";
            trace += "\npage of";
            for (; shown < outcome.rows.size(); ++shown) trace += " " + outcome.rows[shown];
            for (const std::string& access : outcome.accesses) trace += ", " + access;
            outcome.accesses.clear();
            for (uint64_t n = random_.below(3); n > 0; --n) {
                const uint64_t id = random_.below(kIds);
                change(id);
                trace += "\nchange i" + std::to_string(id);
                changed.insert("\"i" + std::to_string(id) + "\"");
            }
            if (random_.chance(5)) CHECK(engine_.engine().store().flush().ok());
        } while (!outcome.continuation.empty());

        for (size_t i = reference.rows.size(); i-- > 0;) {
            if (!changed.contains(reference.rows[i])) continue;
            reference.rows.erase(reference.rows.begin() + static_cast<ptrdiff_t>(i));
            if (reference.ordered)
                reference.keys.erase(reference.keys.begin() + static_cast<ptrdiff_t>(i));
        }
        std::erase_if(outcome.rows, [&](const std::string& row) { return changed.contains(row); });
        return testing_support::compare_rows(reference, outcome.rows);
    }

private:
    void change(uint64_t id) {
        const auto known = bodies_.find(id);
        if (known != bodies_.end() && random_.chance(60)) {
            CHECK(container_->remove(known->second));
            bodies_.erase(known);
            return;
        }
        if (known != bodies_.end()) {
            // Under another key it would be another item with the same id.
            CHECK(container_->remove(known->second));
        }
        bodies_[id] = random_.item(id, false);
        CHECK(container_->upsert(bodies_[id]));
    }

    QueryGenerator random_;
    TestEngine& engine_;
    bool complete_ = false;
    std::optional<QueryContainer> container_;
    std::map<uint64_t, std::string> bodies_;
};

/// False after a difference.
bool run(TestEngine& engine, uint64_t seed) {
    World world(engine, seed);
    for (int i = 0; i < 15; ++i) {
        std::string trace;
        const std::string wrong = world.check(trace);
        EXPECT_EQ(wrong, "") << "seed " << seed << ", query " << i << "\n" << trace;
        if (!wrong.empty()) return false;
    }
    return true;
}

TEST(QueryPaging, ItemsThatStayComeOnce) {
    constexpr uint64_t kRounds = orrery::rounds(40u);
    constexpr int kFailuresMax = 5;
    const char* rounds_text = std::getenv("ORRERY_PAGING_ROUNDS");
    const uint64_t rounds =
        rounds_text == nullptr ? kRounds : std::strtoull(rounds_text, nullptr, 10);
    std::unique_ptr<TestEngine> engine;
    int failures = 0;
    for (uint64_t seed = 1; seed <= rounds && failures < kFailuresMax; ++seed) {
        if (seed % 100 == 1) engine = std::make_unique<TestEngine>();
        if (!run(*engine, seed)) ++failures;
    }
}

/// More than a sort keeps at hand: the rest is read again when it is shown.
TEST(QueryPaging, LargeItemsAreSorted) {
    constexpr int kItems = 12;
    TestEngine engine;
    auto container = QueryContainer::create(engine, {});
    ASSERT_TRUE(container.has_value());
    for (int i = 0; i < kItems; ++i) {
        const int place = i * 7 % kItems;
        // The first bytes, which are all that the index has of the text, are the same in all.
        ASSERT_TRUE(container->upsert(
            R"({"id":")" + std::to_string(i) + R"(","n":)" + std::to_string(place) +
            R"(,"text":")" + std::string(1'900'000, 'x') + static_cast<char>('a' + place) + "\"}"));
    }
    for (const char* text :
         {"SELECT VALUE c.n FROM c ORDER BY c.n", "SELECT VALUE c.n FROM c ORDER BY c.text",
          "SELECT VALUE c.n FROM c ORDER BY c.missing DESC"}) {
        std::vector<std::string> first;
        for (const bool use_index : {true, false}) {
            for (const uint32_t page_rows : {5U, 100U}) {
                QueryOptions options;
                options.use_index = use_index;
                options.page_rows = page_rows;
                const QueryOutcome outcome = container->query(text, options);
                ASSERT_FALSE(outcome.error) << text << " " << *outcome.error;
                if (first.empty()) first = outcome.rows;
                EXPECT_EQ(outcome.rows, first) << text << " " << use_index << " " << page_rows;
                EXPECT_EQ(std::set<std::string>(first.begin(), first.end()).size(), size_t{kItems});
            }
        }
        if (std::string_view(text).ends_with("missing DESC")) continue;
        for (int i = 0; i < kItems; ++i)
            EXPECT_EQ(first[static_cast<size_t>(i)], std::to_string(i));
    }
    container->drop();
}

TEST(QueryPaging, NoPageIsLongerThanItMayBe) {
    constexpr int kItems = 6;
    TestEngine engine;
    auto container = QueryContainer::create(engine, {});
    ASSERT_TRUE(container.has_value());
    for (int i = 0; i < kItems; ++i)
        ASSERT_TRUE(container->upsert(R"({"id":")" + std::to_string(i) + R"(","n":)" +
                                      std::to_string(i) + R"(,"text":")" +
                                      std::string(1'900'000, static_cast<char>('a' + i)) + "\"}"));
    for (const char* text :
         {"SELECT * FROM c", "SELECT * FROM c WHERE c.n >= 0", "SELECT * FROM c ORDER BY c.n",
          "SELECT * FROM c ORDER BY c.missing", "SELECT DISTINCT VALUE c.text FROM c"}) {
        const QueryOutcome outcome = container->query(text, {});
        ASSERT_FALSE(outcome.error) << text << " " << *outcome.error;
        EXPECT_EQ(std::set<std::string>(outcome.rows.begin(), outcome.rows.end()).size(),
                  size_t{kItems})
            << text;
        EXPECT_EQ(outcome.rows.size(), size_t{kItems}) << text;
        // Two of them have less than 4 MB, three have not.
        EXPECT_EQ(outcome.pages, size_t{kItems} / 2) << text;
    }
    container->drop();
}

}  // namespace
}  // namespace orrery::engine
