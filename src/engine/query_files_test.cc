#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/rounds_test_support.h"
#include "engine/query_reference_test_support.h"
#include "engine/query_test_support.h"
#include "json/order.h"
#include "query/parse/parser.h"
#include "query/query_file_test_support.h"

// Runs tests/query/*.test through the engine: items in a store, rows by pages. One partition,
// several partitions and a container without index must give the rows in the files; in builds with
// a sanitizer, each case is run in one of these.
namespace orrery::engine {
namespace {

using query::testing_support::FileStep;
using query::testing_support::QueryFile;
using testing_support::compare_rows;
using testing_support::kUnlimitedPage;
using testing_support::QueryContainer;
using testing_support::QueryContainerSpec;
using testing_support::QueryOptions;
using testing_support::QueryOutcome;
using testing_support::Reference;
using testing_support::ReferenceRun;
using testing_support::TestEngine;

enum class Setup { kOnePartition, kSeveralPartitions, kNoIndex };
constexpr size_t kSetups = 3;

struct Tally {
    size_t cases = 0;  ///< in the files
    size_t taken = 0;  ///< of these, run in this setup
    size_t refused = 0;
};

/// Composite indexes for every ORDER BY of the file with several keys, so that it can run.
std::string composite_indexes(const std::vector<FileStep>& steps) {
    std::set<std::string> out;
    for (const FileStep& step : steps) {
        if (step.kind != FileStep::Kind::kQuery) continue;
        auto syntax = query::parse_query(step.text);
        if (!syntax.ok() || (*syntax)->query->order_by.size() < 2) continue;
        std::vector<std::string> paths;
        for (const auto& item : (*syntax)->query->order_by) {
            std::string path;
            for (const auto& s : item.expr->steps) path += "/" + std::string(s.name);
            const bool descending = item.direction == query::ast::Direction::kDescending;
            paths.push_back(R"({"path":")" + path + R"(","order":")" +
                            (descending ? "descending" : "ascending") + "\"}");
        }
        out.insert("[" + QueryFile::joined(paths, ",") + "]");
    }
    return QueryFile::joined({out.begin(), out.end()}, ",");
}

/// Without what the server adds to items.
json::Value without_system_properties(const json::Value& value, json::Arena& arena) {
    if (value.is_array()) {
        std::vector<json::Value> elements;
        for (const json::Value& element : value.elements())
            elements.push_back(without_system_properties(element, arena));
        return json::Value::array(arena.copy(std::span<const json::Value>(elements)));
    }
    if (!value.is_object()) return value;
    const bool item = value.member("_rid").is_string() && value.member("_self").is_string();
    std::vector<json::Member> members;
    for (const json::Member& member : value.members()) {
        if (item && json::is_system_property(member.name)) continue;
        members.push_back({member.name, without_system_properties(member.value, arena)});
    }
    return json::Value::object(arena.copy(std::span<const json::Member>(members)));
}

std::string canonical(const std::string& text, bool any_order) {
    json::Arena arena;
    json::Value value = without_system_properties(testing_support::parse_json(text, arena), arena);
    if (any_order && value.is_array()) {
        std::vector<json::Value> elements(value.elements().begin(), value.elements().end());
        std::sort(elements.begin(), elements.end(), [](const json::Value& a, const json::Value& b) {
            return json::compare(a, b) < 0;
        });
        value = json::Value::array(arena.copy(std::span<const json::Value>(elements)));
    }
    return json::to_text(value, json::NumberForm::kCanonical);
}

class Runner {
public:
    Runner(TestEngine& engine, Setup setup, const std::vector<FileStep>& steps, Tally& tally)
        : engine_(engine), setup_(setup), tally_(tally) {
        spec_.several_partitions = setup == Setup::kSeveralPartitions;
        if (setup == Setup::kNoIndex) {
            spec_.indexing_policy = R"({"indexingMode":"none","automatic":false})";
        } else {
            spec_.indexing_policy = R"({"includedPaths":[{"path":"/*"}],"compositeIndexes":[)" +
                                    composite_indexes(steps) +
                                    R"(],"spatialIndexes":[{"path":"/*"}]})";
        }
        for (const FileStep& step : steps) run(step);
        clear();
    }

private:
    void run(const FileStep& step) {
        using Kind = FileStep::Kind;
        where_ = step.where;
        switch (step.kind) {
            case Kind::kContainer:
                if (step.text.starts_with("pk="))
                    spec_.partition_key =
                        R"({"paths":[")" + step.text.substr(3) + R"("],"kind":"Hash","version":2})";
                return;
            case Kind::kItem:
                return add(step.text);
            case Kind::kClear:
                return clear();
            case Kind::kParameters:
                parameters_ = step.text;
                return;
            case Kind::kQuery:
            case Kind::kError:
            case Kind::kExpression:
                if (takes_turn(tally_.cases++, static_cast<size_t>(setup_), kSetups)) {
                    ++tally_.taken;
                    run_case(step);
                }
                return;
            case Kind::kBroken:
                FAIL() << where_ << ": " << step.text;
        }
    }
    void run_case(const FileStep& step) {
        using Kind = FileStep::Kind;
        if (step.kind == Kind::kQuery) return check(all(), step.text, step.rows);
        if (step.kind == Kind::kError) return check_error(step);
        check(first(), "SELECT VALUE " + step.text + " FROM c",
              step.rows[0] == "undefined" ? std::vector<std::string>() : step.rows);
    }

    QueryContainer& open(std::optional<QueryContainer>& container) {
        if (!container) container = QueryContainer::create(engine_, spec_);
        CHECK(container.has_value());
        return *container;
    }
    QueryContainer& all() { return open(all_); }
    QueryContainer& first() {
        const bool fresh = !first_.has_value();
        QueryContainer& container = open(first_);
        if (fresh) {
            EXPECT_TRUE(container.upsert(items_ == 0 ? R"({"id":"1"})" : first_item_)) << where_;
        }
        return container;
    }
    void add(const std::string& item) {
        if (items_++ == 0) first_item_ = item;
        EXPECT_TRUE(all().upsert(item)) << where_ << ": " << item;
    }
    void clear() {
        for (auto* container : {&all_, &first_}) {
            if (*container) (*container)->drop();
            container->reset();
        }
        items_ = 0;
    }

    void check(QueryContainer& container, const std::string& text, std::vector<std::string> rows) {
        const std::vector<std::string> items = container.items();
        const Reference reference = ReferenceRun(items, parameters_).run(text);
        ASSERT_FALSE(reference.error) << where_ << ": " << *reference.error;
        const bool lists = text.find("MAKE") != std::string::npos;  // of elements in any order
        for (std::string& row : rows) row = canonical(row, lists);
        std::sort(rows.begin(), rows.end());
        constexpr std::array kPageRows = {3u, 1u, kUnlimitedPage};
        for (const uint32_t page_rows :
             std::span(kPageRows).first(orrery::rounds(kPageRows.size()))) {
            QueryOptions options;
            options.page_rows = page_rows;
            options.parameters = parameters_;
            const QueryOutcome outcome = container.query(text, options);
            if (outcome.error && setup_ == Setup::kNoIndex && reference.sort_keys > 0) {
                ++tally_.refused;  // an order that no index serves
                return;
            }
            ASSERT_FALSE(outcome.error) << where_ << ": " << text << "\n" << *outcome.error;
            if (!lists) {
                EXPECT_EQ(compare_rows(reference, outcome.rows), "") << where_ << ": " << text;
            }
            const bool window_without_order =
                !reference.ordered && (reference.offset > 0 || reference.limit < UINT32_MAX);
            if (window_without_order) continue;
            std::vector<std::string> actual;
            for (const std::string& row : outcome.rows) actual.push_back(canonical(row, lists));
            std::sort(actual.begin(), actual.end());
            EXPECT_EQ(QueryFile::joined(actual, "\n"), QueryFile::joined(rows, "\n"))
                << where_ << ": " << text;
        }
    }

    void check_error(const FileStep& step) {
        QueryOptions options;
        options.parameters = parameters_;
        const QueryOutcome outcome = all().query(step.text, options);
        ASSERT_TRUE(outcome.error) << where_ << ": accepted " << step.text;
        EXPECT_NE(outcome.error->find(step.rows[0]), std::string::npos)
            << where_ << ": " << step.text << "\n"
            << *outcome.error;
    }

    TestEngine& engine_;
    const Setup setup_;
    Tally& tally_;
    QueryContainerSpec spec_;
    std::optional<QueryContainer> all_;
    std::optional<QueryContainer> first_;  // holds the first item only
    size_t items_ = 0;
    std::string first_item_;
    std::string parameters_ = "null";
    std::string where_;
};

void run_all(Setup setup) {
    TestEngine engine;
    Tally tally;
    for (const auto& path : QueryFile::list(ORRERY_QUERY_TESTS)) {
        const size_t cases_before = tally.cases;
        const Runner runner(engine, setup, QueryFile(path).read(), tally);
        EXPECT_GT(tally.cases, cases_before) << path;
    }
    EXPECT_GT(tally.taken, 0u) << "no test files in " << ORRERY_QUERY_TESTS;
    EXPECT_LT(tally.refused * 10, tally.taken) << "too many queries are refused without index";
    std::printf("%zu of %zu cases, %zu refused without index\n", tally.taken, tally.cases,
                tally.refused);
}

TEST(QueryFiles, OnePartition) {
    run_all(Setup::kOnePartition);
}

TEST(QueryFiles, SeveralPartitions) {
    run_all(Setup::kSeveralPartitions);
}

TEST(QueryFiles, NoIndex) {
    run_all(Setup::kNoIndex);
}

}  // namespace
}  // namespace orrery::engine
