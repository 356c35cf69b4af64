#include "engine/background/materialized_view_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/ended_test_support.h"
#include "base/limits.h"
#include "engine/durable_test_support.h"
#include "json/document.h"

namespace orrery::engine {
namespace {

using partition::OperationKind;
using testing::HasSubstr;
using testing_support::DurableEngine;
using testing_support::wait_for;

const std::string kSource =
    R"({"id":"s","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}})";
const std::string kView =
    R"({"id":"v","partitionKey":{"paths":["/city"],"kind":"Hash","version":2},)"
    R"("materializedViewDefinition":{"sourceCollectionId":"s",)"
    R"("definition":"SELECT c.city, c.n, c.deep.name FROM c"}})";

/// What the source holds, by partition key and id.
struct Item {
    std::string city;
    int n = 0;
    size_t name_length = 1;

    std::string name() const { return std::string(name_length, 'x') + std::to_string(n); }
};
using Model = std::map<std::pair<std::string, std::string>, Item>;

class ViewTest : public testing::Test {
protected:
    static std::string body(const std::string& pk, const std::string& id, const Item& item) {
        return R"({"id":")" + id + R"(","pk":")" + pk + R"(","city":")" + item.city + R"(","n":)" +
               std::to_string(item.n) + R"(,"deep":{"name":")" + item.name() + R"("}})";
    }
    void put(const std::string& pk, const std::string& id, const Item& item) {
        ASSERT_EQ(
            server_.run(server_.container("s"), OperationKind::kUpsert, pk, id, body(pk, id, item)),
            Ended::kOk);
        model_[{pk, id}] = item;
    }
    void remove(const std::string& pk, const std::string& id) {
        ASSERT_EQ(server_.run(server_.container("s"), OperationKind::kDelete, pk, id), Ended::kOk);
        model_.erase({pk, id});
    }
    /// All items of a container, without what the view generates.
    std::multiset<std::string> items_of(const std::string& id) {
        std::multiset<std::string> out;
        FeedRequest request;
        request.items_max = 1000;
        do {
            const auto page = server_.engine().read_feed(*server_.container(id), request);
            EXPECT_TRUE(page.ok());
            if (!page.ok()) return out;
            for (const auto& item : page->items) {
                const std::string text = json::decode_document(*item.document)->text();
                out.insert(text.substr(text.find(R"("_id")")));
            }
            request.continuation = page->continuation;
        } while (!request.continuation.empty());
        return out;
    }
    std::multiset<std::string> expected() const {
        std::multiset<std::string> out;
        for (const auto& [key, item] : model_)
            out.insert(R"("_id":")" + key.second + R"(","city":")" + item.city + R"(","n":)" +
                       std::to_string(item.n) + R"(,"name":")" + item.name() + R"("})");
        return out;
    }
    void expect_view_follows() {
        wait_for([&] { return items_of("v") == expected(); });
        EXPECT_EQ(items_of("v"), expected());
    }
    void split(size_t range) {
        const auto source = server_.container("s");
        catalog::RangeProgress progress;
        catalog::RangeChange change;
        change.container = source->rid;
        change.range_ids = {source->ranges->ranges[range].id};
        const auto changed = server_.catalog().change_ranges(change, progress);
        ASSERT_TRUE(changed.ok()) << changed.error().message;
    }
    void merge() {
        const auto source = server_.container("s");
        catalog::RangeProgress progress;
        catalog::RangeChange change;
        change.container = source->rid;
        change.range_ids = {source->ranges->ranges[0].id, source->ranges->ranges[1].id};
        const auto changed = server_.catalog().change_ranges(change, progress);
        ASSERT_TRUE(changed.ok()) << changed.error().message;
    }
    Error refusal(const std::string& body) {
        json::Arena arena;
        const auto made =
            rest::by_body::create_container(server_.catalog(), "d", *json::parse(body, arena));
        EXPECT_FALSE(made.ok()) << body;
        return made.ok() ? Error() : made.error();
    }

