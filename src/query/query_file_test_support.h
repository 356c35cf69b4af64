#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

/// Reads tests/query/*.test. A file is a list of blocks separated by blank lines; lines that start
/// with # are comments.
///
///   container pk=/t                     where the items' partition key is; for people and engines
///   item {"id":"1"}                     adds an item for the queries below; `clear` removes all
///   parameters [{"name":"@x",...}]      for the queries below
///   query [unordered=no]                text, ----, one row a line; order counts only if asked
///   error [400]                         text, ----, a part of the message
///   expressions                         lines of `expression => JSON or undefined`, over the first
///                                       item as `c`
///   errors                              lines of `query => part of the message`
namespace orrery::query::testing_support {

struct FileStep {
    enum class Kind {
        kContainer,
        kItem,
        kClear,
        kParameters,
        kQuery,
        kError,
        kExpression,
        kBroken
    };
    Kind kind = Kind::kBroken;
    std::string text;  ///< item, parameters, query or expression; what is broken
    std::vector<std::string>
        rows;  ///< query: the rows; error: a part of the message; expression: one
    bool ordered = false;
    std::string where;  ///< file and line
};

class QueryFile {
public:
    explicit QueryFile(const std::filesystem::path& path) : name_(path.filename().string()) {
        std::ifstream in(path);
        for (std::string line; std::getline(in, line);) lines_.push_back(line);
    }

    std::vector<FileStep> read() {
        using Kind = FileStep::Kind;
        while (at_ < lines_.size()) {
            const std::string line = lines_[at_++];
            if (line.empty() || line[0] == '#') continue;
            const std::string word = line.substr(0, line.find(' '));
            const std::string rest = line.size() > word.size() ? line.substr(word.size() + 1) : "";
            if (word == "item") {
                add(Kind::kItem, rest);
            } else if (word == "clear") {
                add(Kind::kClear, "");
            } else if (word == "parameters") {
                add(Kind::kParameters, rest);
            } else if (word == "container") {
                add(Kind::kContainer, rest);
            } else if (word == "query" || word == "error") {
                text_and_rows(word == "query" ? Kind::kQuery : Kind::kError, rest);
            } else if (word == "expressions" || word == "errors") {
                table(word == "errors" ? Kind::kError : Kind::kExpression);
            } else {
                add(Kind::kBroken, "unknown directive " + line);
            }
        }
        return std::move(steps_);
    }

    static std::vector<std::filesystem::path> list(const char* folder) {
        std::vector<std::filesystem::path> paths;
        for (const auto& entry : std::filesystem::directory_iterator(folder))
            if (entry.path().extension() == ".test") paths.push_back(entry.path());
        std::sort(paths.begin(), paths.end());
        return paths;
    }
    static std::string joined(const std::vector<std::string>& parts, const char* separator) {
        std::string out;
        for (const std::string& part : parts) {
            if (!out.empty()) out += separator;
            out += part;
        }
        return out;
    }

private:
    FileStep& add(FileStep::Kind kind, std::string text) {
        FileStep step;
        step.kind = kind;
        step.text = std::move(text);
        step.where = name_ + ":" + std::to_string(at_);
        return steps_.emplace_back(std::move(step));
    }
    /// The lines up to a blank one (or the separator, which is consumed).
    std::vector<std::string> block(bool& separated) {
        std::vector<std::string> out;
        separated = false;
        while (at_ < lines_.size() && !lines_[at_].empty()) {
            const std::string& line = lines_[at_++];
            if (line == "----") {
                separated = true;
                break;
            }
            if (line[0] != '#') out.push_back(line);
        }
        return out;
    }
    void text_and_rows(FileStep::Kind kind, const std::string& options) {
        bool separated = false;
        FileStep& step = add(kind, "");
        step.text = joined(block(separated), "\n");
        if (!separated) {
            step.kind = FileStep::Kind::kBroken;
            step.text = "---- is missing";
            return;
        }
        step.rows = block(separated);
        step.ordered = options == "unordered=no";
        if (kind == FileStep::Kind::kError) step.rows = {joined(step.rows, "\n")};
    }
    void table(FileStep::Kind kind) {
        while (at_ < lines_.size() && !lines_[at_].empty()) {
            const std::string line = lines_[at_++];
            if (line[0] == '#') continue;
            const size_t arrow = line.rfind(" => ");
            if (arrow == std::string::npos) {
                add(FileStep::Kind::kBroken, line);
                continue;
            }
            add(kind, line.substr(0, arrow)).rows = {line.substr(arrow + 4)};
        }
    }

    const std::string name_;
    std::vector<std::string> lines_;
    size_t at_ = 0;
    std::vector<FileStep> steps_;
};

}  // namespace orrery::query::testing_support
