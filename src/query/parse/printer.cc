#include "query/parse/printer.h"

#include <cmath>

#include "json/write.h"

namespace orrery::query {
namespace {

using ast::Expr;
using ast::ExprKind;

class Printer {
public:
    Printer(std::string& out, PrintForm form) : out_(out), form_(form) {}

    void query(const ast::Query& q) {
        out_ += "SELECT";
        if (q.distinct) out_ += " DISTINCT";
        if (q.top != nullptr) {
            out_ += " TOP ";
            expr(*q.top);
        }
        switch (q.select_kind) {
            case ast::SelectKind::kStar:
                out_ += " *";
                break;
            case ast::SelectKind::kValue:
                out_ += " VALUE ";
                expr(*q.value);
                break;
            case ast::SelectKind::kList:
                select_items(q);
                break;
        }
        from(q);
        if (q.where != nullptr) {
            clause("WHERE ");
            expr(*q.where);
        }
        if (!q.group_by.empty()) {
            clause("GROUP BY ");
            list(q.group_by);
        }
        order_by(q);
        if (q.offset != nullptr) {
            clause("OFFSET ");
            expr(*q.offset);
            out_ += " LIMIT ";
            expr(*q.limit);
        }
    }

    void expr(const Expr& e) {
        switch (e.kind) {
            case ExprKind::kLiteral:
                literal(e.value);
                break;
            case ExprKind::kIdentifier:
            case ExprKind::kParameter:
                out_ += e.name;
                break;
            case ExprKind::kPath:
                path(e);
                break;
            case ExprKind::kArray:
                out_ += '[';
                list(e.args);
                out_ += ']';
                break;
            case ExprKind::kObject:
                object(e);
                break;
            case ExprKind::kUnary:
                out_ += '(';
                out_ += ast::op_text(e.ops[0]);
                out_ += ' ';
                expr(*e.args[0]);
                out_ += ')';
                break;
            case ExprKind::kBinary:
                binary(e);
                break;
            case ExprKind::kConditional:
                out_ += '(';
                expr(*e.args[0]);
                out_ += " ? ";
                expr(*e.args[1]);
                out_ += " : ";
                expr(*e.args[2]);
                out_ += ')';
                break;
            case ExprKind::kBetween:
            case ExprKind::kIn:
            case ExprKind::kLike:
                predicate(e);
                break;
            case ExprKind::kUdfCall:
                out_ += "udf.";
                [[fallthrough]];
            case ExprKind::kCall:
                out_ += e.name;
                out_ += '(';
                list(e.args);
                out_ += ')';
                break;
            case ExprKind::kSubquery:
                subquery("", *e.query);
                break;
            case ExprKind::kExists:
                subquery("EXISTS", *e.query);
                break;
            case ExprKind::kArrayOf:
                subquery("ARRAY", *e.query);
                break;
            case ExprKind::kAll:
                subquery("ALL", *e.query);
                break;
            case ExprKind::kFirst:
                subquery("FIRST", *e.query);
                break;
            case ExprKind::kLast:
                subquery("LAST", *e.query);
                break;
        }
    }

private:
    void new_line() {
        if (form_ == PrintForm::kOneLine) return;
        out_ += '\n';
        out_.append(indent_, ' ');
    }
    void clause(std::string_view keyword) {
        if (form_ == PrintForm::kOneLine) {
            out_ += ' ';
        } else {
            new_line();
        }
        out_ += keyword;
    }

    void select_items(const ast::Query& q) {
        std::string_view separator = " ";
        for (const ast::SelectItem& item : q.items) {
            out_ += separator;
            separator = ", ";
            expr(*item.expr);
            if (!item.alias.empty()) {
                out_ += " AS ";
                out_ += item.alias;
            }
        }
    }

    void from(const ast::Query& q) {
        std::string_view keyword = "FROM ";
        for (const ast::Source& source : q.sources) {
            clause(keyword);
            keyword = "JOIN ";
            if (source.iterate) {
                out_ += source.alias;
                out_ += " IN ";
            }
            if (source.query != nullptr) {
                subquery("", *source.query);
            } else {
                expr(*source.collection);
            }
            if (!source.iterate && !source.alias.empty()) {
                out_ += " AS ";
                out_ += source.alias;
            }
        }
    }

