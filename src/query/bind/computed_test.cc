#include "query/computed.h"

#include <gtest/gtest.h>

#include "json/document.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::query {
namespace {

class ComputedTest : public ::testing::Test {
protected:
    Result<index::ComputedPropertiesPtr> compile_list(std::string_view list) {
        std::vector<index::ComputedProperty> properties;
        for (const json::Value& entry : json::parse(list, arena_)->elements())
            properties.push_back({std::string(entry.member("name").as_string()),
                                  std::string(entry.member("query").as_string())});
        return compile_computed_properties(properties);
    }
    /// The error of a list; "ok" if it has none.
    std::string error_of(std::string_view list) {
        const auto compiled = compile_list(list);
        return compiled.ok() ? "ok" : compiled.error().message;
    }
    /// The same for one definition with this query.
    std::string query_error(const std::string& query) {
        std::string list = R"([{"name":"x","query":)";
        json::write_string(list, query);
        return error_of(list + "}]");
    }
    /// The value of an expression over an item, as the index sees it.
    std::string value(const std::string& expression, std::string_view item) {
        std::string list = R"([{"name":"x","query":)";
        json::write_string(list, "SELECT VALUE " + expression + " FROM c");
        const auto compiled = compile_list(list + "}]");
        if (!compiled.ok()) return compiled.error().message;
        std::vector<json::Value> values;
        const size_t wanted[] = {0};
        const std::string stored = json::encode_document({}, item);
        const json::Document document = json::decode_document(stored).value();
        EXPECT_TRUE((*compiled)->evaluate(document, wanted, arena_, values).ok());
        return values[0].is_undefined() ? "undefined" : json::to_text(values[0]);
    }

    json::Arena arena_;
};

TEST_F(ComputedTest, ErrorsOfDefinitions) {
    const std::pair<std::string_view, std::string_view> cases[] = {
        {R"([{"name":"x","query":"SELECT VALUE c.a FROM c"},{"name":"x","query":"SELECT VALUE 1 FROM c"}])",
         "Computed property name 'x' cannot be used in multiple definitions."},
        {R"([{"name":"","query":"SELECT VALUE c.a FROM c"}])",
         "Computed property 'name' is either empty or unspecified."},
        {R"([{"name":"x","query":""}])",
         "Computed property 'query' is either empty or unspecified."},
        {R"([{"name":"id","query":"SELECT VALUE c.a FROM c"}])",
         "The system property name 'id' cannot be used as a computed property name."},
        {R"([{"name":"_ts","query":"SELECT VALUE c.a FROM c"}])",
         "The system property name '_ts' cannot be used as a computed property name."},
        {R"([{"name":"x","query":"SELECT LOWER(c.a) FROM c"}])",
         "Required VALUE expression missing from computed property query "
         "'SELECT LOWER(c.a) FROM c' at index (0)."},
        {R"([{"name":"y","query":"SELECT VALUE 1 FROM c"},{"name":"x","query":"SELECT * FROM c"}])",
         "Required VALUE expression missing from computed property query 'SELECT * FROM c' at "
         "index (1)."},
        {R"([{"name":"x","query":"SELECT VALUE d.a FROM c"}])",
         R"(Computed property at index (0) has a malformed query: 'SELECT VALUE d.a FROM c' Error )"
         R"(details: '{"errors":[{"severity":"Error","location":{"start":13,"end":14},"code":2001,)"
         R"("message":"Identifier 'd' could not be resolved.","hint":"For a property write c.d."}]}')"},
    };
    for (const auto& [list, message] : cases) EXPECT_EQ(error_of(list), message) << list;
}

TEST_F(ComputedTest, SyntaxErrorsHaveNumbers) {
    const std::string error = query_error("SELECT VALUE c. FROM c");
    EXPECT_TRUE(
        error.starts_with("Computed property at index (0) has a malformed query: 'SELECT "
                          "VALUE c. FROM c' Error details: '{\"errors\":[{"))
        << error;
    EXPECT_NE(error.find(R"("code":1001,)"), std::string::npos) << error;
}

TEST_F(ComputedTest, WhatDefinitionsMayNotUse) {
    const std::pair<std::string, std::string_view> cases[] = {
        {"SELECT VALUE c.a FROM c WHERE c.b", "WHERE"},
        {"SELECT VALUE c.a FROM c JOIN d IN c.d", "JOIN"},
        {"SELECT VALUE d FROM d IN c.d", "FROM the container itself"},
        {"SELECT VALUE d FROM c.d", "FROM the container itself"},
        {"SELECT VALUE d FROM (SELECT VALUE c FROM c) d", "FROM the container itself"},
        {"SELECT VALUE 1", "FROM the container itself"},
        {"SELECT VALUE c.a FROM c GROUP BY c.a", "GROUP BY"},
        {"SELECT VALUE c.a FROM c ORDER BY c.a", "ORDER BY"},
        {"SELECT TOP 1 VALUE c.a FROM c", "TOP"},
        {"SELECT DISTINCT VALUE c.a FROM c", "DISTINCT"},
        {"SELECT VALUE c.a FROM c OFFSET 1 LIMIT 1", "OFFSET LIMIT"},
        {"SELECT VALUE (SELECT VALUE c.a) FROM c", "subquery"},
        {"SELECT VALUE 1 + (SELECT VALUE c.a) FROM c", "subquery"},
        {"SELECT VALUE EXISTS(SELECT VALUE t FROM t IN c.t) FROM c", "subquery"},
        {"SELECT VALUE ARRAY(SELECT VALUE t FROM t IN c.t) FROM c", "subquery"},
        {"SELECT VALUE ALL(SELECT VALUE t FROM t IN c.t) FROM c", "subquery"},
        {"SELECT VALUE FIRST(SELECT VALUE t FROM t IN c.t) FROM c", "subquery"},
        {"SELECT VALUE LAST(SELECT VALUE t FROM t IN c.t) FROM c", "subquery"},
        {"SELECT VALUE COUNT(1) FROM c", "aggregate"},
        {"SELECT VALUE [{\"n\": SUM(c.a)}] FROM c", "aggregate"},
        {"SELECT VALUE ST_ISVALID(c.a) FROM c", "spatial"},
        {"SELECT VALUE GETCURRENTDATETIME() FROM c", "nondeterministic"},
        {"SELECT VALUE RAND() FROM c", "nondeterministic"},
        {"SELECT VALUE udf.f(c.a) FROM c", "user-defined"},
        {"SELECT VALUE c.a || @p FROM c", "@p"},
        {"SELECT VALUE c[@p] FROM c", "@p"},
        {"SELECT VALUE VECTORDISTANCE(c.v, [1]) FROM c", "VECTORDISTANCE"},
    };
    for (const auto& [query, word] : cases) {
        const std::string error = query_error(query);
        EXPECT_TRUE(error.starts_with("Computed property at index (0) has a malformed query: '" +
                                      query + "' Error details: '{\"errors\":["))
            << query << "\n"
            << error;
        EXPECT_NE(error.find(word), std::string::npos) << error;
    }
    EXPECT_NE(error_of(R"([{"name":"a","query":"SELECT VALUE c.x FROM c"},)"
                       R"({"name":"b","query":"SELECT VALUE UPPER(c[\"a\"].z) FROM c"}])")
                  .find("The computed property 'a'"),
              std::string::npos);
    EXPECT_EQ(query_error("SELECT VALUE LOWER(c.x) FROM c"), "ok") << "the own name is the stored";
    EXPECT_EQ(query_error("SELECT VALUE LOWER(r.x) FROM root r"), "ok");
}

/// Such a value could never be told. A container that is stored with it must still open.
TEST_F(ComputedTest, PatternsThatNeedBacktrackingAreNotTakenAnew) {
    const auto check = [&](const std::string& expression) -> std::string {
        std::string list = R"([{"name":"x","query":)";
        json::write_string(list, "SELECT VALUE " + expression + " FROM c");
        const auto compiled = compile_list(list + "}]");
        if (!compiled.ok()) return "does not compile: " + compiled.error().message;
        const Status status = (*compiled)->check_new();
        return status.ok() ? "ok" : status.error().message;
    };
    for (const char* expression :
         {R"(RegexMatch(c.a, "(.)\\1"))", R"(RegexMatch(c.a, "(?=b)a", "i"))",
          R"({"m": [c.b, regexmatch(c.a, "a++")]})", R"(c.b ? 1 : RegexMatch("", "(?<!x)y"))"}) {
        const std::string message = check(expression);
        EXPECT_TRUE(message.starts_with("Computed property at index (0) has a malformed query: "))
            << expression << ": " << message;
        EXPECT_NE(message.find("needs backtracking"), std::string::npos) << message;
    }
    for (const char* expression :
         {R"(RegexMatch(c.a, "(.)b"))", R"(RegexMatch(c.a, c.pattern))",
          R"(RegexMatch(c.a, "a", c.modifiers))", R"x(LOWER("(?=b)"))x", R"x(c["(?=b)"])x"})
        EXPECT_EQ(check(expression), "ok") << expression;
}

TEST_F(ComputedTest, AtMostTwenty) {
    const auto list = [](int count) {
        std::string out = "[";
        for (int i = 0; i < count; ++i)
            out += (i == 0 ? "" : ",") + std::string(R"({"name":"n)") + std::to_string(i) +
                   R"(","query":"SELECT VALUE 1 FROM c"})";
        return out + "]";
    };
    EXPECT_EQ(error_of(list(20)), "ok");
    EXPECT_EQ(error_of(list(21)), "A container can have at most 20 computed properties.");
    const auto none = compile_list("[]");
    ASSERT_TRUE(none.ok());
    EXPECT_EQ(*none, nullptr);
}

