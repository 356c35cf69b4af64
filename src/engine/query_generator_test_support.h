#pragma once

#include <array>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <vector>

/// Random items and random valid queries over them. Few paths and small domains, so that filters
/// meet values, values meet each other, and every kind of value meets every kind of condition.
namespace orrery::engine::testing_support {

class QueryGenerator {
public:
    explicit QueryGenerator(uint64_t seed) : engine_(seed) {}

    uint64_t below(uint64_t n) { return engine_() % n; }
    bool chance(uint64_t percent) { return below(100) < percent; }
    std::string one_of(std::initializer_list<const char*> list) {
        return *(list.begin() + below(list.size()));
    }

    // --- items ----------------------------------------------------------------------------------

    std::string partition_key() {
        return one_of({R"("p1")", R"("p2")", R"("p3")", R"("p4")", "7"});
    }

    std::string item(uint64_t number, bool with_ttl) {
        std::string out = R"({"id":"i)" + std::to_string(number) + R"(","pk":)" + partition_key();
        const auto member = [&](const char* name, uint64_t percent, const std::string& value) {
            if (chance(percent)) out += std::string(",\"") + name + "\":" + value;
        };
        member("a", 85, value(2));
        member("b", 90, chance(85) ? std::to_string(below(6)) : value(1));
        member("n", 80, small_number());
        member("s", 85, chance(90) ? string() : value(1));
        member("arr", 70, array(2));
        member("o", 70, object(2));
        member("ü", 40, value(1));
        member("q\\\"t", 20, value(0));
        if (with_ttl) member("ttl", 50, one_of({"1", "5", "20", "-1", "100"}));
        return out + "}";
    }

    // --- queries --------------------------------------------------------------------------------

    struct Query {
        std::string text;
        std::string parameters = "[]";
    };

    Query query(bool composites) {
        parameters_.clear();
        join_ = chance(20);
        std::string text = "SELECT ";
        std::string tail;
        const uint64_t kind = below(100);
        if (kind < 12) {
            text += aggregates();
        } else if (kind < 27) {
            tail = group_by(text);
        } else {
            tail = rows(text, composites);
        }
        text += " FROM c";
        if (join_) text += chance(80) ? " JOIN t IN c.arr" : " JOIN t IN c.o.l";
        if (chance(6)) {
            text += " WHERE " + pinned();
        } else if (chance(85)) {
            text += " WHERE " + condition(2);
        }
        Query out;
        out.text = text + tail;
        out.parameters = parameter_list();
        return out;
    }

    /// A query for ids whose every row is an item of its own.
    Query id_query() {
        parameters_.clear();
        join_ = false;
        Query out;
        out.text = "SELECT VALUE c.id FROM c";
        if (chance(70)) out.text += " WHERE " + condition(1);
        if (chance(60)) out.text += " ORDER BY " + item_path() + one_of({"", " ASC", " DESC"});
        out.parameters = parameter_list();
        return out;
    }

    /// A partition key definition; a query within "pk" stays within a key or a prefix.
    std::string key_definition() {
        return one_of({R"({"paths":["/pk"],"kind":"Hash","version":2})",
                       R"({"paths":["/pk"],"kind":"Hash","version":2})",
                       R"({"paths":["/pk"],"kind":"Hash","version":1})",
                       R"({"paths":["/pk","/id"],"kind":"MultiHash","version":2})"});
    }