    void order_by(const ast::Query& q) {
        if (q.order_by.empty()) return;
        clause(q.order_by_rank ? "ORDER BY RANK " : "ORDER BY ");
        std::string_view separator;
        for (const ast::OrderItem& item : q.order_by) {
            out_ += separator;
            separator = ", ";
            expr(*item.expr);
            if (item.direction == ast::Direction::kAscending) out_ += " ASC";
            if (item.direction == ast::Direction::kDescending) out_ += " DESC";
        }
    }

    void subquery(std::string_view keyword, const ast::Query& q) {
        out_ += keyword;
        out_ += '(';
        indent_ += 4;
        new_line();
        query(q);
        indent_ -= 4;
        new_line();
        out_ += ')';
    }

    void list(std::span<const Expr* const> items) {
        std::string_view separator;
        for (const Expr* item : items) {
            out_ += separator;
            separator = ", ";
            expr(*item);
        }
    }

    void literal(const json::Value& v) {
        if (v.is_undefined()) {
            out_ += "undefined";
        } else if (v.is_number() && !std::isfinite(v.as_double())) {
            out_ += v.as_double() < 0 ? "-1e999" : "1e999";
        } else {
            json::write(out_, v, json::NumberForm::kCanonical);
        }
    }

    void path(const Expr& e) {
        const Expr& base = *e.args[0];
        // "1.a" would read as a malformed number.
        const bool guard = base.kind == ExprKind::kLiteral && base.value.is_number();
        if (guard) out_ += '(';
        expr(base);
        if (guard) out_ += ')';
        for (const ast::Step& step : e.steps) {
            if (step.kind == ast::StepKind::kName) {
                out_ += '.';
                out_ += step.name;
                continue;
            }
            out_ += '[';
            if (step.kind == ast::StepKind::kBracket) {
                json::write_string(out_, step.name);
            } else if (step.kind == ast::StepKind::kIndex) {
                literal(step.index);
            } else {
                expr(*step.expr);
            }
            out_ += ']';
        }
    }

    void object(const Expr& e) {
        out_ += '{';
        for (size_t i = 0; i < e.args.size(); ++i) {
            if (i > 0) out_ += ", ";
            json::write_string(out_, e.names[i]);
            out_ += ": ";
            expr(*e.args[i]);
        }
        out_ += '}';
    }

    void binary(const Expr& e) {
        out_.append(e.ops.size(), '(');
        expr(*e.args[0]);
        for (size_t i = 0; i < e.ops.size(); ++i) {
            out_ += ' ';
            out_ += ast::op_text(e.ops[i]);
            out_ += ' ';
            expr(*e.args[i + 1]);
            out_ += ')';
        }
    }

    void predicate(const Expr& e) {
        out_ += '(';
        expr(*e.args[0]);
        if (e.negated) out_ += " NOT";
        if (e.kind == ExprKind::kBetween) {
            out_ += " BETWEEN ";
            expr(*e.args[1]);
            out_ += " AND ";
            expr(*e.args[2]);
        } else if (e.kind == ExprKind::kIn) {
            out_ += " IN (";
            list(e.args.subspan(1));
            out_ += ')';
        } else {
            out_ += " LIKE ";
            expr(*e.args[1]);
            if (e.value.is_string()) {
                out_ += " ESCAPE ";
                literal(e.value);
            }
        }
        out_ += ')';
    }

    std::string& out_;
    const PrintForm form_;
    size_t indent_ = 0;
};

}  // namespace

void print(std::string& out, const ast::Expr& expr) {
    Printer(out, PrintForm::kOneLine).expr(expr);
}

std::string to_text(const ast::Expr& expr) {
    std::string out;
    print(out, expr);
    return out;
}

std::string to_text(const ast::Query& query, PrintForm form) {
    std::string out;
    Printer(out, form).query(query);
    return out;
}

}  // namespace orrery::query
