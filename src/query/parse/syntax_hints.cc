#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/encoding.h"
#include "base/spelling.h"
#include "query/parse/hints.h"
#include "query/parse/lexer.h"

/// Hints for syntax errors, from the tokens around the one that does not fit.
namespace orrery::query::hints {
namespace {

constexpr std::string_view kJoins =
    "JOIN works inside one item, as in FROM c JOIN t IN c.tags. There is no other kind of join, "
    "and none between items.";
constexpr std::string_view kCounts = "A count is a whole number, not negative, or a parameter.";

bool is_reserved(Tok kind) {
    return kind >= Tok::kAnd;
}

bool is_bracket_open(Tok kind) {
    return kind == Tok::kOpenParen || kind == Tok::kOpenBracket || kind == Tok::kOpenBrace;
}

bool is_bracket_close(Tok kind) {
    return kind == Tok::kCloseParen || kind == Tok::kCloseBracket || kind == Tok::kCloseBrace;
}

Tok closing(Tok open) {
    return open == Tok::kOpenParen     ? Tok::kCloseParen
           : open == Tok::kOpenBracket ? Tok::kCloseBracket
                                       : Tok::kCloseBrace;
}

std::string_view bracket_text(Tok close) {
    return close == Tok::kCloseParen ? ")" : close == Tok::kCloseBracket ? "]" : "}";
}

/// A value may be complete behind it.
bool ends_operand(Tok kind) {
    switch (kind) {
        case Tok::kIdentifier:
        case Tok::kParameter:
        case Tok::kNumber:
        case Tok::kString:
        case Tok::kStar:
        case Tok::kTrue:
        case Tok::kFalse:
        case Tok::kNull:
        case Tok::kUndefined:
            return true;
        default:
            return is_bracket_close(kind);
    }
}

bool starts_operand(Tok kind) {
    switch (kind) {
        case Tok::kExists:
        case Tok::kArray:
        case Tok::kUdf:
            return true;
        case Tok::kStar:
            return false;
        default:
            return is_bracket_open(kind) || (ends_operand(kind) && !is_bracket_close(kind));
    }
}

/// The place of a clause among others; 0 for what begins none.
int clause_rank(Tok kind) {
    switch (kind) {
        case Tok::kSelect:
            return 1;
        case Tok::kFrom:
        case Tok::kJoin:
            return 2;
        case Tok::kWhere:
            return 3;
        case Tok::kGroup:
            return 4;
        case Tok::kOrder:
            return 5;
        case Tok::kOffset:
            return 6;
        default:
            return 0;
    }
}

class SyntaxHint {
public:
    SyntaxHint(std::string_view text, uint32_t wrong, Form form)
        : form_(form), lexer_(text, arena_) {
        levels_.push_back({});
        Token token = lexer_.next();
        for (; token.kind != Tok::kEnd && token.range.start < wrong; token = lexer_.next()) {
            if (!note(token)) return;
            last2_ = last_;
            last_ = token;
        }
        wrong_ = token;
        next_ = lexer_.next();
        known_ = true;
    }

    std::string text() const {
        if (!known_) return {};
        using Rule = std::string (SyntaxHint::*)() const;
        for (const Rule rule : {&SyntaxHint::characters, &SyntaxHint::operators, &SyntaxHint::names,
                                &SyntaxHint::beginning, &SyntaxHint::dialects,
                                &SyntaxHint::selection, &SyntaxHint::lists, &SyntaxHint::subqueries,
                                &SyntaxHint::misspelt, &SyntaxHint::clauses, &SyntaxHint::operands,
                                &SyntaxHint::brackets, &SyntaxHint::neighbours})
            if (std::string hint = (this->*rule)(); !hint.empty()) return hint;
        return {};
    }

private:
    /// The text between a pair of brackets, or all of it.
    struct Level {
        Tok open = Tok::kEnd;
        Tok clause = Tok::kEnd;  ///< the one that the walk is in
        bool star = false;       ///< SELECT *
        bool value = false;      ///< SELECT VALUE
    };

    bool note(const Token& token) {
        constexpr size_t kLevelsMax = 1000;
        Level& level = levels_.back();
        if (is_bracket_open(token.kind)) {
            levels_.push_back({.open = token.kind});
        } else if (is_bracket_close(token.kind)) {
            if (levels_.size() > 1) levels_.pop_back();
        } else if (clause_rank(token.kind) != 0 && last_.kind != Tok::kDot) {
            level.clause = token.kind == Tok::kJoin ? Tok::kFrom : token.kind;
        } else if (level.clause == Tok::kSelect) {
            level.value = level.value || token.kind == Tok::kValue;
            level.star = level.star || (token.kind == Tok::kStar && !ends_operand(last_.kind));
        }
        return levels_.size() <= kLevelsMax;
    }

