#pragma once

#include <algorithm>
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
        member("g", 45, chance(90) ? geometry() : value(1));
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
        Query out;
        if (chance(4)) {
            out.text = chance(50) ? distinct_count() : over_subquery();
            out.parameters = parameter_list();
            return out;
        }
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
        if (join_) text += join();
        if (composites && chance(25)) {
            text += " WHERE " + composite_filter();
        } else if (chance(6)) {
            text += " WHERE " + pinned();
        } else if (chance(85)) {
            text += " WHERE " + condition(2);
        }
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
        switch (below(10)) {
            case 8:
                complete = true;
                return R"({"spatialIndexes":[{"path":"/g/*"},{"path":"/arr/*","types":["Point"]}]})";
            case 9:
                return R"({"includedPaths":[{"path":"/b/?"},{"path":"/o/p/?"}],"excludedPaths":[{"path":"/*"}],)"
                       R"("spatialIndexes":[{"path":"/g/?","types":["Point","Polygon"]}]})";
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
            } else if (chance(8)) {
                out += geometry();
            } else {
                out += value(depth);
            }
        }
        return out + "]";
    }
    /// About a few places, so that they meet; some are not valid.
    std::string geometry() {
        const std::string at = one_of({"10", "10.001", "10.5", "-179.999", "0"});
        const std::string up = one_of({"48", "48.001", "48.2", "0", "89.9"});
        const std::string point = "[" + at + "," + up + "]";
        switch (below(8)) {
            case 0:
                return R"({"type":"LineString","coordinates":[)" + point + ",[10.2,48.1]]}";
            case 1:
            case 2: {
                const std::string side = one_of({"0.0005", "0.1", "1"});
                const std::string east = std::to_string(std::stod(at) + std::stod(side));
                const std::string north =
                    std::to_string(std::min(90.0, std::stod(up) + std::stod(side)));
                return R"({"type":"Polygon","coordinates":[[)" + point + ",[" + east + "," + up +
                       "],[" + east + "," + north + "],[" + at + "," + north + "]," + point + "]]}";
            }
            case 3:
                return one_of({R"({"type":"Point","coordinates":[10,91]})", R"({"type":"Point"})",
                               R"({"type":"Circle","coordinates":[1,2]})"});
            default:
                return R"({"type":"Point","coordinates":)" + point + "}";
        }
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
            case 6:
                if (chance(30)) return one_of({"MAKESET(", "MAKELIST("}) + path() + ")";
                [[fallthrough]];
            default:
                return one_of({"MIN(", "MAX("}) + path() + ")";
        }
    }
    std::string join() {
        switch (below(8)) {
            case 0:
                return " JOIN t IN c.o.l";
            case 1:
                return " JOIN u IN c.arr JOIN t IN c.o.l";
            case 2:
                return " JOIN (SELECT VALUE x FROM x IN c.arr WHERE x " + comparison() + ' ' +
                       literal() + ") AS t";
            case 3:
                return " JOIN t IN (SELECT VALUE c.arr)";
            case 4:
                return " JOIN c.o.p AS t";
            default:
                return " JOIN t IN c.arr";
        }
    }
    std::string distinct_count() {
        join_ = false;
        return "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE " + item_path() + " FROM c" +
               (chance(50) ? " WHERE " + condition(1) : "") + ")";
    }
    /// Rows of a subquery, and elements, as the first source.
    std::string over_subquery() {
        join_ = false;
        switch (below(3)) {
            case 0:
                return "SELECT VALUE s FROM (SELECT VALUE c FROM c WHERE " + condition(1) +
                       ") s WHERE s.b " + comparison() + ' ' + std::to_string(below(6));
            case 1:
                return "SELECT VALUE t FROM t IN c.arr WHERE t " + comparison() + ' ' + literal();
            default:
                return "SELECT * FROM c.o" + std::string(chance(50) ? " WHERE o.p = 1" : "");
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
            const std::string key =
                chance(80) ? item_path()
                           : one_of({"UPPER(c.s)", "c.b % 2", "IS_DEFINED(c.a)", "{\"x\": c.b}",
                                     "LEFT(c.s, 1)", "[c.n, c.b]", "c.b > 2"});
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
        if (chance(10)) select = "SELECT VALUE " + (chance(50) ? keys[0] : aggregate());
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
                               "ARRAY(SELECT VALUE x FROM x IN c.arr WHERE IS_NUMBER(x))", "c.id",
                               "(SELECT VALUE COUNT(1) FROM x IN c.arr)", "c.b ? c.a : c.s",
                               "c.missing ?? c.b", "EXISTS(SELECT VALUE x FROM x IN c.arr)",
                               "ST_DISTANCE(c.g, {\"type\": \"Point\", \"coordinates\": [10, 48]})",
                               "OBJECTTOARRAY(c.o)", "SETUNION(c.arr, c.o.l)", "TOSTRING(c.a)"});
            default: {
                std::string out = "c.id";
                for (uint64_t n = below(3); n > 0; --n)
                    out += ", " + path() + " AS y" + std::to_string(n);
                return out;
            }
        }
    }
    std::string window() {
        return " OFFSET " + constant(std::to_string(below(6))) + " LIMIT " +
               constant(std::to_string(chance(10) ? 0 : below(12) + 1));
    }
    std::string rows(std::string& select, bool composites) {
        const bool distinct = chance(15);
        const bool ordered = chance(45);
        const bool top = chance(15);
        if (distinct) select += "DISTINCT ";
        if (top) select += "TOP " + constant(std::to_string(below(8))) + " ";
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
        if (chance(top ? 5 : 20)) tail += window();
        return tail;
    }

    std::mt19937_64 engine_;
    bool join_ = false;
    std::vector<std::string> parameters_;
};

}  // namespace orrery::engine::testing_support
