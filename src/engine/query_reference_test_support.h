#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/parse.h"
#include "json/problems.h"
#include "json/write.h"
#include "query/parse/printer.h"
#include "query/query.h"

/// What a query must answer, computed by the evaluator over a list of items, and the comparison
/// that leaves open what the language leaves open: the order of rows without ORDER BY and among
/// equal keys, and which rows a window without ORDER BY shows.
namespace orrery::engine::testing_support {

inline json::Value parse_json(std::string_view text, json::Arena& arena) {
    json::ParseOptions options;
    options.depth_max = limits::kNestingDepthMax + 1;
    auto value = json::parse(text, arena, options);
    CHECK(value.ok());
    return *value;
}

/// The value's text with object members sorted and numbers as doubles: equal values, equal texts.
/// `any_order`: arrays are sorted, too.
inline void append_normal(std::string& out, const json::Value& value, bool any_order = false) {
    switch (value.type()) {
        case json::Type::kNumber:
            // -0 = 0
            json::write_number(out, value.as_double() == 0 ? 0.0 : value.as_double());
            return;
        case json::Type::kArray: {
            std::vector<std::string> elements;
            for (const json::Value& element : value.elements())
                append_normal(elements.emplace_back(), element, any_order);
            if (any_order) std::sort(elements.begin(), elements.end());
            out += '[';
            for (const std::string& element : elements) out += element + ',';
            out += ']';
            return;
        }
        case json::Type::kObject: {
            std::map<std::string, std::string> members;
            for (const json::Member& member : value.members())
                append_normal(members[std::string(member.name)], member.value, any_order);
            out += '{';
            for (const auto& [name, text] : members) out += name + ':' + text + ',';
            out += '}';
            return;
        }
        default:
            json::write(out, value, json::NumberForm::kCanonical);
    }
}
inline std::string normal(std::string_view text, bool any_order) {
    json::Arena arena;
    std::string out;
    append_normal(out, parse_json(text, arena), any_order);
    return out;
}

struct Reference {
    std::optional<std::string> error;
    std::vector<std::string> rows;  ///< all of them, before TOP, OFFSET and LIMIT
    std::vector<std::string> keys;  ///< with ORDER BY: equal for rows whose order is left open
    uint64_t offset = 0;
    uint64_t limit = std::numeric_limits<uint64_t>::max();
    bool ordered = false;
    /// Rows stand for classes of equal values (DISTINCT, groups, aggregates): 1 and 1.0 are one.
    bool classes = false;
    bool lists = false;  ///< MAKELIST, MAKESET: their elements come in any order
    uint64_t sort_keys = 0;
};

class ReferenceRun {
public:
    ReferenceRun(const std::vector<std::string>& items, std::string_view parameters)
        : items_(items), list_(parse_json(parameters, arena_)) {}

    Reference run(const std::string& text) {
        Reference out;
        auto compiled = query::compile(text);
        if (!compiled.ok()) {
            out.error = json::error_text(compiled.error());
            return out;
        }
        auto bound = query::Parameters::bind(**compiled, list_);
        if (!bound.ok()) {
            out.error = json::error_text(bound.error());
            return out;
        }
        query::ast::Query tree = (*compiled)->syntax();
        const auto count = [&](query::ast::Count c, uint64_t otherwise) {
            return c == nullptr ? otherwise : static_cast<uint64_t>(number_of(*c));
        };
        out.offset = count(tree.offset, 0);
        out.limit = std::min(count(tree.limit, out.limit), count(tree.top, out.limit));
        tree.offset = tree.limit = tree.top = nullptr;
        out.sort_keys = tree.order_by.size();
        const bool grouped = (*compiled)->root().grouped;
        out.classes = grouped || tree.distinct;
        out.lists = text.find("MAKE") != std::string::npos;
        out.error = evaluate(tree, out.rows);
        if (out.error || tree.order_by.empty() || grouped) return out;
        out.ordered = read_keys(tree, out);
        return out;
    }

private:
    double number_of(const query::ast::Expr& expr) const {
        if (expr.kind == query::ast::ExprKind::kLiteral) return expr.value.as_double();
        for (const json::Value& parameter : list_.elements())
            if (parameter.member("name").as_string() == expr.name)
                return parameter.member("value").as_double();
        return 0;
    }

    /// Rows of a query as the engine must print them; the error, if any.
    std::optional<std::string> evaluate(const query::ast::Query& tree,
                                        std::vector<std::string>& out) {
        auto compiled = query::compile(query::to_text(tree, query::PrintForm::kOneLine));
        CHECK(compiled.ok());
        auto bound = query::Parameters::bind(**compiled, list_);
        if (!bound.ok()) return json::error_text(bound.error());
        query::QueryRun run(**compiled, *bound);
        const auto form = (*compiled)->returns_whole_item() ? json::NumberForm::kAsWritten
                                                            : json::NumberForm::kCanonical;
        std::vector<json::Value> rows;
        const auto keep = [&] {
            for (const json::Value& row : rows) out.push_back(json::to_text(row, form));
            rows.clear();
        };
        for (const std::string& item : items_) {
            json::Arena arena;
            if (Status s = run.feed(parse_json(item, arena), arena, rows); !s.ok())
                return json::error_text(s.error());
            keep();
            if (!(*compiled)->reads_items()) break;
        }
        json::Arena arena;
        if (Status s = run.finish(arena, rows); !s.ok()) return json::error_text(s.error());
        keep();
        return std::nullopt;
    }

