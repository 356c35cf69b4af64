#include <gtest/gtest.h>

#include <algorithm>

#include "base/rounds_test_support.h"
#include "engine/query_test_support.h"

// Computed properties of containers, from the definition to the rows.
namespace orrery::engine {
namespace {

using testing_support::QueryContainer;
using testing_support::QueryContainerSpec;
using testing_support::QueryOptions;
using testing_support::QueryOutcome;
using testing_support::TestEngine;

constexpr std::string_view kDefinitions =
    R"([{"name":"low","query":"SELECT VALUE LOWER(c.name) FROM c"},)"
    R"({"name":"total","query":"SELECT VALUE c.price * c.count FROM c"},)"
    R"({"name":"tags","query":"SELECT VALUE ARRAY_CONCAT(c.tags, [c.color]) FROM c"},)"
    R"({"name":"box","query":"SELECT VALUE {\"w\": c.size.w, \"h\": c.size.h} FROM c"},)"
    R"({"name":"age","query":"SELECT VALUE c._ts - 1600000000 FROM c"}])";
constexpr std::string_view kNamed =
    R"({"includedPaths":[{"path":"/*"},{"path":"/low/?"},{"path":"/total/?"},{"path":"/tags/[]/?"},)"
    R"({"path":"/box/*"}],"compositeIndexes":[[{"path":"/color"},{"path":"/low","order":"descending"}]]})";

/// An expression of the definitions in words of the items: `{low}` and so on.
std::string spelled(std::string text, bool by_name) {
    const std::pair<std::string_view, std::string_view> words[] = {
        {"{low}", "LOWER(c.name)"},
        {"{total}", "(c.price * c.count)"},
        {"{tags}", "ARRAY_CONCAT(c.tags, [c.color])"},
        {"{box}", "{\"w\": c.size.w, \"h\": c.size.h}"},
        {"{age}", "(c._ts - 1600000000)"},
    };
    for (const auto& [word, expression] : words) {
        const std::string name = "c." + std::string(word.substr(1, word.size() - 2));
        for (size_t at = text.find(word); at != text.npos; at = text.find(word))
            text.replace(at, word.size(), by_name ? name : std::string(expression));
    }
    return text;
}

std::vector<std::string> sorted(std::vector<std::string> rows) {
    std::sort(rows.begin(), rows.end());
    return rows;
}

class ComputedTest : public ::testing::Test {
protected:
    QueryContainer make(std::string_view policy, std::string_view definitions = kDefinitions,
                        bool several = false) {
        QueryContainerSpec spec;
        spec.indexing_policy = policy;
        spec.computed_properties = definitions;
        spec.several_partitions = several;
        auto made = QueryContainer::create(engine_, spec);
        CHECK(made.has_value());
        return std::move(*made);
    }
    void fill(QueryContainer& container, int count = 40) {
        for (int i = 0; i < count; ++i) ASSERT_TRUE(container.upsert(item(i)));
    }
    static std::string item(int i) {
        const char* names[] = {"Anna", "BERTA", "carl", "Dora", "emil"};
        const char* colors[] = {"red", "green", "blue"};
        std::string out = R"({"id":"i)" + std::to_string(i) + "\"";
        if (i % 7 != 0)
            out += std::string(R"(,"name":")") + names[i % 5] + std::to_string(i) + "\"";
        if (i % 6 == 1) out += R"(,"low":"stored")";
        if (i % 4 != 0) out += ",\"price\":" + std::to_string(i % 9) + ",\"count\":2";
        out += std::string(R"(,"color":")") + colors[i % 3] + "\"";
        out += R"(,"tags":["t)" + std::to_string(i % 5) + R"("],"size":{"w":)" +
               std::to_string(i % 3) + ",\"h\":1}";
        return out + "}";
    }
    void expect_sound(const QueryContainer& container) {
        std::vector<std::string> findings;
        const auto view = engine_.engine().store().view();
        for (const auto& range : container.container().ranges->ranges)
            ASSERT_TRUE(range.partition->check(*view, findings).ok());
        EXPECT_EQ(findings, std::vector<std::string>());
    }
    void carry_out() {
        for (;;) {
            const auto more = engine_.catalog().carry_out_index_changes();
            ASSERT_TRUE(more.ok());
            if (!*more) return;
        }
    }
    QueryAnswer page(const QueryContainer& container, const std::string& text) {
        QueryRequest request;
        request.text = text;
        request.items_max = 1000;
        auto answer = engine_.engine().query(container.container(), request);
        if (!answer.ok()) ADD_FAILURE() << text << ": " << answer.error().message;
        return answer.ok() ? std::move(*answer) : QueryAnswer();
    }
    std::string refusal(std::string_view policy, std::string_view definitions) {
        json::Arena arena;
        if (engine_.catalog().find_database("q") == nullptr) engine_.create_database("q");
        const std::string body = R"({"id":"refused","partitionKey":{"paths":["/id"]},)"
                                 R"("indexingPolicy":)" +
                                 std::string(policy) + R"(,"computedProperties":)" +
                                 std::string(definitions) + "}";
        const auto made =
            rest::by_body::create_container(engine_.catalog(), "q", *json::parse(body, arena));
        return made.ok() ? "ok" : made.error().message;
    }

    TestEngine engine_;
};

const std::string_view kQueries[] = {
    "SELECT VALUE {low} FROM c",
    "SELECT c.id, {low} AS l, {total} AS t FROM c",
    "SELECT VALUE [{tags}, {box}, {age}] FROM c",
    "SELECT VALUE c.id FROM c WHERE {low} = \"anna5\"",
    "SELECT VALUE c.id FROM c WHERE {low} = \"stored\"",
    "SELECT VALUE c.id FROM c WHERE {low} IN (\"anna5\", \"carl12\", \"stored\")",
    "SELECT VALUE c.id FROM c WHERE {low} >= \"carl\" AND {low} < \"dora2\"",
    "SELECT VALUE c.id FROM c WHERE STARTSWITH({low}, \"be\")",
    "SELECT VALUE c.id FROM c WHERE CONTAINS({low}, \"a1\")",
    "SELECT VALUE c.id FROM c WHERE {low} LIKE \"%1%\" AND c.color = \"red\"",
    "SELECT VALUE c.id FROM c WHERE NOT IS_DEFINED({low})",
    "SELECT VALUE c.id FROM c WHERE IS_STRING({low}) OR {total} = 4",
    "SELECT VALUE c.id FROM c WHERE {total} BETWEEN 4 AND 10",
    "SELECT VALUE c.id FROM c WHERE {total} = c.price",
    "SELECT VALUE c.id FROM c WHERE {total} % 4 = 0",
    "SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS({tags}, \"red\")",
    "SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS({tags}, \"t3\") AND {low} > \"c\"",
    "SELECT VALUE c.id FROM c WHERE {box}.w = 2",
    "SELECT VALUE c.id FROM c WHERE {box}.w > 0 AND {box}.h = 1",
    "SELECT VALUE c.id FROM c WHERE {tags}[1] = \"blue\"",
    "SELECT VALUE c.id FROM c WHERE {age} > 99999999",
    "SELECT VALUE c.id FROM c WHERE {low} ?? \"none\" = \"none\"",
    "SELECT VALUE t FROM c JOIN t IN {tags} WHERE {low} < \"c\"",
    "SELECT VALUE t FROM c JOIN t IN {tags} WHERE t = \"green\"",
    "SELECT VALUE [c.id, t] FROM c JOIN t IN {tags} WHERE {total} > 6",
    "SELECT VALUE c.id FROM c WHERE EXISTS(SELECT VALUE 1 FROM t IN {tags} WHERE t = \"t2\")",
    "SELECT VALUE ARRAY(SELECT VALUE x.id FROM c AS x WHERE {total} > 2) FROM c",
    "SELECT {low} AS l, COUNT(1) AS n FROM c GROUP BY {low}",
    "SELECT {total} AS t, MAX({low}) AS m FROM c GROUP BY {total}",
    "SELECT VALUE COUNT(1) FROM c WHERE {low} > \"b\"",
    "SELECT VALUE SUM({total}) FROM c",
    "SELECT VALUE MIN({low}) FROM c WHERE {total} > 3",
    "SELECT DISTINCT VALUE {total} FROM c",
    "SELECT DISTINCT {box} AS b FROM c",
    "SELECT VALUE c.id FROM c WHERE c[\"id\"] = \"i5\" AND {low} = \"anna5\"",
};

constexpr uint32_t kPageRows[] = {7, testing_support::kUnlimitedPage};

TEST_F(ComputedTest, EveryClauseSeesTheValue) {
    // The same expressions written out, over items of a container without definitions.
    QueryContainer plain = make(R"({"indexingMode":"none"})", "");
    fill(plain);
    std::vector<std::vector<std::string>> wanted;
    for (const std::string_view query : kQueries) {
        const auto found = plain.query(spelled(std::string(query), false));
        ASSERT_FALSE(found.error) << query << ": " << *found.error;
        wanted.push_back(sorted(found.rows));
    }
    size_t policies = 0;
    for (const std::string_view policy :
         {kNamed, std::string_view(R"({"includedPaths":[{"path":"/*"}]})"),
          std::string_view(
              R"({"includedPaths":[{"path":"/low/?"}],"excludedPaths":[{"path":"/*"}]})"),
          std::string_view(R"({"indexingMode":"none"})")}) {
        for (const bool several : {false, true}) {
            QueryContainer container = make(policy, kDefinitions, several);
            fill(container);
            for (size_t i = 0; i < std::size(kQueries); ++i) {
                const std::string text = spelled(std::string(kQueries[i]), true);
                for (size_t way = 0; way < std::size(kPageRows); ++way) {
                    if (!takes_turn(i + policies + several, way, std::size(kPageRows))) continue;
                    QueryOptions options;
                    options.page_rows = kPageRows[way];
                    const auto found = container.query(text, options);
                    ASSERT_FALSE(found.error) << text << ": " << *found.error;
                    EXPECT_EQ(sorted(found.rows), wanted[i]) << text << " " << policy;
                }
            }
            expect_sound(container);
            container.drop();
        }
        ++policies;
    }
}

TEST_F(ComputedTest, OrderBy) {
    QueryOptions by_reading;
    by_reading.use_index = false;
    for (const std::string_view policy :
         {kNamed, std::string_view(R"({"includedPaths":[{"path":"/*"}]})")}) {
        for (const std::string query :
             {"SELECT VALUE c.id FROM c ORDER BY c.low",
              "SELECT VALUE c.id FROM c ORDER BY c.low DESC",
              "SELECT VALUE c.total FROM c ORDER BY c.total",
              "SELECT VALUE c.id FROM c WHERE c.low > \"c\" ORDER BY c.low",
              "SELECT VALUE c.box.w FROM c ORDER BY c.box.w DESC",
              "SELECT TOP 5 VALUE c.low FROM c WHERE c.color = \"red\" ORDER BY c.low DESC",
              "SELECT c._rid, [{\"item\": c.low}] AS orderByItems, c AS payload FROM c ORDER BY "
              "c.low"}) {
            QueryContainer container = make(policy);
            fill(container);
            const auto wanted = container.query(query, by_reading);
            ASSERT_FALSE(wanted.error) << *wanted.error;
            for (const uint32_t rows : {3U, testing_support::kUnlimitedPage}) {
                QueryOptions options;
                options.page_rows = rows;
                const auto found = container.query(query, options);
                ASSERT_FALSE(found.error) << query << ": " << *found.error;
                EXPECT_EQ(found.rows, wanted.rows) << query << " " << policy;
            }
            container.drop();
        }
    }
    // The order itself: not that of what items store.
    QueryContainer container = make(kNamed);
    fill(container, 12);
    const auto rows = container.query("SELECT VALUE c.low FROM c ORDER BY c.low").rows;
    EXPECT_EQ(rows.size(), 10U);
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
    EXPECT_EQ(rows.front(), "\"anna10\"");
    const auto several = container.query("SELECT VALUE c.id FROM c ORDER BY c.color, c.low DESC");
    ASSERT_FALSE(several.error) << *several.error;
    EXPECT_EQ(
        several.rows,
        container.query("SELECT VALUE c.id FROM c ORDER BY c.color, c.low DESC", by_reading).rows);
    EXPECT_TRUE(several.accesses.contains("index order"));
    EXPECT_TRUE(container.query("SELECT VALUE c.id FROM c ORDER BY c.low, c.color").error);
}

TEST_F(ComputedTest, ItemsShowWhatTheyStore) {
    QueryContainer container = make(kNamed);
    ASSERT_TRUE(container.upsert(R"({"id":"a","name":"X","low":"stored"})"));
    for (const std::string query :
         {"SELECT * FROM c", "SELECT VALUE c FROM c", "SELECT DISTINCT * FROM c",
          "SELECT VALUE c FROM c WHERE c.low = \"x\"", "SELECT VALUE [c][0] FROM c",
          "SELECT VALUE c FROM c ORDER BY c.low"}) {
        const auto found = container.query(query);
        ASSERT_EQ(found.rows.size(), 1U) << query;
        EXPECT_NE(found.rows[0].find(R"("low":"stored")"), std::string::npos) << found.rows[0];
        EXPECT_EQ(found.rows[0].find("total"), std::string::npos);
    }
    EXPECT_EQ(container.query("SELECT c, c.low FROM c").rows[0].find(R"({"c":{"id":"a")"), 0U);
    EXPECT_EQ(container.query("SELECT VALUE c.low FROM c").rows, std::vector<std::string>{"\"x\""});
    EXPECT_EQ(container.query("SELECT VALUE x.low FROM (SELECT VALUE c FROM c) x").rows,
              std::vector<std::string>{"\"stored\""})
        << "a value, no longer the item";
    EXPECT_EQ(container.query("SELECT VALUE c.id FROM c WHERE c.low = \"stored\"").rows.size(), 0U);
}

TEST_F(ComputedTest, MembersByParameter) {
    QueryContainer container = make(kNamed);
    fill(container, 6);
    QueryOptions low;
    low.parameters = R"([{"name":"@p","value":"low"}])";
    QueryOptions name;
    name.parameters = R"([{"name":"@p","value":"name"}])";
    const std::string text = "SELECT VALUE c[@p] FROM c";
    EXPECT_EQ(sorted(container.query(text, low).rows),
              sorted(container.query("SELECT VALUE c.low FROM c").rows));
    EXPECT_EQ(sorted(container.query(text, name).rows),
              sorted(container.query("SELECT VALUE c.name FROM c").rows));
}

TEST_F(ComputedTest, TheIndexIsUsedWhereThePolicyNamesIt) {
    QueryContainer named = make(kNamed);
    fill(named);
    const std::string equal = "SELECT * FROM c WHERE c.low = \"anna5\"";
    auto found = page(named, equal);
    EXPECT_EQ(found.rows.size(), 1U);
    EXPECT_EQ(found.page.accesses.at(0).access, "index");
    EXPECT_EQ(found.page.accesses.at(0).candidates, 1U);
    EXPECT_EQ(found.page.index_use.utilized, std::vector<std::string>{"/low/?"});
    found = page(named, "SELECT * FROM c WHERE CONTAINS(c.low, \"anna5\")");
    EXPECT_EQ(found.rows.size(), 1U);
    EXPECT_EQ(found.page.accesses.at(0).access, "index");
    found = page(named, "SELECT * FROM c ORDER BY c.low");
    EXPECT_EQ(found.page.accesses.at(0).access, "index order");
    found = page(named, "SELECT VALUE COUNT(1) FROM c WHERE c.low > \"c\"");
    EXPECT_EQ(found.page.accesses.at(0).access, "index only");
    ASSERT_EQ(found.rows.size(), 1U);
    EXPECT_EQ(found.rows[0],
              std::to_string(named.query("SELECT c.id FROM c WHERE c.low > \"c\"").rows.size()));

    QueryContainer other = make(R"({"includedPaths":[{"path":"/*"}]})");
    fill(other);
    found = page(other, equal);
    EXPECT_EQ(found.rows.size(), 1U);
    EXPECT_EQ(found.page.accesses.at(0).access, "scan") << "no wildcard covers it";
    EXPECT_EQ(found.page.index_use.potential, std::vector<std::string>{"/low/?"});
    found = page(other, "SELECT * FROM c ORDER BY c.low");
    EXPECT_EQ(found.page.accesses.at(0).access, "sort");
}

TEST_F(ComputedTest, IndexesThatCannotBe) {
    EXPECT_EQ(
        refusal(
            R"({"includedPaths":[{"path":"/*"}],"spatialIndexes":[{"path":"/x/*","types":["Point"]}]})",
            R"([{"name":"y","query":"SELECT VALUE 1 FROM c"},{"name":"x","query":"SELECT VALUE c.p FROM c"}])"),
        "Computed property 'x' at index (1) has a spatial index. Remove the spatial index on this "
        "path.");
    constexpr std::string_view kTime = R"([{"name":"x","query":"SELECT VALUE c._ts FROM c"}])";
    EXPECT_NE(refusal(R"({"includedPaths":[{"path":"/*"},{"path":"/x/?"}]})", kTime)
                  .find("computed property 'x'"),
              std::string::npos);
    EXPECT_NE(
        refusal(
            R"({"includedPaths":[{"path":"/*"}],"compositeIndexes":[[{"path":"/a"},{"path":"/x"}]]})",
            kTime)
            .find("computed property 'x'"),
        std::string::npos);
    EXPECT_EQ(refusal(R"({"includedPaths":[{"path":"/*"}]})", kTime), "ok");
}

TEST_F(ComputedTest, MembersThatNobodyKnows) {
    constexpr std::string_view kAll = R"({"includedPaths":[{"path":"/*"}]})";
    EXPECT_EQ(refusal(kAll, R"([{"name":"x","query":"SELECT VALUE c.p FROM c","unique":true}])"),
              "A computed property of the container has no property 'unique'. Remove it from the "
              "definition.");
    EXPECT_EQ(refusal(kAll, R"([{"name":"x","query":"SELECT VALUE c.p FROM c","unique":null}])"),
              "ok");
}

TEST_F(ComputedTest, PatternsThatCannotBe) {
    constexpr std::string_view kPattern =
        R"([{"name":"x","query":"SELECT VALUE RegexMatch(c.a, '(?=b)a') FROM c"}])";
    EXPECT_NE(refusal(R"({"includedPaths":[{"path":"/*"}]})", kPattern).find("needs backtracking"),
              std::string::npos);
    QueryContainer container = make(R"({"includedPaths":[{"path":"/*"}]})", "");
    json::Arena arena;
    const auto replaced = rest::by_body::replace_container(
        engine_.catalog(), "q", container.container().id,
        *json::parse(R"({"id":")" + container.container().id +
                         R"(","partitionKey":{"paths":["/id"]},"computedProperties":)" +
                         std::string(kPattern) + "}",
                     arena),
        "");
    ASSERT_FALSE(replaced.ok());
    EXPECT_NE(replaced.error().message.find("needs backtracking"), std::string::npos)
        << replaced.error().message;
}

TEST_F(ComputedTest, APartitionKeyOfTheSameName) {
    QueryContainerSpec spec;
    spec.partition_key = R"({"paths":["/pk"],"kind":"Hash","version":2})";
    spec.computed_properties = R"([{"name":"pk","query":"SELECT VALUE UPPER(c.pk) FROM c"}])";
    spec.several_partitions = true;
    auto container = QueryContainer::create(engine_, spec);
    ASSERT_TRUE(container.has_value());
    for (const std::string key : {"a", "b", "c", "d", "e"})
        ASSERT_TRUE(container->upsert(R"({"id":"1","pk":")" + key + "\"}"));
    EXPECT_EQ(container->query("SELECT VALUE c.pk FROM c WHERE c.pk = \"C\"").rows,
              std::vector<std::string>{"\"C\""});
    EXPECT_EQ(container->query("SELECT VALUE c.pk FROM c WHERE c.pk = \"C\" AND c.id = \"1\"").rows,
              std::vector<std::string>{"\"C\""});
    EXPECT_EQ(container->query("SELECT VALUE c.pk FROM c WHERE c.pk = \"c\"").rows.size(), 0U);
}

TEST_F(ComputedTest, AReplacedDefinitionIsInForceAtOnce) {
    QueryContainer container = make(kNamed);
    fill(container);
    const std::string changed = R"([{"name":"low","query":"SELECT VALUE UPPER(c.name) FROM c"},)"
                                R"({"name":"color","query":"SELECT VALUE c.price FROM c"}])";
    const std::string queries[] = {"SELECT VALUE c.id FROM c WHERE c.low = \"ANNA5\"",
                                   "SELECT VALUE c.id FROM c WHERE c.low = \"anna5\"",
                                   "SELECT VALUE c.low FROM c ORDER BY c.low",
                                   "SELECT VALUE c.id FROM c WHERE c.color = 3",
                                   "SELECT VALUE c.id FROM c WHERE c.color = \"red\"",
                                   "SELECT VALUE c.id FROM c WHERE c.total = 6",
                                   "SELECT VALUE COUNT(1) FROM c WHERE c.low > \"C\"",
                                   "SELECT VALUE c.id FROM c ORDER BY c.color, c.low DESC"};
    const auto expect_right = [&](const char* when) {
        QueryOptions by_reading;
        by_reading.use_index = false;
        for (const std::string& text : queries) {
            const auto found = container.query(text);
            ASSERT_FALSE(found.error) << *found.error;
            EXPECT_EQ(sorted(found.rows), sorted(container.query(text, by_reading).rows))
                << text << " " << when;
        }
    };
    ASSERT_TRUE(container.set_policy(std::string(kNamed), changed));
    expect_right("before the fill");
    EXPECT_EQ(container.query(queries[0]).rows.size(), 1U);
    EXPECT_TRUE(container.query(queries[0]).accesses.contains("scan"));
    ASSERT_TRUE(container.upsert(item(5)));
    ASSERT_TRUE(container.upsert(item(41)));
    ASSERT_TRUE(container.remove(item(7)));
    expect_right("during the change");
    expect_sound(container);
    carry_out();
    expect_right("after it");
    expect_sound(container);
    EXPECT_TRUE(container.query(queries[0]).accesses.contains("index"));
    EXPECT_EQ(container.query(queries[1]).rows.size(), 0U);
    // Without definitions, what is stored counts again.
    ASSERT_TRUE(container.set_policy(R"({"includedPaths":[{"path":"/*"}]})", ""));
    EXPECT_GT(container.query("SELECT VALUE c.id FROM c WHERE c.low = \"stored\"").rows.size(), 0U);
    carry_out();
    expect_sound(container);
    EXPECT_GT(container.query("SELECT VALUE c.id FROM c WHERE c.low = \"stored\"").rows.size(), 0U);
}

TEST_F(ComputedTest, APositionIsGoodForItsDefinitionsOnly) {
    QueryContainer container = make(kNamed);
    fill(container);
    const std::string text = "SELECT VALUE c.id FROM c WHERE c.low > \"a\"";
    QueryOptions options;
    options.page_rows = 3;
    QueryOutcome outcome;
    container.next_page(text, options, outcome);
    ASSERT_FALSE(outcome.continuation.empty());
    ASSERT_TRUE(container.set_policy(
        std::string(kNamed), R"([{"name":"low","query":"SELECT VALUE UPPER(c.name) FROM c"}])"));
    container.next_page(text, options, outcome);
    EXPECT_TRUE(outcome.error);
}

TEST_F(ComputedTest, AnIndexedPropertyCostsWhatAStoredLeafCosts) {
    const auto charge = [&](const QueryContainer& container, std::string body) {
        partition::ItemOperation operation;
        operation.kind = partition::OperationKind::kCreate;
        operation.body = std::move(body);
        json::Arena arena;
        partition::Transaction transaction;
        const auto key =
            json::extract(operation.body, container.container().settings->key.member_paths, arena);
        transaction.epk =
            partition::effective_partition_key(container.container().settings->key, *key).value();
        transaction.operations.push_back(std::move(operation));
        std::promise<int64_t> done;
        engine_.engine().execute(
            engine_.catalog().find_container("q", container.container().id), std::move(transaction),
            [&](TransactionAnswer answer) { done.set_value(answer.total.units); });
        return done.get_future().get();
    };
    constexpr std::string_view kLow =
        R"([{"name":"low","query":"SELECT VALUE LOWER(c.name) FROM c"}])";
    QueryContainer plain = make(R"({"includedPaths":[{"path":"/*"}]})", "");
    QueryContainer named = make(R"({"includedPaths":[{"path":"/*"},{"path":"/low/?"}]})", kLow);
    QueryContainer hidden = make(R"({"includedPaths":[{"path":"/*"}]})", kLow);
    const std::string body = R"({"id":"a","name":"X"})";
    const std::string with_stored = R"({"id":"b","name":"X","low":"x"})";
    const int64_t leaf = charge(plain, with_stored) - charge(plain, body);
    EXPECT_GT(leaf, 0);
    EXPECT_EQ(charge(named, body), charge(plain, R"({"id":"c","name":"X","low":"x"})"));
    EXPECT_EQ(charge(named, with_stored), charge(named, R"({"id":"d","name":"X"})"))
        << "the stored one is not indexed";
    EXPECT_EQ(charge(hidden, with_stored), charge(plain, R"({"id":"e","name":"X"})"));
}

}  // namespace
}  // namespace orrery::engine