    bool is(const Token& token, std::string_view word) const {
        return token.kind == Tok::kIdentifier && equals_ignore_case(token.text, word);
    }
    /// The wrong word, or the one before it, which was taken for an alias.
    bool around(std::string_view word) const {
        return is(wrong_, word) || (last_is_alias() && is(last_, word));
    }
    bool last_is_alias() const {
        return last_.kind == Tok::kIdentifier && (ends_operand(last2_.kind));
    }
    bool begins() const { return last_.kind == Tok::kEnd; }
    /// The wrong token is a word of a clause, and what follows it fits.
    bool begins_clause() const {
        if (wrong_.kind == Tok::kOrder || wrong_.kind == Tok::kGroup) return next_.kind == Tok::kBy;
        return clause_rank(wrong_.kind) != 0 && starts_operand(next_.kind);
    }
    Tok clause() const { return levels_.back().clause; }
    static std::string quoted(const Token& token) {
        constexpr size_t kQuotedMax = 32;
        if (token.text.size() > kQuotedMax) return "it";
        return token.kind == Tok::kString ? std::string(token.text)
                                          : fmt::format("'{}'", token.text);
    }

    /// What is no token at all.
    std::string characters() const {
        const std::string_view text = wrong_.text;
        const bool number = wrong_.kind == Tok::kError || wrong_.kind == Tok::kNumber;
        if (number && text.size() > 1 && text[0] == '.' && ends_operand(last_.kind))
            return "A name that begins with a digit stands in brackets, as in c[\"1st\"].";
        if (wrong_.kind != Tok::kError) return {};
        switch (text[0]) {
            case '\'':
            case '"':
                return string_literal();
            case '!':
                return "Write NOT, or != between values.";
            case ';':
                return "A request holds one query, without a semicolon: leave it out.";
            case '`':
                return "A name that needs quotes stands in brackets, as in c[\"order\"].";
            case '@':
                return "A parameter is @ and a name, as in @name.";
            case '#':
            case '$':
            case '\\':
                return "A name with other characters than letters, digits and _ stands in "
                       "brackets, as in c[\"a$b\"].";
            default:
                break;
        }
        if (text[0] >= '0' && text[0] <= '9')
            return "This is no number. A name that begins with a digit stands in brackets, as in "
                   "c[\"1st\"].";
        if (static_cast<unsigned char>(text[0]) >= 0x80)
            return "An invisible character stands here, such as a no-break space: write a plain "
                   "space.";
        return {};
    }

    std::string string_literal() const {
        const std::string_view text = wrong_.text;
        if (static_cast<unsigned char>(text.back()) < 0x20)
            return "A string ends on its line: close it, or write a line break as \\n.";
        if (next_.kind == Tok::kEnd && (text.size() == 1 || text.back() != text.front()))
            return "The string has no closing quote.";
        return "Behind a backslash stands one of ' \" \\ / b f n r t or uXXXX; write a backslash "
               "itself as \\\\.";
    }

    std::string operators() const {
        const bool touching = last_.range.end == wrong_.range.start;
        if (!touching) return {};
        if (wrong_.kind == Tok::kString && last_.kind == Tok::kString)
            return "A quote inside a string is written \\' or \\\", not twice.";
        if (wrong_.kind == Tok::kEqual && last_.kind == Tok::kEqual)
            return "Equality is written with one =.";
        if (wrong_.kind == Tok::kEqual && last_.kind == Tok::kNotEqual) return "Write !=.";
        if (wrong_.kind == Tok::kGreater && last_.kind == Tok::kEqual) return "Write >=.";
        if (wrong_.kind == Tok::kLess && last_.kind == Tok::kEqual) return "Write <=.";
        if (wrong_.kind == Tok::kAmpersand && last_.kind == Tok::kAmpersand) return "Write AND.";
        return {};
    }

    /// Behind a dot and behind AS.
    std::string names() const {
        if (last_.kind == Tok::kDot) {
            if (is_reserved(wrong_.kind) && !begins_clause())
                return fmt::format("{} is a reserved word: write [\"{}\"] instead of .{}.",
                                   quoted(wrong_), wrong_.text, wrong_.text);
            if (wrong_.kind == Tok::kParameter)
                return fmt::format("A parameter in a path stands in brackets: [{}].", wrong_.text);
            if (wrong_.kind == Tok::kStar)
                return "Write SELECT * for whole items, or SELECT VALUE c.";
            return "A name is expected behind the dot; any text may stand in brackets, as in "
                   "c[\"my name\"].";
        }
        if (last_.kind == Tok::kAs) {
            if (is_reserved(wrong_.kind))
                return fmt::format("{} is a reserved word and no alias: choose another name.",
                                   quoted(wrong_));
            if (wrong_.kind == Tok::kString)
                return "An alias has no quotes. For other names build the object: SELECT VALUE "
                       "{\"my name\": c.a}.";
            return "AS is followed by a name.";
        }
        return {};
    }

