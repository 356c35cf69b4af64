#include "query/parse/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/encoding.h"
#include "base/errors.h"
#include "query/parse/expression_parser.h"

namespace orrery::query {
namespace {

/// The clauses of a query.
class Parser final : private ExpressionParser {
public:
    explicit Parser(Syntax& syntax) : ExpressionParser(syntax) {}

    Status run() {
        syntax_.query = query();
        return finish();
    }

    Status run_condition() {
        form_ = hints::Form::kCondition;
        auto* q = make<Query>();
        syntax_.query = q;
        if (from(*q) && expect(Tok::kWhere)) q->where = expr();
        q->range = {0, static_cast<uint32_t>(syntax_.text.size())};
        return finish();
    }

private:
    Status finish() {
        if (!failed_ && token_.kind != Tok::kEnd) unexpected();
        if (!failed_) return {};
        return Status(std::move(error_));
    }

    const Query* query() override {
        const Level level(*this);
        if (!level) return nullptr;
        const uint32_t start = token_.range.start;
        auto* q = make<Query>();
        if (!select(*q)) return nullptr;
        if (at(Tok::kFrom) && !from(*q)) return nullptr;
        if (accept(Tok::kWhere) && (q->where = expr()) == nullptr) return nullptr;
        if (at(Tok::kGroup) && !group_by(*q)) return nullptr;
        if (at(Tok::kOrder) && !order_by(*q)) return nullptr;
        if (at(Tok::kOffset) && !offset_limit(*q)) return nullptr;
        q->range = {start, end_};
        return set_height(*q, height_below(*q) + 1) ? q : nullptr;
    }

    static uint32_t height_below(const Query& q) {
        uint32_t below = 0;
        const auto see = [&](const Expr* e) {
            if (e != nullptr) below = std::max<uint32_t>(below, e->height);
        };
        see(q.value);
        see(q.where);
        for (const ast::SelectItem& item : q.items) see(item.expr);
        for (const ast::Source& s : q.sources) {
            see(s.collection);
            if (s.query != nullptr) below = std::max<uint32_t>(below, s.query->height);
        }
        for (const Expr* key : q.group_by) see(key);
        for (const ast::OrderItem& item : q.order_by) see(item.expr);
        return below;
    }

    bool select(Query& q) {
        if (!expect(Tok::kSelect)) return false;
        q.distinct = accept(Tok::kDistinct);
        if (at(Tok::kTop)) {
            const uint32_t start = token_.range.start;
            advance();
            if ((q.top = count()) == nullptr) return false;
            q.top_range = {start, end_};
        }
        if (at(Tok::kStar)) {
            q.star_range = token_.range;
            advance();
            return true;
        }
        if (accept(Tok::kValue)) {
            q.select_kind = ast::SelectKind::kValue;
            return (q.value = expr()) != nullptr;
        }
        q.select_kind = ast::SelectKind::kList;
        std::vector<ast::SelectItem> items;
        do {
            ast::SelectItem item;
            item.range.start = token_.range.start;
            if ((item.expr = expr()) == nullptr) return false;
            if (!optional_alias(item.alias)) return false;
            item.range.end = end_;
            items.push_back(item);
        } while (accept(Tok::kComma));
        q.items = take(items, 0);
        return true;
    }

    /// `[ [AS] identifier ]`
    bool optional_alias(std::string_view& alias) {
        const bool named = accept(Tok::kAs);
        if (at(Tok::kIdentifier)) {
            alias = token_.text;
            advance();
        } else if (named) {
            unexpected();
            return false;
        }
        return true;
    }

    const Expr* count() {
        if (!at(Tok::kNumber) && !at(Tok::kParameter)) return unexpected();
        return atom();
    }

    bool from(Query& q) {
        if (!expect(Tok::kFrom)) return false;
        std::vector<ast::Source> sources;
        do {
            ast::Source s;
            if (!source(s)) return false;
            sources.push_back(s);
            if (sources.size() > limits::kJoinsMax + 1) {
                fail(errors::bad_request(fmt::format(
                    "The query has more than the maximum of {} JOINs.", limits::kJoinsMax)));
                return false;
            }
        } while (accept(Tok::kJoin));
        q.sources = take(sources, 0);
        return true;
    }