    /// The same query with its sort keys instead of its rows. False when the rows do not determine
    /// their keys (DISTINCT over other values than the keys).
    bool read_keys(const query::ast::Query& tree, Reference& out) {
        using query::ast::Expr;
        std::vector<std::string> names;
        std::vector<const Expr*> args;
        for (const auto& item : tree.order_by) {
            names.push_back("k" + std::to_string(names.size()));
            args.push_back(item.expr);
        }
        if (tree.select_kind == query::ast::SelectKind::kValue) {
            names.push_back("v");
            args.push_back(tree.value);
        }
        for (const auto& item : tree.items) {
            names.push_back("v" + std::to_string(names.size()));
            args.push_back(item.expr);
        }
        Expr star;
        if (tree.select_kind == query::ast::SelectKind::kStar) {
            const query::ast::Source& source = tree.sources[0];
            star.kind = query::ast::ExprKind::kIdentifier;
            star.name = source.alias.empty() && source.collection != nullptr
                            ? source.collection->name
                            : source.alias;
            if (star.name.empty()) return false;
            names.push_back("v");
            args.push_back(&star);
        }
        const std::vector<std::string_view> views(names.begin(), names.end());
        Expr object;
        object.kind = query::ast::ExprKind::kObject;
        object.names = views;
        object.args = args;
        query::ast::Query keyed = tree;
        keyed.select_kind = query::ast::SelectKind::kValue;
        keyed.value = &object;
        keyed.items = {};
        keyed.distinct = false;
        std::vector<std::string> pairs;
        if (evaluate(keyed, pairs)) return false;
        std::map<std::string, std::string> seen;  // row to key, with DISTINCT
        for (const std::string& pair : pairs) {
            json::Arena arena;
            const json::Value value = parse_json(pair, arena);
            if (tree.select_kind == query::ast::SelectKind::kValue &&
                value.member("v").is_undefined())
                continue;
            const std::string key = key_class(value, tree.order_by.size());
            if (tree.distinct) {
                std::string row;
                for (const json::Member& member : value.members()) {
                    if (member.name[0] == 'k') continue;
                    row += std::string(member.name) + '=';
                    append_normal(row, member.value);
                }
                const auto [at, is_new] = seen.emplace(row, key);
                if (!is_new && at->second != key) return false;
                if (!is_new) continue;
            }
            out.keys.push_back(key);
        }
        CHECK(out.keys.size() == out.rows.size());
        return true;
    }

    /// Arrays have no defined order among themselves, objects neither: nothing behind one counts.
    static std::string key_class(const json::Value& row, size_t count) {
        std::string out;
        for (size_t i = 0; i < count; ++i) {
            const json::Value key = row.member("k" + std::to_string(i));
            if (key.is_array() || key.is_object()) return out + (key.is_array() ? "[" : "{");
            if (key.is_undefined())
                out += "undefined";
            else
                append_normal(out, key);
            out += '|';
        }
        return out;
    }

    const std::vector<std::string>& items_;
    json::Arena arena_;
    json::Value list_;
};

/// Takes `part` out of `from`; the first row that is not there.
inline std::optional<std::string> take_out(std::vector<std::string> part,
                                           std::vector<std::string> from) {
    std::sort(part.begin(), part.end());
    std::sort(from.begin(), from.end());
    size_t at = 0;
    for (const std::string& row : part) {
        while (at < from.size() && from[at] < row) ++at;
        if (at == from.size() || from[at] != row) return row;
        ++at;
    }
    return std::nullopt;
}

/// What is wrong with an answer; empty: nothing.
inline std::string compare_rows(const Reference& expected, std::vector<std::string> actual) {
    std::vector<std::string> rows = expected.rows;
    if (expected.classes) {
        for (std::string& row : rows) row = normal(row, expected.lists);
        for (std::string& row : actual) row = normal(row, expected.lists);
    }
    const size_t begin = std::min<uint64_t>(expected.offset, rows.size());
    const size_t count = std::min<uint64_t>(expected.limit, rows.size() - begin);
    if (actual.size() != count) {
        const auto missing = take_out(rows, actual);
        const auto strange = take_out(actual, rows);
        return std::to_string(actual.size()) + " rows instead of " + std::to_string(count) +
               (missing && count == rows.size() ? ", without " + *missing : "") +
               (strange ? ", with " + *strange : "");
    }
    if (!expected.ordered) {
        const auto strange = take_out(actual, rows);
        return strange ? "unexpected row " + *strange : "";
    }
    // Every run of equal keys that the window touches.
    for (size_t at = begin; at < begin + count;) {
        size_t first = at;
        while (first > 0 && expected.keys[first - 1] == expected.keys[at]) --first;
        size_t last = at;
        while (last < rows.size() && expected.keys[last] == expected.keys[at]) ++last;
        const size_t end = std::min(last, begin + count);
        const auto strange = take_out({actual.begin() + static_cast<ptrdiff_t>(at - begin),
                                       actual.begin() + static_cast<ptrdiff_t>(end - begin)},
                                      {rows.begin() + static_cast<ptrdiff_t>(first),
                                       rows.begin() + static_cast<ptrdiff_t>(last)});
        if (strange)
            return "row " + *strange + " among rows " + std::to_string(at - begin) + " to " +
                   std::to_string(end - begin) + ", where the key is " + expected.keys[at];
        at = end;
    }
    return "";
}

}  // namespace orrery::engine::testing_support
