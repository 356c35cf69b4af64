#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/item_generator_test_support.h"

namespace orrery::engine::testing_support {

/// Random conditions over random items.
class ConditionGenerator : public ItemGenerator {
public:
    using ItemGenerator::ItemGenerator;

protected:
    /// A query begins, without parameters. `joined`: there is a `t` that paths may name.
    void begin(bool joined) {
        parameters_.clear();
        joined_ = joined;
    }
    bool joined() const { return joined_; }
    std::string parameter_list() const {
        std::string out = "[";
        for (size_t i = 0; i < parameters_.size(); ++i) {
            if (i > 0) out += ',';
            out += R"({"name":"@p)" + std::to_string(i) + R"(","value":)" + parameters_[i] + "}";
        }
        return out + "]";
    }
    std::string path() {
        if (joined_ && chance(35)) return one_of({"t", "t.k", "t.v", "t"});
        return one_of(
            {"c.a",        "c.a",       "c.a",       "c.b",          "c.b",     "c.b",
             "c.n",        "c.s",       "c.s",       "c.s",          "c.arr",   "c.arr[0]",
             "c.arr[1].k", "c.o",       "c.o.p",     "c.o.p",        "c.o.q.r", R"(c.o["q"]["r"])",
             "c.o.l",      "c.missing", R"(c["ü"])", R"(c["q\"t"])", "c.pk",    "c.id",
             "c.a.p"});
    }
    std::string item_path() {
        return one_of({"c.a", "c.a", "c.b", "c.b", "c.n", "c.s", "c.s", "c.o.p", "c.o.q.r",
                       "c.missing", R"(c["ü"])", "c.pk", "c.id", "c.arr", "c.o"});
    }
    std::string literal_text() {
        switch (below(12)) {
            case 0:
                return array(0);
            case 1:
                return object(0);
            case 2:
                return partition_key();
            case 3:
                return R"("i)" + std::to_string(below(40)) + '"';
            case 4:
            case 5:
                return std::to_string(below(6));
            case 6:
            case 7:
                return string();
            default:
                return scalar();
        }
    }
    std::string literal() { return constant(literal_text()); }
    /// A JSON value in the query, written out or as a parameter.
    std::string constant(const std::string& text) {
        if (chance(75)) return text;
        parameters_.push_back(text);
        return "@p" + std::to_string(parameters_.size() - 1);
    }
    std::string pattern() {
        return one_of({R"("a%")", R"("ab%")", R"("%b")", R"("%b%")", R"("abc")", R"("a_c")",
                       R"("")", R"("%")", R"("x[%]y")", R"("é%")", R"("kkkkkk%")", R"("[a-b]%")",
                       R"("_")"});
    }
    std::string comparison() { return one_of({"=", "=", "=", "=", "!=", "<", "<=", ">", ">="}); }

    /// Must be tried on values of its path.
    std::string value_test() {
        const std::string path = item_path();
        const std::string ignore_case = one_of({"", "", ", true", ", false"});
        switch (below(9)) {
            case 0:
            case 1:
                return "CONTAINS(" + path + ", " + constant(string()) + ignore_case + ")";
            case 2:
                return "ENDSWITH(" + path + ", " + constant(string()) + ignore_case + ")";
            case 3:
                return path + one_of({" LIKE ", " LIKE ", " NOT LIKE "}) + constant(pattern());
            case 4:
                return "RegexMatch(" + path + ", " +
                       one_of({R"("d$")", R"("^.b.$")", R"("k+b$")", R"("^[A-Z]")"}) + ")";
            case 5:
                return "UPPER(" + path + ") = " + one_of({"'ABC'", "'B'", "'ABD'", "'É'"});
            case 6:
                return "NOT CONTAINS(" + path + ", " + constant(string()) + ")";
            case 7:
                return "LENGTH(" + path + ") = " + std::to_string(below(5));
            default:
                return path + " * 2 = " + std::to_string(2 * below(6));
        }
    }
    /// An OR with tests of values, or the like of it.
    std::string either() {
        std::string out = value_test();
        for (uint64_t n = below(3) + 1; n > 0; --n) {
            out += " OR ";
            if (chance(60)) {
                out += value_test();
            } else if (chance(50)) {
                out += predicate();
            } else {
                out += "(" + predicate() + " AND " + value_test() + ")";
            }
        }
        if (chance(15)) return "NOT (" + value_test() + " AND (" + out + "))";
        return "(" + out + ")";
    }

    std::string condition(int depth) {
        if (depth > 0 && chance(15)) return either();
        if (depth > 0 && chance(45)) {
            switch (below(6)) {
                case 5:
                    return twisted(depth - 1);
                case 0:
                    return "NOT (" + condition(depth - 1) + ")";
                case 1:
                case 2:
                    return "(" + condition(depth - 1) + " OR " + condition(depth - 1) + ")";
                default:
                    return condition(depth - 1) + " AND " + condition(depth - 1);
            }
        }
        return predicate();
    }
    /// Truth values as values.
    std::string twisted(int depth) {
        const std::string inner = "(" + condition(depth) + ")";
        switch (below(6)) {
            case 0:
                return "(" + inner + one_of({" = ", " != "}) +
                       one_of({"true", "false", "null", "undefined", "1"}) + ")";
            case 1:
                return "(" + inner + " ? " + condition(depth) + " : " + condition(depth) + ")";
            case 2:
                return "IIF(" + inner + ", " + predicate() + ", " + one_of({"true", "false"}) + ")";
            case 3:
                return "(" + inner + " ?? " + one_of({"true", "false"}) + ")";
            case 4:
                return "NOT " + inner;
            default:
                return inner + one_of({" IN (true)", " IN (true, null)", " IN (false, 1)"});
        }
    }
    /// A filter by where things are.
    std::string spatial() {
        const std::string where = chance(85) ? "c.g" : path();
        const std::string other = constant(geometry());
        const bool swapped = chance(30);
        const std::string pair =
            "(" + (swapped ? other : where) + ", " + (swapped ? where : other) + ")";
        switch (below(5)) {
            case 0:
                return "ST_WITHIN" + pair;
            case 1:
                return "ST_INTERSECTS" + pair;
            case 2:
                return "ST_ISVALID(" + where + ")";
            default:
                return "ST_DISTANCE" + pair + ' ' + one_of({"<", "<=", "<", ">", "="}) + ' ' +
                       one_of({"0", "1", "150", "30000", "2e7", "-1"});
        }
    }
    /// Conditions inside an item's arrays.
    std::string over_elements() {
        const std::string list = one_of({"c.arr", "c.o.l", "c.a"});
        const std::string element = one_of({"x", "x.k", "x.v"});
        switch (below(6)) {
            case 0:
                return "(SELECT VALUE COUNT(1) FROM x IN " + list + " WHERE " + element + ' ' +
                       comparison() + ' ' + literal() + ") " + comparison() + ' ' +
                       std::to_string(below(3));
            case 1:
                return "EXISTS(SELECT VALUE x FROM x IN " + list + " WHERE " + element + " = " +
                       one_of({"c.b", "c.n", "c.o.p", "c.s"}) + ")";
            case 2:
                return "ARRAY_LENGTH(ARRAY(SELECT VALUE " + element + " FROM x IN " + list + ")) " +
                       comparison() + ' ' + std::to_string(below(3));
            case 3:
                return "EXISTS(SELECT x FROM x IN " + list + " WHERE " + element + ' ' +
                       comparison() + ' ' + literal() + " AND c.b " + comparison() + ' ' +
                       std::to_string(below(6)) + ")";
            case 4:
                return "NOT EXISTS(SELECT VALUE " + element + " FROM x IN " + list + ")";
            default:
                return "(SELECT VALUE " + one_of({"MIN", "MAX", "SUM"}) + "(x) FROM x IN " + list +
                       ") " + comparison() + ' ' + literal();
        }
    }
    /// Other functions that the index serves, or nearly serves.
    std::string function_call() {
        switch (below(12)) {
            case 0:
                return "ARRAY_CONTAINS([" + literal() + ", " + literal() + "], " + path() + ")";
            case 1:
                return one_of({"ARRAY_CONTAINS_ANY(", "ARRAY_CONTAINS_ALL("}) + path() + ", " +
                       literal() + ", " + literal() + ")";
            case 2:
                return one_of({"CONTAINS_ANY_CI(", "CONTAINS_ALL_CS(", "CONTAINS_ANY_CS("}) +
                       path() + ", " + string() + ", " + string() + ")";
            case 3:
                return "LEFT(" + path() + ", " + std::to_string(below(4)) + ") = " + string();
            case 4:
                return "SUBSTRING(" + path() + ", " + std::to_string(below(2)) +
                       ", 2) = " + string();
            case 5:
                return path() + " LIKE " +
                       one_of({"'x#%y' ESCAPE '#'", "'ab!%' ESCAPE '!'", "'a%' ESCAPE 'a'",
                               "'%#_%' ESCAPE '#'"});
            case 6:
                return "TOSTRING(" + path() + ") = " + one_of({"'1'", "'true'", "'abc'", "'null'"});
            case 7:
                return "LOWER(" + path() + ") " + comparison() + ' ' + string();
            case 8:
                return path() + " BETWEEN " + path() + " AND " + literal();
            case 9:
                return "(" + path() + " ?? " + literal() + ") " + comparison() + ' ' + literal();
            case 10:
                return "INDEX_OF(" + path() + ", " + string() + ") " + comparison() + " 0";
            default:
                return one_of({"ROUND(", "FLOOR(", "ABS(", "SIGN("}) + path() + ") " +
                       comparison() + ' ' + std::to_string(below(4));
        }
    }
    std::string predicate() {
        switch (below(28)) {
            case 24:
                return spatial();
            case 25:
                return over_elements();
            case 26:
            case 27:
                return function_call();
            case 0:
            case 1:
            case 2:
            case 3:
            case 4:
                return path() + ' ' + comparison() + ' ' + literal();
            case 5:
                return literal() + ' ' + comparison() + ' ' + path();
            case 6:
                return path() + ' ' + comparison() + ' ' + path();
            case 7:
            case 8: {
                std::string out = path() + one_of({" IN (", " IN (", " NOT IN ("}) + literal();
                for (uint64_t n = below(4); n > 0; --n) out += ", " + literal();
                return out + ")";
            }
            case 9:
            case 10: {
                const bool numbers = chance(60);
                const auto bound = [&] {
                    if (chance(10)) return literal();
                    return constant(numbers ? number() : string());
                };
                return path() + one_of({" BETWEEN ", " BETWEEN ", " NOT BETWEEN "}) + bound() +
                       " AND " + bound();
            }
            case 11:
                return path() + one_of({" LIKE ", " LIKE ", " NOT LIKE "}) + constant(pattern());
            case 12:
            case 13:
                return one_of(
                           {"STARTSWITH", "STARTSWITH", "CONTAINS", "ENDSWITH", "StringEquals"}) +
                       "(" + path() + ", " + constant(string()) +
                       one_of({"", "", ", true", ", false"}) + ")";
            case 14:
                return "RegexMatch(" + path() + ", " +
                       one_of({R"("^a")", R"("b$")", R"("^ab.*")", R"("x")", R"("^k+b$")"}) +
                       one_of({"", R"(, "i")"}) + ")";
            case 15:
            case 16:
                return "ARRAY_CONTAINS(" + path() + ", " +
                       (chance(30) ? R"({"k": )" + std::to_string(below(3)) + "}" : literal()) +
                       one_of({"", "", ", true"}) + ")";
            case 17:
            case 18:
                return one_of({"IS_DEFINED", "IS_DEFINED", "IS_NULL", "IS_NUMBER", "IS_STRING",
                               "IS_BOOL", "IS_ARRAY", "IS_OBJECT", "IS_PRIMITIVE", "IS_INTEGER"}) +
                       "(" + path() + ")";
            case 19:
                return "EXISTS(SELECT VALUE x FROM x IN " + one_of({"c.arr", "c.o.l", "c.a"}) +
                       " WHERE " + one_of({"x", "x.k", "x.v"}) + ' ' + comparison() + ' ' +
                       literal() + ")";
            case 20:
                return one_of({"c.b + 1 > 3", "c.b % 2 = 0", "LENGTH(c.s) > 2",
                               "UPPER(c.s) = 'ABC'", "c.n * 2 = 4", "ABS(c.n) = 1",
                               "ARRAY_LENGTH(c.arr) > 1", "LEFT(c.s, 2) = 'ab'",
                               "c.s || 'x' = 'abx'", "c.o.p ?? 3 = 3"});
            case 21:
                return path();
            case 22:
                return one_of({"true", "false", "null", "undefined", "1 = 1"});
            default:
                return chance(50) ? "c.pk = " + constant(partition_key())
                                  : "c.id = " + constant(R"("i)" + std::to_string(below(70)) + '"');
        }
    }

    /// Conjuncts that a composite index of policy() says together, and perhaps others.
    std::string composite_filter() {
        const auto is = [this](const std::string& path, bool key = false) {
            const std::string number = std::to_string(below(4));
            return path + " = " + constant(key ? partition_key() : chance(70) ? number : scalar());
        };
        const auto limited = [&](const std::string& path) {
            return chance(60) ? is(path) : path + ' ' + comparison() + ' ' + literal();
        };
        std::string out;
        switch (below(4)) {
            case 0:
                out = is("c.b") + " AND " + limited("c.a");
                break;
            case 1:
                out = "c.s = " + constant(string()) + " AND " + limited("c.b");
                break;
            case 2:
                out = is("c.pk", true) + " AND " + limited("c.a");
                break;
            default:
                out = is("c.pk", true) + " AND " + is("c.a") + " AND " + limited("c.b");
        }
        if (chance(30)) out = condition(1) + " AND " + out;
        return out;
    }

    /// Names items by id and key.
    std::string pinned() {
        std::string out;
        for (uint64_t n = chance(60) ? 1 : 3; n > 0; --n) {
            if (!out.empty()) out += " OR ";
            out += "(c.id = " + constant(R"("i)" + std::to_string(below(70)) + '"') +
                   " AND c.pk = " + constant(partition_key()) + ")";
        }
        return out;
    }

private:
    bool joined_ = false;
    std::vector<std::string> parameters_;
};

}  // namespace orrery::engine::testing_support
