#include "cli/shell_words.h"

#include <algorithm>
#include <cctype>

#include "base/encoding.h"
#include "query/function_names.h"

namespace orrery::cli {
namespace {

constexpr size_t kPathsMax = 500;
constexpr size_t kPathDepthMax = 5;

bool is_word_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '@' ||
           static_cast<unsigned char>(c) >= 0x80;
}

bool is_name(std::string_view text) {
    if (text.empty() || (std::isdigit(static_cast<unsigned char>(text[0])) != 0)) return false;
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return is_word_character(c) && c != '@'; });
}

/// Case-sensitive where the candidate is a name of the user's.
Completion matching(std::string_view typed, const std::vector<std::string>& candidates,
                    bool ignore_case) {
    Completion out;
    out.typed = typed.size();
    for (const std::string& candidate : candidates) {
        const std::string_view head = std::string_view(candidate).substr(0, typed.size());
        if (ignore_case ? equals_ignore_case(head, typed) : head == typed)
            out.candidates.push_back(candidate);
    }
    std::sort(out.candidates.begin(), out.candidates.end());
    out.candidates.erase(std::unique(out.candidates.begin(), out.candidates.end()),
                         out.candidates.end());
    return out;
}

/// The next step of each path that begins with `typed`: "address." for a group, "address.city" for
/// a leaf.
std::vector<std::string> next_steps(const std::vector<std::string>& paths, std::string_view typed) {
    std::vector<std::string> out;
    for (const std::string& path : paths) {
        if (!path.starts_with(typed)) continue;
        const size_t dot = path.find('.', typed.size());
        out.push_back(dot == std::string::npos ? path : path.substr(0, dot + 1));
    }
    return out;
}

}  // namespace

std::vector<std::string> take_statements(std::string& text) {
    std::vector<std::string> out;
    size_t begin = 0;
    char quote = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quote != 0) {
            if (c == '\\')
                ++i;
            else if (c == quote)
                quote = 0;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == '-' && i + 1 < text.size() && text[i + 1] == '-') {
            i = std::min(text.find('\n', i), text.size());
        } else if (c == ';') {
            std::string statement = text.substr(begin, i - begin);
            begin = i + 1;
            const size_t first = statement.find_first_not_of(" \t\r\n");
            if (first == std::string::npos) continue;
            statement.erase(statement.find_last_not_of(" \t\r\n") + 1);
            out.push_back(statement.substr(first));
        }
    }
    text.erase(0, begin);
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) text.clear();
    return out;
}

std::vector<std::string> split_words(std::string_view line) {
    std::vector<std::string> out;
    bool in_word = false;
    bool quoted = false;
    for (const char c : line) {
        if (c == '"') {
            quoted = !quoted;
            if (!in_word) out.emplace_back();
            in_word = true;
        } else if (!quoted && (c == ' ' || c == '\t')) {
            in_word = false;
        } else {
            if (!in_word) out.emplace_back();
            in_word = true;
            out.back() += c;
        }
    }
    return out;
}

const std::vector<std::string>& query_words() {
    static const std::vector<std::string> words = [] {
        std::vector<std::string> out = {
            "SELECT", "VALUE",    "DISTINCT", "TOP",     "FROM",     "WHERE",  "JOIN",
            "IN",     "ORDER BY", "GROUP BY", "OFFSET",  "LIMIT",    "ASC",    "DESC",
            "AND",    "OR",       "NOT",      "BETWEEN", "LIKE",     "EXISTS", "ARRAY",
            "AS",     "null",     "true",     "false",   "undefined"};
        for (const query::FunctionName& function : query::function_names())
            if (function.offered) out.push_back(std::string(function.name) + '(');
        return out;
    }();
    return words;
}

Completion complete_line(std::string_view before, const CompletionContext& context) {
    const size_t first = before.find_first_not_of(" \t");
    if (first != std::string_view::npos && before[first] == '.') {
        const std::string_view command = before.substr(first);
        const size_t blank = command.find(' ');
        if (blank == std::string_view::npos) return matching(command, context.commands, false);
        return matching(command.substr(command.rfind(' ') + 1), context.containers, false);
    }
    size_t begin = before.size();
    while (begin > 0 && is_word_character(before[begin - 1])) --begin;
    // A chain "alias.a.b": the alias is any name, the rest are paths of the data.
    size_t chain = begin;
    while (chain > 0 && (is_word_character(before[chain - 1]) || before[chain - 1] == '.')) --chain;
    const std::string_view whole = before.substr(chain);
    if (const size_t dot = whole.find('.');
        dot != std::string_view::npos && is_name(whole.substr(0, dot))) {
        const std::string_view typed = whole.substr(dot + 1);
        return matching(typed, next_steps(context.paths, typed), false);
    }
    const std::string_view typed = before.substr(begin);
    if (typed.starts_with('@')) return matching(typed, context.parameters, false);
    if (typed.empty()) return {};
    return matching(typed, query_words(), true);
}

namespace {

void collect(const json::Value& value, const std::string& path, size_t depth,
             std::vector<std::string>& out) {
    if (!value.is_object() || depth > kPathDepthMax) return;
    for (const json::Member& member : value.members()) {
        if (!is_name(member.name)) continue;  // needs brackets and quotes in a query
        const std::string name =
            path.empty() ? std::string(member.name) : path + "." + std::string(member.name);
        if (out.size() >= kPathsMax) return;
        if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
        collect(member.value, name, depth + 1, out);
    }
}

}  // namespace

void collect_paths(const json::Value& item, std::vector<std::string>& out) {
    collect(item, "", 1, out);
}

}  // namespace orrery::cli