    std::string beginning() const {
        if (!begins()) return {};
        if (form_ == Form::kCondition) return "A condition is of the form FROM c WHERE c.a = 1.";
        for (const std::string_view verb : {"INSERT", "UPSERT", "UPDATE", "DELETE", "MERGE",
                                            "CREATE", "DROP", "ALTER", "TRUNCATE"})
            if (is(wrong_, verb))
                return "Queries only read. Items are written by the operations on items: create, "
                       "replace, upsert, patch, delete.";
        if (is_misspelt(wrong_.text, "SELECT")) return "Did you mean SELECT?";
        return "A query begins with SELECT, as in SELECT * FROM c.";
    }

    /// What other languages have.
    std::string dialects() const {
        if (around("IS")) return "Write IS_NULL(x), or IS_DEFINED(x) for what may be missing.";
        if (around("HAVING"))
            return "There is no HAVING. Filter groups in an outer query: SELECT * FROM (SELECT "
                   "c.a, COUNT(1) AS n FROM c GROUP BY c.a) AS g WHERE g.n > 1.";
        if (around("UNION") || around("INTERSECT") || around("EXCEPT"))
            return "There is no UNION: combine the conditions with OR, or send two queries.";
        if (is(last_, "CASE") || around("WHEN"))
            return "There is no CASE: write condition ? a : b, or IIF(condition, a, b).";
        if (around("ILIKE") || around("REGEXP") || around("RLIKE"))
            return "Write CONTAINS(x, 'part', true), which ignores case, or REGEXMATCH(x, "
                   "'pattern', 'i').";
        const bool side = wrong_.kind == Tok::kLeft || wrong_.kind == Tok::kRight;
        if (clause() == Tok::kFrom &&
            (side || around("INNER") || around("OUTER") || around("CROSS") || around("FULL") ||
             around("ON") || wrong_.kind == Tok::kComma))
            return std::string(kJoins);
        if (last_.kind == Tok::kOpenParen && is(last2_, "COUNT")) {
            if (wrong_.kind == Tok::kStar) return "Write COUNT(1).";
            if (wrong_.kind == Tok::kDistinct)
                return "Count different values so: SELECT VALUE COUNT(1) FROM (SELECT DISTINCT "
                       "VALUE c.a FROM c).";
        }
        if (wrong_.kind == Tok::kLimit && clause() != Tok::kOffset)
            return "LIMIT stands behind OFFSET: OFFSET 0 LIMIT 10. Or write SELECT TOP 10.";
        if (last2_.kind == Tok::kOffset)
            return "OFFSET is followed by LIMIT, as in OFFSET 10 LIMIT 20.";
        return {};
    }

    std::string selection() const {
        if (clause() != Tok::kSelect) return {};
        if (wrong_.kind == Tok::kDistinct ||
            (wrong_.kind == Tok::kTop && !ends_operand(last_.kind)))
            return "The order of words is SELECT DISTINCT TOP 10 VALUE.";
        if (wrong_.kind != Tok::kComma) return {};
        if (levels_.back().star)
            return "A * stands alone. Name what you want, as in SELECT c, c.a.";
        if (levels_.back().value)
            return "SELECT VALUE has one expression. Leave VALUE out, or make one value of "
                   "several: SELECT VALUE [c.a, c.b].";
        return {};
    }

    std::string lists() const {
        if (last_.kind == Tok::kTop || last_.kind == Tok::kOffset || last_.kind == Tok::kLimit)
            return std::string(kCounts);
        if (last_.kind == Tok::kIn && clause() == Tok::kFrom)
            return "IN is followed by an array of the item, as in FROM x IN c.list.";
        if (last_.kind == Tok::kIn)
            return "IN is followed by values in parentheses, as in c.a IN (1, 2). For an array "
                   "write ARRAY_CONTAINS(@list, c.a).";
        if (last_.kind == Tok::kOpenParen && last2_.kind == Tok::kIn &&
            wrong_.kind == Tok::kCloseParen)
            return "The list of IN has at least one value.";
        if (last_.kind == Tok::kUdf) return "A user-defined function is called as udf.name(...).";
        if (last_.kind == Tok::kEscape) return std::string(kEscape);
        if ((last_.kind == Tok::kOrder || last_.kind == Tok::kGroup) && wrong_.kind != Tok::kBy &&
            starts_operand(wrong_.kind))
            return fmt::format("{} is followed by BY.", to_upper_ascii(last_.text));
        return {};
    }

