#include <gtest/gtest.h>

#include <string>

#include "engine/query_test_support.h"

// What the errors of ORDER BY advise can be done, and helps.
namespace orrery::engine {
namespace {

using testing_support::QueryContainer;
using testing_support::QueryContainerSpec;
using testing_support::QueryOptions;
using testing_support::TestEngine;

const std::string kExcluded =
    "The index path corresponding to the specified order-by item is excluded. ";
const std::string kNoComposite =
    "The order by query does not have a corresponding composite index that it can be served from. ";
const std::string kSystem =
    "System properties other than _ts are not indexed and cannot be sorted by: sort by _ts, or by "
    "a property of the item's own.";
const std::string kOff = "The container's indexing mode is none: make it consistent.";
const std::string kNone = R"({"indexingMode":"none","automatic":false})";

class QueryAdvice : public ::testing::Test {
protected:
    /// The error of sorting by `order` in a container with this policy; empty: it is served.
    std::string error(const std::string& policy, const std::string& order) {
        QueryContainerSpec spec;
        spec.indexing_policy = policy;
        auto container = QueryContainer::create(engine_, spec);
        EXPECT_TRUE(container.has_value()) << policy;
        if (!container) return "no container";
        EXPECT_TRUE(container->upsert(R"({"id":"1","pk":"a","a":1,"b":2,"ex":3})"));
        auto outcome = container->query("SELECT * FROM c ORDER BY " + order, QueryOptions{});
        container->drop();
        return outcome.error.value_or("");
    }

    TestEngine engine_;
};

TEST_F(QueryAdvice, AnExcludedPath) {
    EXPECT_EQ(
        error(R"({"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"}]})", "c.ex"),
        kExcluded +
            R"(Add {"path": "/ex/?"} to the includedPaths of the container's indexing policy.)");
    EXPECT_EQ(error(R"({"includedPaths":[{"path":"/a/?"},{"path":"/ex/?"}],)"
                    R"("excludedPaths":[{"path":"/*"}]})",
                    "c.ex"),
              "");
    EXPECT_EQ(
        error(R"({"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/ex/*"}]})", "c.ex"),
        kExcluded +
            R"(Add {"path": "/ex/?"} to the includedPaths of the container's indexing policy.)");
    EXPECT_EQ(error(R"({"includedPaths":[{"path":"/*"},{"path":"/ex/?"}],)"
                    R"("excludedPaths":[{"path":"/ex/*"}]})",
                    "c.ex"),
              "");
}

TEST_F(QueryAdvice, APathThatIsExcludedByName) {
    EXPECT_EQ(
        error(R"({"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"ex\"/?"}]})",
              "c.ex"),
        kExcluded +
            R"(Remove {"path": "/\"ex\"/?"} from the excludedPaths of the container's indexing policy.)");
    EXPECT_EQ(error(R"({"includedPaths":[{"path":"/*"}]})", "c.ex"), "");
    EXPECT_EQ(error(R"({"includedPaths":[{"path":"/a/?"}],)"
                    R"("excludedPaths":[{"path":"/*"},{"path":"/ex/?"}]})",
                    "c.ex"),
              kExcluded + R"(Move {"path": "/ex/?"} from the excludedPaths of the container's )"
                          "indexing policy to its includedPaths.");
}

TEST_F(QueryAdvice, SystemProperties) {
    for (const std::string name : {"_rid", "_self", "_etag", "_attachments", "_lsn"}) {
        EXPECT_EQ(error("", "c." + name), kExcluded + kSystem) << name;
        EXPECT_EQ(error(kNone, "c." + name), kExcluded + kSystem) << name;
        EXPECT_EQ(error("", "c.a, c." + name), kNoComposite + kSystem) << name;
    }
    EXPECT_EQ(error("", "c._ts DESC"), "");
    EXPECT_EQ(error(R"({"compositeIndexes":[[{"path":"/a"},{"path":"/_ts"}]]})", "c.a, c._ts"), "");
}

TEST_F(QueryAdvice, AKeyThatIsRepeated) {
    const std::string advice =
        "ORDER BY names /a twice, and the second time changes nothing: leave it out.";
    EXPECT_EQ(error("", "c.a, c.a"), kNoComposite + advice);
    EXPECT_EQ(error("", "c.a, c.b, c.a DESC"), kNoComposite + advice);
}

TEST_F(QueryAdvice, AnIndexThatIsOff) {
    EXPECT_EQ(error(kNone, "c.a"), kExcluded + kOff);
    const std::string composite = R"([[{"path": "/a", "order": "ascending"}, )"
                                  R"({"path": "/b", "order": "descending"}]])";
    EXPECT_EQ(error(kNone, "c.a, c.b DESC"),
              kNoComposite + R"(Add it to the container's indexing policy: "compositeIndexes": )" +
                  composite + ". " + kOff);
    EXPECT_EQ(error(R"({"compositeIndexes":)" + composite + "}", "c.a, c.b DESC"), "");
}

TEST_F(QueryAdvice, MoreKeysThanACompositeIndexHas) {
    EXPECT_EQ(error("", "c.a, c.b, c.c, c.d, c.e, c.f, c.g, c.h, c.i"),
              kNoComposite + "A composite index has at most 8 paths: sort by fewer.");
}

TEST_F(QueryAdvice, NamesThatNeedQuotes) {
    const std::string quoted = R"("/\"a\\\"b\"/?")";
    EXPECT_EQ(error(R"({"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"}]})",
                    R"(c["a\"b"])"),
              kExcluded + R"(Add {"path": )" + quoted +
                  "} to the includedPaths of the container's indexing policy.");
    EXPECT_EQ(
        error(R"({"includedPaths":[{"path":)" + quoted + R"(}],"excludedPaths":[{"path":"/*"}]})",
              R"(c["a\"b"])"),
        "");
}

}  // namespace
}  // namespace orrery::engine
