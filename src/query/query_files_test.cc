#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "json/parse.h"
#include "json/write.h"
#include "query/parser.h"
#include "query/printer.h"
#include "query/query.h"

// Runs tests/query/*.test over an in-memory list of items. A file is a list of blocks separated by
// blank lines; lines that start with # are comments.
//
//   item {"id":"1"}                     adds an item for the queries below; `clear` removes all
//   parameters [{"name":"@x",...}]      for the queries below
//   query [unordered=no]                text, ----, one row a line; order counts only if asked
//   error [400]                         text, ----, a part of the message
//   expressions                         lines of `expression => JSON or undefined`, over the first
//                                       item as `c`
//   errors                              lines of `query => part of the message`
namespace orrery::query {
namespace {

struct Runner {
    explicit Runner(const std::filesystem::path& path) : name(path.filename().string()) {
        std::ifstream in(path);
        for (std::string line; std::getline(in, line);) lines.push_back(line);
    }

    std::string where() const { return name + ":" + std::to_string(at); }

    /// The lines up to a blank one (or the separator, which is consumed).
    std::vector<std::string> block(bool& separated) {
        std::vector<std::string> out;
        separated = false;
        while (at < lines.size() && !lines[at].empty()) {
            const std::string& line = lines[at++];
            if (line == "----") {
                separated = true;
                break;
            }
            if (line[0] != '#') out.push_back(line);
        }
        return out;
    }

    void run() {
        while (at < lines.size()) {
            const std::string line = lines[at++];
            if (line.empty() || line[0] == '#') continue;
            const std::string word = line.substr(0, line.find(' '));
            const std::string rest = line.size() > word.size() ? line.substr(word.size() + 1) : "";
            if (word == "item") {
                items.push_back(rest);
            } else if (word == "clear") {
                items.clear();
            } else if (word == "parameters") {
                parameters = rest;
            } else if (word == "query") {
                query_case(rest == "unordered=no");
            } else if (word == "error") {
                error_case();
            } else if (word == "expressions" || word == "errors") {
                table(word == "errors");
            } else if (word != "container") {
                FAIL() << where() << ": unknown directive " << line;
            }
        }
    }

    static std::string joined(const std::vector<std::string>& parts, const char* separator) {
        std::string out;
        for (const std::string& part : parts) {
            if (!out.empty()) out += separator;
            out += part;
        }
        return out;
    }

    void query_case(bool ordered) {
        bool separated = false;
        const std::string text = joined(block(separated), "\n");
        ASSERT_TRUE(separated) << where() << ": ---- is missing";
        std::vector<std::string> expected;
        for (const std::string& row : block(separated)) expected.push_back(canonical(row));
        std::string error;
        std::vector<std::string> actual = execute(text, items, error);
        if (!ordered) {
            std::sort(expected.begin(), expected.end());
            std::sort(actual.begin(), actual.end());
        }
        EXPECT_EQ(error, "") << where() << ": " << text;
        EXPECT_EQ(joined(actual, "\n"), joined(expected, "\n")) << where() << ": " << text;
        ++cases;
    }

    void error_case() {
        bool separated = false;
        const std::string text = joined(block(separated), "\n");
        ASSERT_TRUE(separated) << where() << ": ---- is missing";
        expect_error(text, joined(block(separated), "\n"));
    }

    void expect_error(const std::string& text, const std::string& part) {
        std::string error;
        execute(text, items, error);
        EXPECT_NE(error, "") << where() << ": accepted " << text;
        EXPECT_NE(error.find(part), std::string::npos) << where() << ": " << text << "\n" << error;
        ++cases;
    }

    void table(bool errors_expected) {
        while (at < lines.size() && !lines[at].empty()) {
            const std::string line = lines[at++];
            if (line[0] == '#') continue;
            const size_t arrow = line.rfind(" => ");
            ASSERT_NE(arrow, std::string::npos) << where() << ": " << line;
            const std::string left = line.substr(0, arrow);
            const std::string right = line.substr(arrow + 4);
            if (errors_expected) {
                expect_error(left, right);
                continue;
            }
            std::string error;
            const std::vector<std::string> one = {items.empty() ? "{}" : items.front()};
            const auto rows = execute("SELECT VALUE " + left + " FROM c", one, error);
            EXPECT_EQ(error, "") << where() << ": " << left;
            EXPECT_EQ(joined(rows, " "), right == "undefined" ? "" : canonical(right))
                << where() << ": " << left;
            ++cases;
        }
    }

    std::string canonical(const std::string& json) const {
        json::Arena arena;
        auto value = json::parse(json, arena);
        EXPECT_TRUE(value.ok()) << where() << ": not JSON: " << json;
        return value.ok() ? json::to_text(*value, json::NumberForm::kCanonical) : "";
    }

    /// Also checks that the printed query parses to the same tree.
    std::vector<std::string> execute(const std::string& text, const std::vector<std::string>& over,
                                     std::string& error) {
        std::vector<std::string> out;
        auto query = compile(text);
        if (!query.ok()) {
            error = query.error().message;
            return out;
        }
        for (const PrintForm form : {PrintForm::kOneLine, PrintForm::kLines}) {
            const std::string printed = to_text((*query)->syntax(), form);
            auto again = parse_query(printed);
            EXPECT_TRUE(again.ok()) << where() << ": " << printed;
            if (again.ok()) {
                EXPECT_TRUE(ast::same((*query)->syntax(), *(*again)->query))
                    << where() << ": " << printed;
            }
        }
        json::Arena arena;
        auto list = json::parse(parameters, arena);
        auto bound = Parameters::bind(**query, list.ok() ? *list : json::Value());
        if (!bound.ok()) {
            error = bound.error().message;
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
            EXPECT_TRUE(value.ok()) << where() << ": not JSON: " << item;
            if (!value.ok()) continue;
            if (Status s = run.feed(*value, item_arena, rows); !s.ok()) {
                error = s.error().message;
                return out;
            }
            keep(rows);
        }
        if (Status s = run.finish(arena, rows); !s.ok()) error = s.error().message;
        keep(rows);
        return out;
    }

    const std::string name;
    std::vector<std::string> lines;
    size_t at = 0;
    std::vector<std::string> items;
    std::string parameters = "null";
    size_t cases = 0;
};

TEST(QueryFiles, All) {
    size_t files = 0;
    size_t cases = 0;
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(ORRERY_QUERY_TESTS))
        if (entry.path().extension() == ".test") paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
        Runner runner(path);
        runner.run();
        EXPECT_GT(runner.cases, 0u) << path;
        cases += runner.cases;
        ++files;
    }
    EXPECT_GT(files, 0u) << "no test files in " << ORRERY_QUERY_TESTS;
    std::printf("%zu cases in %zu files\n", cases, files);
}

}  // namespace
}  // namespace orrery::query