TEST_F(ComputedTest, ValuesForTheIndex) {
    constexpr std::string_view kItem = R"({"id":"1","a":"Xy","n":3,"t":[1,{"k":"v"}],"x":"own"})";
    EXPECT_EQ(value("LOWER(c.a)", kItem), R"("xy")");
    EXPECT_EQ(value("c.x", kItem), R"("own")");
    EXPECT_EQ(value("c.n * 2 + c.t[0]", kItem), "7");
    EXPECT_EQ(value("{\"k\": c.t[1].k}", kItem), R"({"k":"v"})");
    EXPECT_EQ(value("c.missing", kItem), "undefined");
    EXPECT_EQ(value("c.a LIKE \"x%\"", kItem), "false");
    EXPECT_EQ(value("1e308 * 10 * c.n", kItem), "undefined") << "JSON has no such number";
    EXPECT_EQ(value("REPLICATE(REPLICATE(c.a, 10000), 10000)", kItem), "undefined")
        << "beyond the limits of one item";
}

TEST_F(ComputedTest, WhatSystemPropertiesDecideIsNotIndexable) {
    const auto indexable = [&](const std::string& expression) {
        std::string list = R"([{"name":"x","query":)";
        json::write_string(list, "SELECT VALUE " + expression + " FROM c");
        return (*compile_list(list + "}]"))->definitions()[0].indexable;
    };
    EXPECT_TRUE(indexable("c.a"));
    EXPECT_TRUE(indexable("c.id"));
    EXPECT_TRUE(indexable("1"));
    EXPECT_FALSE(indexable("c._ts * 1000"));
    EXPECT_FALSE(indexable("c"));
    EXPECT_FALSE(indexable("{\"all\": c}"));
}

}  // namespace
}  // namespace orrery::query
