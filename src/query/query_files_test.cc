#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "json/parse.h"
#include "json/problems.h"
#include "json/write.h"
#include "query/parse/parser.h"
#include "query/parse/printer.h"
#include "query/query.h"
#include "query/query_file_test_support.h"

// Runs tests/query/*.test over an in-memory list of items: the evaluator alone.
namespace orrery::query {
namespace {

using testing_support::FileStep;
using testing_support::QueryFile;

class Runner {
public:
    size_t cases = 0;

    void run(const FileStep& step) {
        using Kind = FileStep::Kind;
        where_ = step.where;
        switch (step.kind) {
            case Kind::kContainer:
                return;
            case Kind::kItem:
                items_.push_back(step.text);
                return;
            case Kind::kClear:
                items_.clear();
                return;
            case Kind::kParameters:
                parameters_ = step.text;
                return;
            case Kind::kQuery:
                return query_case(step);
            case Kind::kError:
                return error_case(step);
            case Kind::kExpression:
                return expression_case(step);
            case Kind::kBroken:
                FAIL() << where_ << ": " << step.text;
        }
    }

private:
    void query_case(const FileStep& step) {
        std::vector<std::string> expected;
        for (const std::string& row : step.rows) expected.push_back(canonical(row));
        std::string error;
        std::vector<std::string> actual = execute(step.text, items_, error);
        if (!step.ordered) {
            std::sort(expected.begin(), expected.end());
            std::sort(actual.begin(), actual.end());
        }
        EXPECT_EQ(error, "") << where_ << ": " << step.text;
        EXPECT_EQ(QueryFile::joined(actual, "\n"), QueryFile::joined(expected, "\n"))
            << where_ << ": " << step.text;
        ++cases;
    }

    void error_case(const FileStep& step) {
        std::string error;
        execute(step.text, items_, error);
        EXPECT_NE(error, "") << where_ << ": accepted " << step.text;
        EXPECT_NE(error.find(step.rows[0]), std::string::npos)
            << where_ << ": " << step.text << "\n"
            << error;
        ++cases;
    }

    void expression_case(const FileStep& step) {
        std::string error;
        const std::vector<std::string> one = {items_.empty() ? "{}" : items_.front()};
        const auto rows = execute("SELECT VALUE " + step.text + " FROM c", one, error);
        EXPECT_EQ(error, "") << where_ << ": " << step.text;
        EXPECT_EQ(QueryFile::joined(rows, " "),
                  step.rows[0] == "undefined" ? "" : canonical(step.rows[0]))
            << where_ << ": " << step.text;
        ++cases;
    }

    std::string canonical(const std::string& json) const {
        json::Arena arena;
        auto value = json::parse(json, arena);
        EXPECT_TRUE(value.ok()) << where_ << ": not JSON: " << json;
        return value.ok() ? json::to_text(*value, json::NumberForm::kCanonical) : "";
    }

    /// Also checks that the printed query parses to the same tree.
    std::vector<std::string> execute(const std::string& text, const std::vector<std::string>& over,
                                     std::string& error) {
        std::vector<std::string> out;
        auto query = compile(text);
        if (!query.ok()) {
            error = json::error_text(query.error());
            return out;
        }
        if (const Status runnable = (*query)->check_runnable(); !runnable.ok()) {
            error = json::error_text(runnable.error());
            return out;
        }
        for (const PrintForm form : {PrintForm::kOneLine, PrintForm::kLines}) {
            const std::string printed = to_text((*query)->syntax(), form);
            auto again = parse_query(printed);
            EXPECT_TRUE(again.ok()) << where_ << ": " << printed;
            if (again.ok()) {
                EXPECT_TRUE(ast::same((*query)->syntax(), *(*again)->query))
                    << where_ << ": " << printed;
            }
        }
        json::Arena arena;
        auto list = json::parse(parameters_, arena);
        auto bound = Parameters::bind(**query, list.ok() ? *list : json::Value());
        if (!bound.ok()) {
            error = json::error_text(bound.error());
            return out;
        }
        QueryRun run(**query, *bound);
        const auto keep = [&](std::vector<json::Value>& rows) {
            for (const json::Value& row : rows)
                out.push_back(json::to_text(row, json::NumberForm::kCanonical));
            rows.clear();
        };
        std::vector<json::Value> rows;
        for (const std::string& item : over) {
            json::Arena item_arena;  // gone before the next item
            auto value = json::parse(item, item_arena);
            EXPECT_TRUE(value.ok()) << where_ << ": not JSON: " << item;
            if (!value.ok()) continue;
            if (Status s = run.feed(*value, item_arena, rows); !s.ok()) {
                error = json::error_text(s.error());
                return out;
            }
            keep(rows);
        }
        if (Status s = run.finish(arena, rows); !s.ok()) error = json::error_text(s.error());
        keep(rows);
        return out;
    }

    std::string where_;
    std::vector<std::string> items_;
    std::string parameters_ = "null";
};

TEST(QueryFiles, All) {
    size_t files = 0;
    size_t cases = 0;
    for (const auto& path : QueryFile::list(ORRERY_QUERY_TESTS)) {
        Runner runner;
        for (const FileStep& step : QueryFile(path).read()) runner.run(step);
        EXPECT_GT(runner.cases, 0u) << path;
        cases += runner.cases;
        ++files;
    }
    EXPECT_GT(files, 0u) << "no test files in " << ORRERY_QUERY_TESTS;
    std::printf("%zu cases in %zu files\n", cases, files);
}

}  // namespace
}  // namespace orrery::query
