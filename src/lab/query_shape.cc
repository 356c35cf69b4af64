#include "lab/query_shape.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/encoding.h"
#include "base/hash.h"
#include "query/function_names.h"
#include "query/parse/lexer.h"

namespace orrery::lab {
namespace {

using query::Tok;
namespace ast = query::ast;

constexpr size_t kTextBytesMax = 2000;

bool is_constant(Tok kind) {
    return kind == Tok::kNumber || kind == Tok::kString || kind == Tok::kTrue ||
           kind == Tok::kFalse || kind == Tok::kNull;
}

class ShapeReader {
public:
    explicit ShapeReader(const query::CompiledQuery& compiled) : alias_(compiled.item_alias()) {
        const auto& query = compiled.syntax();
        if (alias_.empty() && !query.sources.empty()) {
            const auto& source = query.sources[0];
            alias_ = source.alias;
            if (alias_.empty() && source.collection != nullptr &&
                source.collection->kind == ast::ExprKind::kIdentifier)
                alias_ = source.collection->name;
        }
        // What JOINs iterate over is a path of the item, too.
        for (const auto& source : query.sources)
            if (source.iterate && source.collection != nullptr && !source.alias.empty())
                if (const std::string path = path_of(*source.collection); !path.empty())
                    elements_.emplace_back(source.alias, path + "/[]");
    }

    void read(const ast::Query& query, QueryShape& out) {
        if (query.where != nullptr) {
            filter(*query.where, out);
            conjuncts(*query.where, out);
        }
        for (const auto& key : query.order_by)
            if (const std::string path = path_of(*key.expr); !path.empty())
                out.order_paths.push_back(
                    path + (key.direction == ast::Direction::kDescending ? " DESC" : " ASC"));
        for (const auto* key : query.group_by) project(*key, out);
        for (const auto& item : query.items) project(*item.expr, out);
        if (query.value != nullptr) project(*query.value, out);
    }

private:
    /// "/a/b" of c.a.b or c["a"].b; empty for anything else.
    std::string path_of(const ast::Expr& expr) const {
        if (expr.kind != ast::ExprKind::kPath || expr.args.empty() ||
            expr.args[0]->kind != ast::ExprKind::kIdentifier)
            return {};
        std::string out;
        const std::string_view base = expr.args[0]->name;
        if (base != alias_) {
            const auto found = std::find_if(elements_.begin(), elements_.end(),
                                            [base](const auto& one) { return one.first == base; });
            if (found == elements_.end()) return {};
            out = found->second;
        }
        for (const auto& step : expr.steps) {
            if (step.is_name())
                out += "/" + std::string(step.name);
            else
                out += "/[]";
        }
        return out;
    }
    bool mentions_item(const ast::Expr& expr) const {
        if (!path_of(expr).empty()) return true;
        return std::any_of(expr.args.begin(), expr.args.end(),
                           [this](const ast::Expr* arg) { return mentions_item(*arg); });
    }
    static bool is_fixed(const ast::Expr& expr) {
        if (expr.kind == ast::ExprKind::kLiteral || expr.kind == ast::ExprKind::kParameter)
            return true;
        return expr.kind == ast::ExprKind::kUnary && expr.args.size() == 1 &&
               is_fixed(*expr.args[0]);
    }
    void filter(const ast::Expr& expr, QueryShape& out) {
        if (const std::string path = path_of(expr); !path.empty())
            return add_once(out.filter_paths, path);
        if (expr.kind == ast::ExprKind::kCall && !query::is_served_function(expr.name) &&
            mentions_item(expr))
            add_once(out.scan_functions, to_upper(expr.name));
        for (const auto* arg : expr.args) filter(*arg, out);
        if (expr.query != nullptr && expr.query->where != nullptr) filter(*expr.query->where, out);
    }
    void conjuncts(const ast::Expr& expr, QueryShape& out) {
        if (expr.kind != ast::ExprKind::kBinary) return;
        if (std::all_of(expr.ops.begin(), expr.ops.end(),
                        [](ast::Op op) { return op == ast::Op::kAnd; })) {
            for (const auto* arg : expr.args) conjuncts(*arg, out);
            return;
        }
        if (expr.ops.size() != 1 || expr.ops[0] != ast::Op::kEqual) return;
        for (const size_t side : {0U, 1U})
            if (const std::string path = path_of(*expr.args[side]);
                !path.empty() && is_fixed(*expr.args[1 - side]))
                add_once(out.equality_paths, path);
    }
    void project(const ast::Expr& expr, QueryShape& out) {
        if (const std::string path = path_of(expr); !path.empty())
            return add_once(out.projected_paths, path);
        if (expr.kind == ast::ExprKind::kCall && query::is_aggregate_function(expr.name))
            out.aggregates = true;
        for (const auto* arg : expr.args) project(*arg, out);
    }
    static std::string to_upper(std::string_view name) {
        std::string out(name);
        for (char& c : out)
            if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
        return out;
    }

