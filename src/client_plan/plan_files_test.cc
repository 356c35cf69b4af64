#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/ended_test_support.h"
#include "client_plan/client_plan.h"
#include "json/parse.h"
#include "json/problems.h"
#include "json/write.h"
#include "query/key_ranges.h"
#include "query/parse/parser.h"
#include "query/parse/printer.h"

// Runs tests/query/plans/*.test. A file is a list of blocks separated by blank lines; lines that
// start with # are comments.
//
//   key /a /b [v1|v2|multi]      the container's partition key for the plans below; v2 by default
//   parameters [{"name":"@x"…    for the plans below
//   plan [key] [one_range]       text, ----, the members of the plan that are not the default, then
//                                `text` and the rewritten text. `key`: the request names one key
//   error                        text, ----, a part of the message
//   ranges                       lines of `condition => keys`: `full`, `none`, or key values as
//                                JSON arrays; a shorter one than the key stands for its prefix
//                                range
//   texts                        lines of `expression => printed form`
//   unsupported                  lines of `query | features of the client => features missing`
namespace orrery::client_plan {

using namespace query;

namespace {

std::string joined(const std::vector<std::string>& parts, const char* separator) {
    return fmt::format("{}", fmt::join(parts, separator));
}

std::string shown(const QueryPlan& plan) {
    std::vector<std::string> out;
    if (plan.hybrid != nullptr) {
        const HybridPlan& hybrid = *plan.hybrid;
        if (hybrid.skip) out.push_back(fmt::format("skip {}", *hybrid.skip));
        if (hybrid.take) out.push_back(fmt::format("take {}", *hybrid.take));
        for (const double weight : hybrid.weights) out.push_back(fmt::format("weight {}", weight));
        if (!hybrid.needs_statistics) out.push_back("no statistics needed");
        out.push_back("statistics\n" + hybrid.statistics_query);
        for (const QueryPlan& component : hybrid.components)
            out.push_back("component\n" + shown(component));
        return joined(out, "\n");
    }
    if (plan.distinct != DistinctType::kNone)
        out.push_back(plan.distinct == DistinctType::kInOrder ? "distinct Ordered"
                                                              : "distinct Unordered");
    if (plan.top) out.push_back(fmt::format("top {}", *plan.top));
    if (plan.offset) out.push_back(fmt::format("offset {}", *plan.offset));
    if (plan.limit) out.push_back(fmt::format("limit {}", *plan.limit));
    for (size_t i = 0; i < plan.order_by_expressions.size(); ++i)
        out.push_back(fmt::format("order {} {}", plan.order_by_expressions[i],
                                  plan.order_by_descending.at(i) ? "Descending" : "Ascending"));
    for (const std::string& key : plan.group_by_expressions) out.push_back("group " + key);
    for (const PlanAlias& alias : plan.group_by_aliases)
        out.push_back(fmt::format("alias {} {}", alias.name,
                                  alias.aggregate ? aggregate_name(*alias.aggregate) : "-"));
    for (const AggregateKind kind : plan.aggregates)
        out.push_back(fmt::format("aggregate {}", aggregate_name(kind)));
    if (plan.has_select_value) out.push_back("value");
    if (plan.has_non_streaming_order_by) out.push_back("non-streaming");
    if (plan.dcount_alias) out.push_back(fmt::format("dcount '{}'", *plan.dcount_alias));
    if (!plan.rewritten_query.empty()) out.push_back("text\n" + plan.rewritten_query);
    return joined(out, "\n");
}

struct Runner {
    explicit Runner(const std::filesystem::path& path) : name(path.filename().string()) {
        std::ifstream in(path);
        for (std::string line; std::getline(in, line);) lines.push_back(line);
        set_key({"/pk"});
    }

    std::string where() const { return name + ":" + std::to_string(at); }

    std::string block() {
        std::vector<std::string> out;
        while (at < lines.size() && !lines[at].empty()) {
            const std::string& line = lines[at++];
            if (line == "----") break;
            if (line[0] != '#') out.push_back(line);
        }
        return joined(out, "\n");
    }

    void run() {
        while (at < lines.size()) {
            std::vector<std::string> words;
            const std::string line = lines[at++];
            if (line.empty() || line[0] == '#') continue;
            for (size_t i = 0; i < line.size();) {
                const size_t end = std::min(line.find(' ', i), line.size());
                if (end > i) words.push_back(line.substr(i, end - i));
                i = end + 1;
            }
            const std::string word = words[0];
            words.erase(words.begin());
            if (word == "key") {
                set_key(words);
            } else if (word == "parameters") {
                parameters = line.substr(word.size());
            } else if (word == "plan") {
                plan_case(words);
            } else if (word == "error") {
                error_case();
            } else if (word == "ranges" || word == "texts" || word == "unsupported") {
                table(word);
            } else {
                FAIL() << where() << ": unknown directive " << line;
            }
        }
    }

    void set_key(const std::vector<std::string>& words) {
        std::string kind = "Hash";
        int version = 2;
        std::vector<std::string> paths;
        for (const std::string& word : words) {
            if (word == "multi") kind = "MultiHash";
            if (word == "v1") version = 1;
            if (word[0] == '/') paths.push_back("\"" + word + "\"");
        }
        json::Arena arena;
        const auto parsed =
            json::parse(arena.copy(fmt::format(R"({{"paths":[{}],"kind":"{}","version":{}}})",
                                               fmt::join(paths, ","), kind, version)),
                        arena);
        ASSERT_TRUE(parsed.ok());
        auto read = partition::parse_partition_key_definition(*parsed);
        ASSERT_TRUE(read.ok()) << where() << ": " << json::error_text(read.error());
        definition = std::move(*read);
    }