    /// An indexing policy as JSON; empty: the default one. `composites`: it has composite indexes.
    /// `complete`: it leaves no path out.
    std::string policy(bool& composites, bool& complete) {
        composites = false;
        complete = false;
        switch (below(8)) {
            case 0:
                return R"({"indexingMode":"none","automatic":false})";
            case 1:
                return R"({"includedPaths":[{"path":"/a/?"},{"path":"/o/*"},{"path":"/b/?"},{"path":"/arr/[]/?"}],"excludedPaths":[{"path":"/*"}]})";
            case 2:
                return R"({"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/a/*"},{"path":"/s/?"},{"path":"/o/q/*"}]})";
            case 3:
                return R"({"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/arr/*"},{"path":"/\"ü\"/?"}]})";
            case 4:
            case 5:
                composites = true;
                complete = true;
                return R"({"includedPaths":[{"path":"/*"},{"path":"/b/?"}],"compositeIndexes":[)"
                       R"([{"path":"/b","order":"ascending"},{"path":"/a","order":"descending"}],)"
                       R"([{"path":"/s","order":"ascending"},{"path":"/b","order":"ascending"}],)"
                       R"([{"path":"/pk","order":"ascending"},{"path":"/a","order":"ascending"}]]})";
            default:
                complete = true;
                return "";
        }
    }

private:
    std::string parameter_list() const {
        std::string out = "[";
        for (size_t i = 0; i < parameters_.size(); ++i) {
            if (i > 0) out += ',';
            out += R"({"name":"@p)" + std::to_string(i) + R"(","value":)" + parameters_[i] + "}";
        }
        return out + "]";
    }
    std::string small_number() {
        if (chance(4)) return one_of({"null", R"("z")", "true"});
        return one_of({"0", "1", "2", "3", "-1", "0.5", "2.5", "-2", "1.0", "4"});
    }
    std::string number() {
        return one_of({"0", "-0", "1", "1.0", "2", "3", "-1", "1.5", "-2.5", "1e2",
                       "9007199254740991", "9007199254740992", "9007199254740993",
                       "-9007199254740993", "9223372036854775807", "1e300", "0.1"});
    }
    std::string string() {
        if (chance(10)) {
            // Longer than what the index holds of a string; equal up to there, or not.
            std::string text(chance(70) ? 256 : 250 + below(12), 'k');
            text += one_of({"", "a", "b", "é", "ab"});
            return '"' + text + '"';
        }
        return one_of({R"("")", R"("a")", R"("ab")", R"("abc")", R"("abd")", R"("ABC")", R"("b")",
                       R"("x%y")", R"("x_y")", R"("é")", R"("éa")", R"("😀")", R"("z\nq")",
                       R"("q\"t")", R"("7")", R"("true")"});
    }
    std::string scalar() {
        switch (below(8)) {
            case 0:
                return "null";
            case 1:
                return one_of({"true", "false"});
            case 2:
            case 3:
            case 4:
                return number();
            default:
                return string();
        }
    }
    std::string value(int depth) {
        if (depth > 0 && chance(20)) return chance(50) ? array(depth - 1) : object(depth - 1);
        return scalar();
    }
    std::string array(int depth) {
        std::string out = "[";
        for (uint64_t n = below(4); n > 0; --n) {
            if (out.size() > 1) out += ',';
            if (chance(40)) {
                out += R"({"k":)" + std::to_string(below(3)) + R"(,"v":)" + scalar() + "}";
            } else {
                out += value(depth);
            }
        }
        return out + "]";
    }
    std::string object(int depth) {
        std::string out = R"({"p":)" + (chance(70) ? std::to_string(below(4)) : value(depth));
        if (chance(60)) out += R"(,"q":{"r":)" + value(0) + "}";
        if (chance(50)) out += R"(,"l":)" + array(depth > 0 ? depth - 1 : 0);
        return out + "}";
    }

    // --- expressions
    // ------------------------------------------------------------------------------

    std::string path() {
        if (join_ && chance(35)) return one_of({"t", "t.k", "t.v", "t"});
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

    std::string condition(int depth) {
        if (depth > 0 && chance(45)) {
            switch (below(5)) {
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
    std::string predicate() {
        switch (below(24)) {
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

    // --- clauses
    // ----------------------------------------------------------------------------------

    std::string aggregate() {
        switch (below(8)) {
            case 0:
            case 1:
                return "COUNT(1)";
            case 2:
            case 3:
                return "COUNT(" + path() + ")";
            case 4:
                return one_of({"SUM(c.n)", "SUM(c.n)", "AVG(c.n)"});
            case 5:
                return "COUNTIF(" + predicate() + ")";
            default:
                return one_of({"MIN(", "MAX("}) + path() + ")";
        }
    }
    std::string aggregates() {
        if (chance(60)) return "VALUE " + aggregate();
        std::string out;
        for (uint64_t n = below(3) + 1; n > 0; --n)
            out += (out.empty() ? "" : ", ") + aggregate() + " AS x" + std::to_string(n);
        return out;
    }
    std::string group_by(std::string& select) {
        std::vector<std::string> keys;
        for (uint64_t n = chance(80) ? 1 : 2; n > 0; --n) {
            const std::string key = item_path();
            if (keys.empty() || keys[0] != key) keys.push_back(key);
        }
        std::string clause = " GROUP BY ";
        for (size_t i = 0; i < keys.size(); ++i) {
            if (i > 0) {
                select += ", ";
                clause += ", ";
            }
            select += keys[i] + " AS g" + std::to_string(i);
            clause += keys[i];
        }
        for (uint64_t n = below(3); n > 0; --n)
            select += ", " + aggregate() + " AS x" + std::to_string(n);
        return clause + (chance(15) ? window() : "");
    }
    std::string projection() {
        switch (below(8)) {
            case 0:
            case 1:
                return join_ ? "VALUE c" : one_of({"*", "VALUE c"});
            case 2:
            case 3:
                return "VALUE " + path();
            case 4:
                return "VALUE " +
                       one_of({"c.b + 1", "[c.a, c.b]", "c.s || '!'", "{\"x\": c.o.p, \"y\": c.s}",
                               "ARRAY(SELECT VALUE x FROM x IN c.arr WHERE IS_NUMBER(x))", "c.id"});
            default: {
                std::string out = "c.id";
                for (uint64_t n = below(3); n > 0; --n)
                    out += ", " + path() + " AS y" + std::to_string(n);
                return out;
            }
        }
    }
    std::string window() {
        return " OFFSET " + std::to_string(below(6)) + " LIMIT " +
               std::to_string(chance(10) ? 0 : below(12) + 1);
    }
    std::string rows(std::string& select, bool composites) {
        const bool distinct = chance(15);
        const bool ordered = chance(45);
        const bool top = chance(15);
        if (distinct) select += "DISTINCT ";
        if (top) select += "TOP " + std::to_string(below(8)) + " ";
        std::string tail;
        if (ordered) {
            if (composites && chance(50)) {
                tail = " ORDER BY " +
                       one_of({"c.b, c.a DESC", "c.b DESC, c.a", "c.s, c.b", "c.s DESC, c.b DESC",
                               "c.pk, c.a", "c.pk DESC, c.a DESC"});
            } else {
                tail = " ORDER BY " + item_path() + one_of({"", " ASC", " DESC"});
            }
        }
        select += projection();
        if (!top && chance(20)) tail += window();
        return tail;
    }

    std::mt19937_64 engine_;
    bool join_ = false;
    std::vector<std::string> parameters_;
};

}  // namespace orrery::engine::testing_support
