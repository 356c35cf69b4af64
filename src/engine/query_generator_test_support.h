#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/condition_generator_test_support.h"

namespace orrery::engine::testing_support {

/// Random valid queries over random items.
class QueryGenerator : public ConditionGenerator {
public:
    using ConditionGenerator::ConditionGenerator;

    struct Query {
        std::string text;
        std::string parameters = "[]";
    };

    Query query(bool composites) {
        Query out;
        if (chance(4)) {
            begin(/*joined=*/false);
            out.text = chance(50) ? distinct_count() : over_subquery();
            out.parameters = parameter_list();
            return out;
        }
        begin(/*joined=*/chance(20));
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
        if (joined()) text += join();
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
        begin(/*joined=*/false);
        Query out;
        out.text = "SELECT VALUE c.id FROM c";
        if (chance(70)) out.text += " WHERE " + condition(1);
        if (chance(60)) out.text += " ORDER BY " + item_path() + one_of({"", " ASC", " DESC"});
        out.parameters = parameter_list();
        return out;
    }

    /// A query over the values of one path alone.
    Query path_query() {
        begin(/*joined=*/false);
        Query out;
        const std::string path = item_path();
        std::string where;
        for (uint64_t n = below(3); n > 0; --n)
            where += (where.empty() ? " WHERE " : " AND ") + of_path(path);
        switch (below(7)) {
            case 0:
            case 1:
                out.text = "SELECT VALUE COUNT(1) FROM c" + where;
                break;
            case 2:
                out.text =
                    "SELECT " + path + " AS g, COUNT(1) AS n FROM c" + where + " GROUP BY " + path;
                break;
            case 3:
                out.text = "SELECT DISTINCT VALUE " + path + " FROM c" + where;
                break;
            case 4:
                out.text = "SELECT VALUE " + one_of({"MIN(", "MAX(", "SUM(", "COUNT("}) + path +
                           ") FROM c" + where;
                break;
            default:
                out.text = "SELECT " + one_of({"", "", "TOP 2 "}) +
                           one_of({"*", "c.id", "VALUE c"}) + " FROM c" + where + " ORDER BY " +
                           path + one_of({"", " DESC"}) + (chance(20) ? window() : "");
        }
        out.parameters = parameter_list();
        return out;
    }

private:
    std::string of_path(const std::string& path) {
        switch (below(6)) {
            case 0:
                return "CONTAINS(" + path + ", " + constant(one_of({R"("b")", R"("a")", R"("")"})) +
                       ")";
            case 1:
                return one_of({"IS_DEFINED(", "IS_STRING(", "IS_NUMBER(", "NOT IS_DEFINED("}) +
                       path + ")";
            case 2:
                return path + " LIKE " + pattern();
            case 3:
                return path + " IN (" + literal() + ", " + literal() + ")";
            default:
                return path + ' ' + comparison() + ' ' + literal();
        }
    }
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
        return "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE " + item_path() + " FROM c" +
               (chance(50) ? " WHERE " + condition(1) : "") + ")";
    }
    /// Rows of a subquery, and elements, as the first source.
    std::string over_subquery() {
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
                return joined() ? "VALUE c" : one_of({"*", "VALUE c"});
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
};

}  // namespace orrery::engine::testing_support