    DurableEngine server_{true};
    Model model_;
};

TEST_F(ViewTest, ShowsWhatWasThereAndFollows) {
    ASSERT_NE(server_.create_container(kSource, 18'000), nullptr);
    for (int i = 0; i < 300; ++i)
        put("k" + std::to_string(i % 20), "i" + std::to_string(i),
            {"c" + std::to_string(i % 7), i});
    for (int i = 0; i < 300; i += 5) remove("k" + std::to_string(i % 20), "i" + std::to_string(i));
    const auto view = server_.create_container(kView);
    ASSERT_NE(view, nullptr);
    EXPECT_THAT(rest::container_json(*view), HasSubstr(R"("status":"InitialBuildAfterCreate"})"));
    expect_view_follows();
    EXPECT_TRUE(wait_for([&] { return server_.container("v")->materialized_view_built; }));
    EXPECT_THAT(rest::container_json(*server_.container("v")), HasSubstr(R"("status":"Active"})"));
    EXPECT_THAT(rest::container_json(*server_.container("s")),
                HasSubstr(R"("materializedViews":[{"id":"v","_rid":")" + view->rid_text + "\"}]"));
    // Changes of the view's key, of other properties, deletes, and the same id again.
    for (const auto& [key, item] : Model(model_)) {
        if (item.n % 3 == 0)
            put(key.first, key.second, {"moved" + std::to_string(item.n % 4), item.n});
        if (item.n % 3 == 1) put(key.first, key.second, {item.city, item.n + 1000});
        if (item.n % 7 == 2) remove(key.first, key.second);
    }
    put("k0", "i0", {"again", 1});
    remove("k0", "i0");
    put("k0", "i0", {"again", 2});
    expect_view_follows();
    const auto state = server_.engine().materialized_views().state(view->rid);
    ASSERT_TRUE(state);
    EXPECT_TRUE(state->built);
    EXPECT_EQ(state->refused, 0U);
    EXPECT_GT(state->applied, 300U);
}

TEST_F(ViewTest, ClientsOnlyRead) {
    server_.create_container(kSource);
    put("a", "1", {"x", 1});
    const auto view = server_.create_container(kView);
    expect_view_follows();
    const auto answer = server_.execute(
        view, DurableEngine::one(DurableEngine::epk_of(*view, "x"), OperationKind::kUpsert, "1",
                                 R"({"id":"1","city":"x"})"));
    ASSERT_FALSE(answer.result.results.front().status.ok());
    EXPECT_EQ(ended(answer.result.results.front().status.error()), Ended::kForbidden);
    EXPECT_THAT(answer.result.results.front().status.error().message,
                HasSubstr("materialized view of 's'"));
    EXPECT_TRUE(answer.refused);
    for (const auto kind :
         {OperationKind::kCreate, OperationKind::kReplace, OperationKind::kDelete})
        EXPECT_EQ(server_.run(view, kind, "x", "1", R"({"id":"1","city":"x"})"), Ended::kForbidden);
    EXPECT_EQ(
        ended(server_.engine().delete_partition_key(*view, DurableEngine::epk_of(*view, "x"))),
        Ended::kForbidden);
    // The source cannot go before its views.
    EXPECT_EQ(ended(server_.catalog().delete_container("d", "s", "").error()), Ended::kBadRequest);
    EXPECT_TRUE(server_.catalog().delete_container("d", "v", "").ok());
    EXPECT_TRUE(server_.container("s")->materialized_views.empty());
    EXPECT_TRUE(server_.catalog().delete_container("d", "s", "").ok());
}

TEST_F(ViewTest, WholeItemsAndMissingProperties) {
    server_.create_container(kSource);
    const auto source = server_.container("s");
    server_.run(source, OperationKind::kCreate, "a", "1",
                R"({"id":"1","pk":"a","x":[1,{"y":1.50}],"id2":null})");
    server_.create_container(
        R"({"id":"v","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},)"
        R"("materializedViewDefinition":{"sourceCollectionId":"s","definition":"select * from s"}})");
    server_.create_container(
        R"({"id":"w","partitionKey":{"paths":["/gone"],"kind":"Hash","version":2},)"
        R"("materializedViewDefinition":{"sourceCollectionRid":")" +
        source->rid_text + R"(","definition":"SELECT s.gone, s[\"x\"] FROM s"}})");
    EXPECT_TRUE(wait_for([&] { return items_of("v").size() == 1 && items_of("w").size() == 1; }));
    EXPECT_EQ(*items_of("v").begin(), R"("_id":"1","pk":"a","x":[1,{"y":1.50}],"id2":null})");
    EXPECT_EQ(*items_of("w").begin(), R"("_id":"1","gone":null,"x":[1,{"y":1.50}]})");
}