    /// Compiles, binds and plans; the ranges decide whether one key is pinned, as in the server.
    Result<QueryPlan> plan(const std::string& text, PlanScope scope,
                           std::vector<KeyRange>* ranges = nullptr) {
        TRY(const auto query, compile(text));
        json::Arena arena;
        TRY(const auto list, json::parse(parameters, arena));
        TRY(const auto bound, Parameters::bind(*query, list));
        const auto found = key_ranges(*query, bound, definition);
        if (ranges != nullptr) *ranges = found;
        scope.one_key_by_filter = found.size() == 1 && found[0].is_point();
        return make_plan(*query, bound, scope);
    }

    void plan_case(const std::vector<std::string>& words) {
        PlanScope scope;
        for (const std::string& word : words) {
            scope.one_key_by_request |= word == "key";
            scope.one_range |= word == "one_range";
        }
        const std::string text = block();
        const std::string expected = block();
        const auto result = plan(text, scope);
        ASSERT_TRUE(result.ok()) << where() << ": " << text << "\n"
                                 << json::error_text(result.error());
        EXPECT_EQ(shown(*result), expected) << where() << ": " << text;
        ++cases;
        if (result->rewritten_query.empty()) return;
        // A range has to accept what a client makes of the text.
        std::string sent = result->rewritten_query;
        if (const size_t filter = sent.find(kOrderByFilter); filter != std::string::npos)
            sent.replace(filter, kOrderByFilter.size(), "true");
        const auto accepted = compile(sent);
        EXPECT_TRUE(accepted.ok()) << where() << ": " << sent << "\n"
                                   << json::error_text(accepted.error());
    }

    void error_case() {
        const std::string text = block();
        const std::string part = block();
        const auto result = plan(text, {});
        ASSERT_FALSE(result.ok()) << where() << ": accepted " << text;
        EXPECT_EQ(ended(result.error()), Ended::kBadRequest) << where();
        EXPECT_NE(json::error_text(result.error()).find(part), std::string::npos)
            << where() << ": " << text << "\n"
            << json::error_text(result.error());
        ++cases;
    }

    void table(const std::string& kind) {
        while (at < lines.size() && !lines[at].empty()) {
            const std::string line = lines[at++];
            if (line[0] == '#') continue;
            const size_t arrow = line.rfind(" => ");
            ASSERT_NE(arrow, std::string::npos) << where() << ": " << line;
            const std::string left = line.substr(0, arrow);
            const std::string right = line.substr(arrow + 4);
            ++cases;
            if (kind == "texts") {
                const auto query = parse_query("SELECT VALUE " + left);
                ASSERT_TRUE(query.ok()) << where() << ": " << json::error_text(query.error());
                EXPECT_EQ(to_text(*(*query)->query->value), right) << where();
            } else if (kind == "unsupported") {
                const size_t bar = left.rfind(" |");
                ASSERT_NE(bar, std::string::npos) << where();
                const auto result = plan(left.substr(0, bar), {});
                ASSERT_TRUE(result.ok()) << where() << ": " << json::error_text(result.error());
                const Status status = check_features(*result, left.substr(bar + 2));
                ASSERT_EQ(status.ok(), right == "none") << where();
                if (!status.ok()) {
                    EXPECT_EQ(json::error_text(status.error()),
                              "Query contains the following features, which the calling client "
                              "does not support: " +
                                  right)
                        << where();
                }
            } else {
                const bool whole = left.starts_with("SELECT ");
                ranges_case(whole ? left : "SELECT * FROM c WHERE " + left, right);
            }
        }
    }

    void ranges_case(const std::string& text, const std::string& right) {
        std::vector<KeyRange> actual;
        const auto result = plan(text, {}, &actual);
        ASSERT_TRUE(result.ok()) << where() << ": " << json::error_text(result.error());
        std::vector<KeyRange> expected;
        if (right == "full") {
            expected.push_back({"", "\xFF", false});
        } else if (right == "none") {
            expected.push_back({"", "", true});
        } else {
            json::Arena arena;
            const auto keys = json::parse(right, arena);
            ASSERT_TRUE(keys.ok() && keys->is_array()) << where() << ": " << right;
            for (const json::Value& key : keys->elements()) {
                partition::PartitionKeyComponents components;
                for (const json::Value& v : key.elements())
                    components.push_back(v.is_scalar() ? v : json::Value());
                const auto epk = partition::effective_partition_key(definition, components);
                ASSERT_TRUE(epk.ok()) << where();
                if (components.size() == definition.paths.size()) {
                    expected.push_back({*epk, *epk, true});
                } else {
                    expected.push_back({*epk, *epk + "\xFF", false});
                }
            }
            std::sort(expected.begin(), expected.end(),
                      [](const KeyRange& a, const KeyRange& b) { return a.min < b.min; });
        }
        EXPECT_EQ(actual.size(), expected.size()) << where() << ": " << text;
        EXPECT_TRUE(actual == expected) << where() << ": " << text;
    }

    const std::string name;
    std::vector<std::string> lines;
    size_t at = 0;
    partition::PartitionKeyDefinition definition;
    std::string parameters = "null";
    size_t cases = 0;
};

TEST(PlanFiles, All) {
    size_t cases = 0;
    std::vector<std::filesystem::path> paths;
    const auto folder = std::filesystem::path(ORRERY_QUERY_TESTS) / "plans";
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == ".test") paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
        Runner runner(path);
        runner.run();
        EXPECT_GT(runner.cases, 0u) << path;
        cases += runner.cases;
    }
    EXPECT_GE(cases, 120u) << "fewer cases than there were";
    std::printf("%zu cases in %zu files\n", cases, paths.size());
}

}  // namespace
}  // namespace orrery::client_plan