    void add_once(std::vector<std::string>& list, const std::string& value) {
        if (added_.emplace(&list, value).second) list.push_back(value);
    }

    std::string_view alias_;
    std::vector<std::pair<std::string_view, std::string>> elements_;
    std::set<std::pair<const void*, std::string>> added_;  // what each list holds
};

}  // namespace

std::string normalized_query(std::string_view text) {
    json::Arena arena;
    query::Lexer lexer(text, arena);
    std::string out;
    Tok before = Tok::kEnd;
    while (out.size() < kTextBytesMax) {
        const query::Token token = lexer.next();
        if (token.kind == Tok::kEnd || token.kind == Tok::kError) break;
        // A name in brackets says which property; it is no constant.
        const bool constant =
            is_constant(token.kind) && !(token.kind == Tok::kString && before == Tok::kOpenBracket);
        // A list of constants is one.
        if (constant && out.ends_with("?,")) {
            out.pop_back();
            before = token.kind;
            continue;
        }
        const bool tight = token.kind == Tok::kComma || token.kind == Tok::kDot ||
                           token.kind == Tok::kCloseParen || token.kind == Tok::kOpenBracket ||
                           token.kind == Tok::kCloseBracket || before == Tok::kDot ||
                           before == Tok::kOpenParen || before == Tok::kOpenBracket ||
                           before == Tok::kEnd ||
                           (token.kind == Tok::kOpenParen && before == Tok::kIdentifier);
        if (!tight) out += ' ';
        if (constant) {
            out += '?';
        } else if (token.kind >= Tok::kAnd) {
            for (const char c : token.text)
                out += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        } else {
            out += token.text;
        }
        before = token.kind;
    }
    return out;
}

uint64_t shape_hash(std::string_view text) {
    constexpr SipKey kShapeHash{0x6c616273, 0x68617065};
    const auto is_name = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '$' || c == '@' || static_cast<unsigned char>(c) >= 0x80;
    };
    thread_local std::string out;
    out.clear();
    const auto constant = [&] {
        // A list of constants is one.
        if (out.ends_with("?,"))
            out.pop_back();
        else
            out += '?';
    };
    for (size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (c == '\'' || c == '"') {
            const size_t start = at;
            for (++at; at < text.size() && text[at] != c; ++at)
                if (text[at] == '\\') ++at;
            at = std::min(at + 1, text.size());
            // A name in brackets says which property; it is no constant.
            if (out.ends_with('['))
                out += text.substr(start, at - start);
            else
                constant();
        } else if (c >= '0' && c <= '9') {
            while (at < text.size() && (is_name(text[at]) || text[at] == '.')) ++at;
            constant();
        } else if (is_name(c)) {
            if (!out.empty() && is_name(out.back())) out += ' ';
            for (; at < text.size() && is_name(text[at]); ++at) out += text[at];
        } else {
            if (c != ' ' && c != '\n' && c != '\t' && c != '\r') out += c;
            ++at;
        }
    }
    return siphash(kShapeHash, out) | 1;
}

uint64_t shape_hash(const std::shared_ptr<const query::CompiledQuery>& query) {
    constexpr size_t kKnown = 16;
    struct Known {
        std::shared_ptr<const query::CompiledQuery> query;  // held: nothing else gets its address
        uint64_t hash = 0;
    };
    thread_local std::array<Known, kKnown> known;
    const auto address = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(query.get()));
    Known& place = known[(address * 0x9E3779B97F4A7C15ULL) >> 60];
    if (place.query != query) place = {query, shape_hash(query->text())};
    return place.hash;
}

QueryShape shape_of(const query::CompiledQuery& compiled) {
    QueryShape out;
    out.text = normalized_query(compiled.text());
    out.returns_items = compiled.returns_whole_item();
    ShapeReader(compiled).read(compiled.syntax(), out);
    return out;
}

}  // namespace orrery::lab