/// An item that the view cannot hold is left out, and counted; others go on.
TEST_F(ViewTest, ItemsThatDoNotFit) {
    server_.create_container(kSource);
    const auto view = server_.create_container(kView);
    put("a", "1", {"x", 1});
    put("a", "2", {"y", 2});
    expect_view_follows();
    const std::string long_key(3000, 'k');
    ASSERT_EQ(server_.run(server_.container("s"), OperationKind::kUpsert, "a", "1",
                          body("a", "1", {long_key, 1})),
              Ended::kOk);
    model_.erase({"a", "1"});
    put("a", "3", {"z", 3});
    expect_view_follows();
}

TEST_F(ViewTest, SurvivesRestartsCrashesSplitsAndMerges) {
    server_.create_container(kSource);
    server_.create_container(kView);
    std::mt19937 random(20'261'116);
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    for (int round = 0; round < 8; ++round) {
        for (int i = 0; i < 60; ++i) {
            const std::string pk = "k" + std::to_string(pick(8));
            const std::string id = "i" + std::to_string(pick(12));
            if (pick(4) == 0 && model_.contains({pk, id}))
                remove(pk, id);
            else
                put(pk, id, {"c" + std::to_string(pick(5)), pick(1000)});
        }
        if (round % 4 == 0) split(0);
        if (round % 4 == 1) server_.restart();
        if (round % 4 == 2) {
            // Nothing that was acknowledged is lost, and the view may be anywhere.
            server_.engine().stop_background();
            server_.crash();
        }
        if (round == 3) merge();
        if (round % 2 == 0) expect_view_follows();
        // The log is trimmed only as far as the view has come.
        for (const auto now = server_.container("s"); const auto& range : now->ranges->ranges)
            ASSERT_TRUE(range.partition->trim_log(100'000).ok());
    }
    expect_view_follows();
    std::vector<std::string> findings;
    for (const auto* id : {"s", "v"})
        for (const auto now = server_.container(id); const auto& range : now->ranges->ranges)
            EXPECT_TRUE(range.partition->check(*server_.store().view(), findings).ok());
    EXPECT_EQ(findings, std::vector<std::string>());
}

// What the view's writes wait for is there until nobody waits.
TEST_F(ViewTest, StopsInTheMiddleOfItsWrites) {
    server_.create_container(kSource);
    server_.create_container(kView);
    constexpr size_t kLongName = 70'000;  // no caller prepares such a write on its own thread
    for (int round = 0; round < 12; ++round) {
        for (int i = 0; i < 20; ++i)
            put("k" + std::to_string(i % 8), "i" + std::to_string(i), {"c", round, kLongName});
        std::this_thread::sleep_for(std::chrono::milliseconds(round));
        server_.restart();
    }
    expect_view_follows();
}

TEST_F(ViewTest, DefinitionsAreChecked) {
    server_.create_container(kSource);
    const auto view = [](const std::string& definition, const std::string& more = "",
                         const std::string& key = "/city") {
        return R"({"id":"v","partitionKey":{"paths":[")" + key +
               R"("],"kind":"Hash","version":2},"materializedViewDefinition":{"sourceCollectionId":"s","definition":")" +
               definition + "\"}" + more + "}";
    };
    for (
        const auto& [body, why] : std::vector<std::pair<std::string, std::string>>{
            {view("SELECT c.city FROM c WHERE c.n > 1"), "no WHERE"},
            {view("SELECT c.city AS town FROM c"), "no aliases"},
            {view("SELECT UPPER(c.city) FROM c"), "such as s.name"},
            {view("SELECT c.city, COUNT(1) FROM c"), "such as s.name"},
            {view("SELECT c FROM c"), "such as s.name"},
            {view("SELECT VALUE c.city FROM c"), "such as s.name"},
            {view("SELECT c.city FROM d"), "not what FROM names"},
            {view("SELECT c.city, c.a.city FROM c"), "two properties"},
            {view("SELECT c.city, c._ts FROM c"), "system property"},
            {view("SELECT c.city, c.a.id FROM c"), "gives itself"},
            {view("SELECT c.city, c.x FROM c JOIN d IN c.e"), "no WHERE, JOIN"},
            {view("DELETE FROM c"), "begin with SELECT"},
            {view("SELECT c.n FROM c"), "its own partition key"},
            {view("SELECT c.city FROM c", R"(,"defaultTtl":5)"), "defaultTtl"},
            {view("SELECT c.city FROM c",
                  R"(,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/n"]}]})"),
             "uniqueKeyPolicy"},
            {view("SELECT c.city FROM c", R"(,"indexingPolicy":{"indexingMode":"none"})"),
             "needs its index"},
            {R"({"id":"v","partitionKey":{"paths":["/a"]},"materializedViewDefinition":{"sourceCollectionId":"none","definition":"SELECT * FROM c"}})",
             "'none', which does not exist"},
            {R"({"id":"v","partitionKey":{"paths":["/a"]},"materializedViewDefinition":{"definition":"SELECT * FROM c"}})",
             "sourceCollectionId"},
            {R"({"id":"v","partitionKey":{"paths":["/a"]},"materializedViewDefinition":{"sourceCollectionId":"s","definition":"SELECT * FROM c","mode":1}})",
             "'mode'"},
            {R"({"id":"v","partitionKey":{"paths":["/a"]},"globalSecondaryIndexDefinition":{"sourceCollectionId":"s"}})",
             "materializedViewDefinition"},
            {R"({"id":"v","partitionKey":{"paths":["/a"]},"materializedViews":[{"id":"x"}]})",
             "materializedViews"}}) {
        const Error error = refusal(body);
        EXPECT_EQ(ended(error), Ended::kBadRequest) << body;
        EXPECT_THAT(error.message, HasSubstr(why)) << body;
    }
    ASSERT_NE(server_.create_container(view("SELECT c.city, c.id, c.n FROM c")), nullptr);
    EXPECT_THAT(
        refusal(
            R"({"id":"x","partitionKey":{"paths":["/city"]},"materializedViewDefinition":{"sourceCollectionId":"v","definition":"SELECT * FROM c"}})")
            .message,
        HasSubstr("view itself"));
    // A replace may repeat what the server says, and change what may change.
    json::Arena arena;
    const auto replace = [&](const std::string& id, const std::string& body) {
        return rest::by_body::replace_container(server_.catalog(), "d", id,
                                                *json::parse(body, arena));
    };
    EXPECT_TRUE(replace("v", rest::container_json(*server_.container("v"))).ok());
    EXPECT_TRUE(replace("s", rest::container_json(*server_.container("s"))).ok());
    EXPECT_NE(server_.container("v")->materialized_view(), nullptr);
    EXPECT_FALSE(replace("v", view("SELECT c.city FROM c")).ok());
    EXPECT_FALSE(replace("v", view("SELECT c.city, c.id, c.n FROM c", R"(,"defaultTtl":9)")).ok());
    EXPECT_FALSE(
        replace(
            "s",
            R"({"id":"s","materializedViewDefinition":{"sourceCollectionId":"v","definition":"SELECT * FROM c"}})")
            .ok());
}

}  // namespace
}  // namespace orrery::engine