    bool source(ast::Source& s) {
        s.range.start = token_.range.start;
        const Token first = token_;
        bool ok = false;
        if (at(Tok::kOpenParen)) {
            ok = (s.query = parenthesised_query()) != nullptr;
        } else if (!at(Tok::kIdentifier)) {
            unexpected();
        } else {
            advance();
            if (accept(Tok::kIn)) {
                s.iterate = true;
                s.alias = first.text;
                s.alias_range = first.range;
                ok = collection(s);
            } else {
                ok = (s.collection = source_path(first)) != nullptr;
            }
        }
        if (!ok) return false;
        if (!s.iterate) {
            const Token alias = token_;
            if (!optional_alias(s.alias)) return false;
            s.alias_range = s.alias.empty() ? first.range : Range{alias.range.start, end_};
        }
        s.range.end = end_;
        return true;
    }

    /// What may follow IN in FROM.
    bool collection(ast::Source& s) {
        if (at(Tok::kOpenParen)) return (s.query = parenthesised_query()) != nullptr;
        if (at(Tok::kUdf)) return (s.collection = udf_call()) != nullptr;
        if (!at(Tok::kIdentifier)) return unexpected() != nullptr;
        const Token name = token_;
        advance();
        s.collection = at(Tok::kOpenParen) ? call(name) : source_path(name);
        return s.collection != nullptr;
    }

    /// identifier { .name | ["name"] | [number] }, the identifier already consumed.
    const Expr* source_path(const Token& first) {
        Expr* base = make_expr(ExprKind::kIdentifier, first.range.start);
        base->range = first.range;
        base->name = first.text;
        const Expr* path = postfix(base);
        if (path == nullptr || path->kind != ExprKind::kPath) return path;
        for (const ast::Step& step : path->steps) {
            if (step.kind != ast::StepKind::kExpr) continue;
            Diagnostics diagnostics(syntax_.text);
            diagnostics.add("SC1001", step.range,
                            fmt::format("Syntax error, incorrect syntax near '{}'.",
                                        std::string_view(syntax_.text)
                                            .substr(step.expr->range.start,
                                                    step.expr->range.end - step.expr->range.start)),
                            hints::kSourcePath);
            return fail(diagnostics.to_error());
        }
        return path;
    }

    bool group_by(Query& q) {
        advance();
        if (!expect(Tok::kBy)) return false;
        const size_t mark = exprs_.size();
        do {
            const Expr* e = expr();
            if (e == nullptr) return false;
            exprs_.push_back(e);
        } while (accept(Tok::kComma));
        q.group_by = take(exprs_, mark);
        return true;
    }

    bool order_by(Query& q) {
        q.order_by_range.start = token_.range.start;
        advance();
        if (!expect(Tok::kBy)) return false;
        q.order_by_rank = accept(Tok::kRank);
        std::vector<ast::OrderItem> items;
        do {
            ast::OrderItem item;
            if (q.order_by_rank) {
                const Token name = token_;
                if (!expect(Tok::kIdentifier)) return false;
                if (!at(Tok::kOpenParen)) return unexpected() != nullptr;
                item.expr = call(name);
            } else {
                item.expr = expr();
            }
            if (item.expr == nullptr) return false;
            if (accept(Tok::kAsc)) {
                item.direction = ast::Direction::kAscending;
            } else if (accept(Tok::kDesc)) {
                item.direction = ast::Direction::kDescending;
            }
            items.push_back(item);
        } while (accept(Tok::kComma));
        q.order_by = take(items, 0);
        q.order_by_range.end = end_;
        return true;
    }

    bool offset_limit(Query& q) {
        q.offset_limit_range.start = token_.range.start;
        advance();
        if ((q.offset = count()) == nullptr || !expect(Tok::kLimit)) return false;
        if ((q.limit = count()) == nullptr) return false;
        q.offset_limit_range.end = end_;
        return true;
    }
};

Status check_text(std::string_view text) {
    if (text.size() > limits::kTextBytesMax)
        return Status(errors::bad_request(
            fmt::format("The query text of {} bytes exceeds the maximum of {} bytes.", text.size(),
                        limits::kTextBytesMax)));
    if (!is_valid_utf8(text))
        return Status(errors::bad_request("The query text is not valid UTF-8."));
    return {};
}

}  // namespace

Result<std::unique_ptr<Syntax>> parse_query(std::string_view text) {
    TRY_STATUS(check_text(text));
    auto syntax = std::make_unique<Syntax>(text);
    TRY_STATUS(Parser(*syntax).run());
    return syntax;
}

Result<std::unique_ptr<Syntax>> parse_condition(std::string_view text) {
    TRY_STATUS(check_text(text));
    auto syntax = std::make_unique<Syntax>(text);
    TRY_STATUS(Parser(*syntax).run_condition());
    return syntax;
}

}  // namespace orrery::query