    std::string subqueries() const {
        if (wrong_.kind != Tok::kSelect) return {};
        if (last_.kind != Tok::kOpenParen) return "A subquery stands in parentheses.";
        if (last2_.kind == Tok::kIn)
            return "IN has no subquery. Write ARRAY_CONTAINS(ARRAY(SELECT VALUE ...), c.a), or "
                   "EXISTS(SELECT VALUE x FROM x IN c.list WHERE ...).";
        if (last2_.kind == Tok::kIdentifier)
            return "A subquery has parentheses of its own, also inside those of a call.";
        return {};
    }

    std::string misspelt() const {
        constexpr std::array<std::string_view, 18> kWords = {
            "FROM", "WHERE",   "ORDER", "GROUP", "JOIN", "OFFSET", "LIMIT",  "DISTINCT", "VALUE",
            "LIKE", "BETWEEN", "AND",   "NOT",   "DESC", "ASC",    "EXISTS", "ESCAPE",   "SELECT"};
        const auto meant = [&](const Token& token) -> std::string {
            if (token.kind != Tok::kIdentifier) return {};
            for (const std::string_view word : kWords)
                if (is_misspelt(token.text, word))
                    return fmt::format("Did you mean {} where it says {}?", word, quoted(token));
            return {};
        };
        if (std::string hint = meant(wrong_); !hint.empty()) return hint;
        if (!last_is_alias()) return {};
        return meant(last_);
    }

    std::string clauses() const {
        const int rank = clause_rank(wrong_.kind);
        if (rank == 0 || !ends_operand(last_.kind) || levels_.back().open == Tok::kOpenBracket ||
            levels_.back().open == Tok::kOpenBrace)
            return {};
        if (levels_.back().clause == Tok::kEnd || rank > clause_rank(levels_.back().clause))
            return {};
        return "The clauses stand in this order, each once: SELECT, FROM with its JOINs, WHERE, "
               "GROUP BY, ORDER BY, OFFSET LIMIT.";
    }

    /// Where a value should be.
    std::string operands() const {
        if (ends_operand(last_.kind) || last_.kind == Tok::kEnd) return {};
        if (last_.kind == Tok::kFrom || last_.kind == Tok::kJoin)
            return fmt::format(
                "{} is followed by a name or path, as in FROM c or JOIN t IN c.tags.",
                to_upper_ascii(last_.text));
        const bool word_between = wrong_.kind == Tok::kAnd || wrong_.kind == Tok::kOr ||
                                  wrong_.kind == Tok::kAs || wrong_.kind == Tok::kLike ||
                                  wrong_.kind == Tok::kIn || wrong_.kind == Tok::kBetween ||
                                  wrong_.kind == Tok::kBy || wrong_.kind == Tok::kAsc ||
                                  wrong_.kind == Tok::kDesc || wrong_.kind == Tok::kLimit;
        if (is_reserved(wrong_.kind) && !begins_clause() && !word_between &&
            wrong_.kind != Tok::kSelect && !starts_operand(wrong_.kind))
            return fmt::format(
                "{} is a reserved word. For a property of that name write c[\"{}\"].",
                quoted(wrong_), wrong_.text);
        if (starts_operand(wrong_.kind)) return {};
        if (last_.kind == Tok::kComma)
            return "Another item is expected behind the comma; leave the comma out if there is "
                   "none.";
        return fmt::format("An expression is expected behind {}, such as c.name, 'text' or 5.",
                           quoted(last_));
    }

    std::string brackets() const {
        const Level& level = levels_.back();
        if (wrong_.kind == Tok::kEnd && levels_.size() > 1)
            return fmt::format("A closing {} is missing.", bracket_text(closing(level.open)));
        if (levels_.size() > 1 && level.clause == Tok::kEnd && clause_rank(wrong_.kind) != 0)
            return fmt::format("A closing {} is missing before {}.",
                               bracket_text(closing(level.open)), quoted(wrong_));
        if (!is_bracket_close(wrong_.kind)) return {};
        if (levels_.size() == 1) return "There is no bracket that it closes.";
        if (closing(level.open) != wrong_.kind)
            return fmt::format("A {} is expected here.", bracket_text(closing(level.open)));
        return {};
    }

    std::string neighbours() const {
        const bool goes_on = wrong_.kind == Tok::kDot || is_bracket_open(wrong_.kind);
        const bool named = goes_on && last_is_alias();
        if (!named && (!ends_operand(last_.kind) || !starts_operand(wrong_.kind))) return {};
        return fmt::format("An operator, a comma or a keyword is missing before {}.",
                           quoted(named ? last_ : wrong_));
    }

    const Form form_;
    json::Arena arena_;
    Lexer lexer_;
    bool known_ = false;
    Token last2_;
    Token last_;
    Token wrong_;
    Token next_;
    std::vector<Level> levels_;
};

}  // namespace

std::string syntax(std::string_view text, uint32_t wrong, Form form) {
    return SyntaxHint(text, wrong, form).text();
}

}  // namespace orrery::query::hints
