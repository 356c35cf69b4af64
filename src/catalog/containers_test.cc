#include <gtest/gtest.h>

#include <thread>

#include "base/crash_copy_test_support.h"
#include "base/ended_test_support.h"
#include "catalog/catalog.h"
#include "catalog/catalog_test_support.h"
#include "catalog/records.h"
#include "storage/store_test_support.h"

namespace orrery::catalog {
namespace {

using testing::Account;
using testing::Folder;
using testing::message_of;

constexpr std::string_view kContainer =
    R"({"id":"c","partitionKey":{"paths":["/pk"],"version":2}})";

std::string named(const std::string& id) {
    return R"({"id":")" + id + R"(","partitionKey":{"paths":["/pk"],"version":2}})";
}

/// Writes one key past the catalog.
struct MetaChangeForTest {
    std::string key;
    std::string value;
    void commit(storage::Store& store) const {
        EXPECT_TRUE(storage::testing::commit(store, [this](storage::CommitScope& scope) {
                        scope.put(storage::Family::kMeta, key, value);
                        return true;
                    }).ok());
    }
};

class ContainerTest : public ::testing::Test {
protected:
    ContainerTest() { EXPECT_TRUE(account_.create_database(R"({"id":"d"})").ok()); }
    Account account_;
};

TEST_F(ContainerTest, AsClientsSeeIt) {
    const auto created = account_.create_container("d", kContainer);
    ASSERT_TRUE(created.ok()) << message_of(created);
    const Container& container = **created;
    const std::string self = container.self();
    EXPECT_EQ(self, "dbs/" + container.database->rid.text() + "/colls/" + container.rid_text + "/");
    EXPECT_EQ(container.alt_path, "dbs/d/colls/c");
    EXPECT_EQ(
        rest::container_json(container),
        R"({"id":"c","indexingPolicy":{"indexingMode":"consistent","automatic":true,)"
        R"("includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}]},)"
        R"("partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},)"
        R"("conflictResolutionPolicy":{"mode":"LastWriterWins","conflictResolutionPath":"/_ts",)"
        R"("conflictResolutionProcedure":""},"geospatialConfig":{"type":"Geography"},"_rid":")" +
            container.rid_text + R"(","_self":")" + self + R"(","_etag":"\")" +
            container.version.etag + R"(\"","_ts":)" +
            std::to_string(account_.clock.wall_seconds()) +
            R"(,"_docs":"docs/","_sprocs":"sprocs/","_triggers":"triggers/","_udfs":"udfs/","_conflicts":"conflicts/"})");
    EXPECT_EQ(account_->find_container("d", "c"), *created);
    EXPECT_EQ(account_->find_container(container.database->rid.text(), container.rid_text),
              *created);
    EXPECT_EQ(account_->find_container("d", container.rid_text), *created);
    EXPECT_EQ(account_->find_container("d", "x"), nullptr);
}

TEST_F(ContainerTest, RidsOfAnotherDatabaseAreNotFound) {
    ASSERT_TRUE(account_.create_database(R"({"id":"e"})").ok());
    const auto created = account_.create_container("d", kContainer);
    ASSERT_TRUE(created.ok());
    EXPECT_EQ(account_->find_container("e", (*created)->rid_text), nullptr);
}

TEST_F(ContainerTest, PartitionKeyRanges) {
    const auto created = account_.create_container("d", kContainer, {12'000, {}, {}});
    ASSERT_TRUE(created.ok());
    const Container& container = **created;
    const std::string json = rest::ranges_json(container, container.ranges_since(0));
    const auto value = account_.parse(json);
    EXPECT_EQ(value.member("_rid").as_string(), container.rid_text);
    EXPECT_EQ(value.member("_count").as_int64(), 2);
    const auto ranges = value.member("PartitionKeyRanges").elements();
    ASSERT_EQ(ranges.size(), 2u);
    const std::string middle = "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF";
    EXPECT_EQ(ranges[0].member("id").as_string(), "0");
    EXPECT_EQ(ranges[0].member("minInclusive").as_string(), "");
    EXPECT_EQ(ranges[0].member("maxExclusive").as_string(), middle);
    EXPECT_EQ(ranges[1].member("id").as_string(), "1");
    EXPECT_EQ(ranges[1].member("minInclusive").as_string(), middle);
    EXPECT_EQ(ranges[1].member("maxExclusive").as_string(), "FF");
    EXPECT_EQ(ranges[1].member("ridPrefix").as_int64(), 1);
    EXPECT_EQ(ranges[0].member("throughputFraction").as_double(), 0.5);
    EXPECT_EQ(ranges[0].member("status").as_string(), "online");
    EXPECT_EQ(ranges[0].member("parents").elements().size(), 0u);
    EXPECT_EQ(ranges[0].member("ownedArchivalPKRangeIds").elements().size(), 0u);
    EXPECT_EQ(ranges[0].member("lsn").as_int64(), 0);
    const std::string rid = child_rid(container.rid, ChildType::kRange, 2);
    EXPECT_EQ(ranges[0].member("_rid").as_string(), rid);
    EXPECT_EQ(ranges[0].member("_self").as_string(), container.self() + "pkranges/" + rid + "/");
    EXPECT_EQ(container.ranges->version, 1u);
}

TEST_F(ContainerTest, RangeMapFindsPartitions) {
    const auto created = account_.create_container("d", kContainer, {18'000, {}, {}});
    ASSERT_TRUE(created.ok());
    const RangeMap& map = *(*created)->ranges;
    ASSERT_EQ(map.ranges.size(), 3u);
    EXPECT_EQ(map.of_epk("").id, "0");
    for (const PartitionRange& range : map.ranges) {
        const partition::EpkRange& epks = range.partition->identity().range;
        EXPECT_EQ(map.of_epk(epks.min).id, range.id);
        EXPECT_EQ(map.of_epk(epks.min + '\0').id, range.id);
        EXPECT_EQ(map.find(range.id), &range);
    }
    EXPECT_EQ(map.find("3"), nullptr);
    EXPECT_EQ(map.find("00"), nullptr);
    EXPECT_EQ(map.overlapping({}).size(), 3u);
    const partition::EpkRange second = map.ranges[1].partition->identity().range;
    ASSERT_EQ(map.overlapping(second).size(), 1u);
    EXPECT_EQ(map.overlapping(second)[0]->id, "1");
    EXPECT_EQ(map.overlapping({second.min, second.max + '\0'}).size(), 2u);
    EXPECT_EQ(map.overlapping({second.max, second.min}).size(), 0u);
}

TEST_F(ContainerTest, PartitionsFollowTheThroughput) {
    const auto count = [&](const std::string& id, const ThroughputRequest& throughput) {
        const auto created = account_.create_container("d", named(id), throughput);
        EXPECT_TRUE(created.ok()) << message_of(created);
        return created.ok() ? (*created)->ranges->ranges.size() : 0;
    };
    EXPECT_EQ(count("a", {}), 1u);
    EXPECT_EQ(count("b", {6'000, {}, {}}), 1u);
    EXPECT_EQ(count("c", {11'000, {}, {}}), 2u);
    EXPECT_EQ(count("d", {30'000, {}, {}}), 5u);
    EXPECT_EQ(count("e", {{}, 30'000, {}}), 3u);
    EXPECT_EQ(ended(account_.create_container("d", named("f"), {450, {}, {}})), Ended::kBadRequest);
    EXPECT_EQ(ended(account_.create_container("d", named("f"), {400, 1'000, {}})),
              Ended::kBadRequest);
    EXPECT_EQ(account_->find_container("d", "f"), nullptr);
}

TEST_F(ContainerTest, DefaultOffer) {
    const auto created = account_.create_container("d", kContainer);
    ASSERT_TRUE(created.ok());
    const OfferPtr offer = account_->offer_of((*created)->rid_text);
    ASSERT_NE(offer, nullptr);
    EXPECT_EQ(offer->manual, 400);
    EXPECT_EQ(offer->resource, (*created)->self());
}

TEST_F(ContainerTest, SharedThroughput) {
    ASSERT_TRUE(account_.create_database(R"({"id":"s"})", {25'000, {}, {}}).ok());
    for (int i = 0; i < 25; ++i) {
        const auto created = account_.create_container("s", named("c" + std::to_string(i)));
        ASSERT_TRUE(created.ok());
        EXPECT_EQ((*created)->ranges->ranges.size(), 3u);
        EXPECT_EQ(account_->offer_of((*created)->rid_text), nullptr);
    }
    EXPECT_EQ(ended(account_.create_container("s", named("one more"))), Ended::kDatabaseFull);
    EXPECT_EQ(ended(account_.create_container("s", named("own"), {400, {}, {}})), Ended::kOk);
    EXPECT_EQ(ended(account_.create_container("s", named("one more"))), Ended::kDatabaseFull);
    ASSERT_TRUE(account_->delete_container("s", "c3", "").ok());
    EXPECT_EQ(ended(account_.create_container("s", named("one more"))), Ended::kOk);
    ASSERT_TRUE(account_->delete_container("s", "own", "").ok());
    EXPECT_EQ(ended(account_.create_container("s", named("another"))), Ended::kDatabaseFull);
    EXPECT_EQ(ended(account_.create_container("s", R"({"id":"fixed"})", {}, true)),
              Ended::kBadRequest);
}

TEST_F(ContainerTest, LegacyFixed) {
    EXPECT_EQ(ended(account_.create_container("d", R"({"id":"f"})")), Ended::kBadRequest);
    const auto created = account_.create_container("d", R"({"id":"f"})", {10'000, {}, {}}, true);
    ASSERT_TRUE(created.ok());
    EXPECT_TRUE((*created)->definition->legacy_fixed());
    EXPECT_EQ((*created)->ranges->ranges.size(), 1u);
    EXPECT_EQ(ended(account_.create_container("d", R"({"id":"g"})", {10'100, {}, {}}, true)),
              Ended::kBadRequest);
    EXPECT_EQ(ended(account_.replace_container("d", "f", R"({"id":"f"})")), Ended::kOk);
    const OfferPtr offer = account_->offer_of((*created)->rid_text);
    EXPECT_EQ(ended(rest::by_body::replace_offer(
                  *account_.catalog, offer->rid,
                  account_.parse(R"({"content":{"offerThroughput":11000}})"), Migrate::kNo, "")),
              Ended::kBadRequest);
}

TEST_F(ContainerTest, ReplaceRules) {
    ASSERT_TRUE(account_.create_container("d", kContainer).ok());
    const ContainerPtr before = account_->find_container("d", "c");
    account_.clock.advance_seconds(5);
    const auto replaced = account_.replace_container(
        "d", "c",
        R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":30})");
    ASSERT_TRUE(replaced.ok()) << message_of(replaced);
    EXPECT_EQ((*replaced)->rid, before->rid);
    EXPECT_NE((*replaced)->version.etag, before->version.etag);
    EXPECT_EQ((*replaced)->version.ts, before->version.ts + 5);
    EXPECT_EQ((*replaced)->settings->default_ttl, 30);
    EXPECT_EQ((*replaced)->settings->path_key.k0, before->settings->path_key.k0);
    EXPECT_EQ((*replaced)->ranges->ranges[0].partition->settings(), (*replaced)->settings);
    EXPECT_EQ(account_->find_container("d", "c"), *replaced);
    EXPECT_FALSE(before->settings->default_ttl);  // what was handed out does not change
    EXPECT_EQ(ended(account_.replace_container("d", "c", R"({"id":"other"})")), Ended::kBadRequest);
    EXPECT_EQ(ended(account_.replace_container("d", "c", R"({})")), Ended::kBadRequest);
    EXPECT_EQ(ended(account_.replace_container("d", "c",
                                               R"({"id":"c","partitionKey":{"paths":["/x"]}})")),
              Ended::kBadRequest);
    EXPECT_EQ(ended(account_.replace_container("d", "c", R"({"id":"c","defaultTtl":0})")),
              Ended::kBadRequest);
    EXPECT_EQ(account_->find_container("d", "c"), *replaced);  // refused changes change nothing
    EXPECT_EQ(ended(account_.replace_container("d", (*replaced)->rid_text, kContainer)),
              Ended::kOk);
}

constexpr std::string_view kOtherIndexing =
    R"({"id":"c","indexingPolicy":{"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"}]}})";

TEST_F(ContainerTest, IndexingChangeRacesWithWriters) {
    const auto created = account_.create_container("d", kContainer);
    ASSERT_TRUE(created.ok());
    std::thread writer([&] {
        for (int i = 0; i < 200; ++i) {
            EXPECT_TRUE(account_.put_item(**created, "1").committed);
            EXPECT_TRUE(account_.delete_item(**created, "1").committed);
        }
        EXPECT_TRUE(account_.put_item(**created, "2").committed);
    });
    int changed = 0;
    for (int i = 0; i < 50; ++i)
        if (account_.replace_container("d", "c", i % 2 == 0 ? kOtherIndexing : kContainer).ok())
            ++changed;
    writer.join();
    const ContainerPtr container = account_->find_container("d", "c");
    std::vector<std::string> findings;
    const storage::ViewPtr view = account_.store->view();
    ASSERT_TRUE(container->ranges->ranges[0].partition->check(*view, findings).ok());
    EXPECT_TRUE(findings.empty()) << findings.front();
    EXPECT_EQ(container->ranges->ranges[0].partition->settings(), container->settings);
}

TEST(Containers, ItemsSurviveAReopen) {
    Folder folder;
    Account account(folder.path());
    ASSERT_TRUE(account.create_database(R"({"id":"d"})").ok());
    const auto created = account.create_container("d", kContainer, {12'000, {}, {}});
    ASSERT_TRUE(created.ok());
    ASSERT_TRUE(account.put_item(**created, "1").committed);
    account.reopen();
    const ContainerPtr container = account->find_container("d", "c");
    ASSERT_NE(container, nullptr);
    EXPECT_TRUE(account.read_item(*container, "1").status.ok());
}

TEST(Containers, RecreatedContainerIsAnother) {
    Folder folder;
    Account account(folder.path());
    ASSERT_TRUE(account.create_database(R"({"id":"d"})").ok());
    const auto first = account.create_container("d", kContainer);
    ASSERT_TRUE(first.ok());
    ASSERT_TRUE(account.put_item(**first, "1").committed);
    ASSERT_TRUE(account.read_item(**first, "1").status.ok());
    ASSERT_TRUE(account->delete_container("d", "c", "").ok());
    EXPECT_EQ(account->list_offers().size(), 0u);
    EXPECT_EQ(account.cache->statistics().entries, 0u);
    account.reopen();
    EXPECT_EQ(account->find_container("d", "c"), nullptr);
    const auto second = account.create_container("d", kContainer);
    ASSERT_TRUE(second.ok());
    EXPECT_NE((*second)->rid_text, (*first)->rid_text);
    EXPECT_NE((*second)->ranges->ranges[0].partition->identity().id,
              (*first)->ranges->ranges[0].partition->identity().id);
    EXPECT_EQ(ended(account.read_item(**second, "1").status.error()), Ended::kNotFound);
}

TEST(Containers, CrashReplaysLivePartitionsAndForgetsDeadOnes) {
    Folder folder;
    Folder crashed;
    {
        Account account(folder.path());
        ASSERT_TRUE(account.create_database(R"({"id":"d"})").ok());
        const auto live = account.create_container("d", kContainer);
        const auto dead = account.create_container("d", named("dead"));
        ASSERT_TRUE(live.ok() && dead.ok());
        for (int i = 0; i < 20; ++i) {
            ASSERT_TRUE(account.put_item(**live, std::to_string(i)).committed);
            ASSERT_TRUE(account.put_item(**dead, std::to_string(i)).committed);
        }
        ASSERT_TRUE(account->delete_container("d", "dead", "").ok());
        // A request that still held the container.
        ASSERT_TRUE(account.put_item(**dead, "late").committed);
        copy_as_after_a_crash(folder.path(), crashed.path());
    }
    Account account(crashed.path());
    const auto look = [&](int64_t items) {
        const ContainerPtr live = account->find_container("d", "c");
        ASSERT_NE(live, nullptr);
        EXPECT_EQ(account->find_container("d", "dead"), nullptr);
        std::vector<std::string> findings;
        const storage::ViewPtr view = account.store->view();
        const PartitionRange& range = live->ranges->ranges[0];
        ASSERT_TRUE(range.partition->check(*view, findings).ok());
        EXPECT_TRUE(findings.empty()) << findings.front();
        EXPECT_EQ(range.partition->totals(*view)->items, items);
        ASSERT_TRUE(account.replace_container("d", "c", kContainer).ok());
        ASSERT_TRUE(account.put_item(*live, "after").committed);
    };
    look(20);
    account.reopen();
    look(21);
}

TEST(Containers, RefusedWriteChangesNothing) {
    Folder folder;
    {
        Account account(folder.path());
        ASSERT_TRUE(account.create_database(R"({"id":"d"})").ok());
        ASSERT_TRUE(account.create_container("d", kContainer).ok());
    }
    storage::StoreOptions options;
    const SystemClock clock;
    options.folder = folder.path();
    options.read_only = true;
    options.clock = &clock;
    auto store = storage::Store::open(options);
    ASSERT_TRUE(store.ok());
    partition::ItemCache cache(1 << 20);
    WorkerPool workers("test", 1);
    {
        auto catalog = Catalog::load({**store, cache, workers, clock});
        ASSERT_TRUE(catalog.ok()) << message_of(catalog);
        json::Arena arena;
        const auto refused =
            rest::by_body::create_container(**catalog, "d", *json::parse(named("x"), arena));
        EXPECT_EQ(ended(refused), Ended::kReadOnly);
        EXPECT_EQ(ended((*catalog)->delete_database("d", "")), Ended::kReadOnly);
        EXPECT_EQ((*catalog)->all_containers().size(), 1u);
        EXPECT_EQ((*catalog)->list_offers().size(), 1u);
        EXPECT_NE((*catalog)->find_database("d"), nullptr);
    }
    workers.stop();
}

TEST(Containers, DamagedOrNewerCatalogIsRefused) {
    for (const bool newer : {false, true}) {
        Folder folder;
        {
            Account account(folder.path());
            ASSERT_TRUE(account.create_database(R"({"id":"d"})").ok());
            const auto created = account.create_container("d", kContainer);
            ASSERT_TRUE(created.ok());
            const std::string key = records::container_key((*created)->rid);
            const auto value = account.store->view()->get(storage::Family::kMeta, key);
            ASSERT_TRUE(value.ok() && *value);
            std::string changed = **value;
            if (newer)
                changed[0] = 4;
            else
                changed.resize(changed.size() / 2);
            MetaChangeForTest{key, changed}.commit(*account.store);
        }
        storage::StoreOptions options;
        const SystemClock clock;
        options.folder = folder.path();
        options.clock = &clock;
        auto store = storage::Store::open(options);
        ASSERT_TRUE(store.ok());
        partition::ItemCache cache(1 << 20);
        WorkerPool workers("test", 1);
        const auto catalog = Catalog::load({**store, cache, workers, clock});
        EXPECT_EQ(ended(catalog), Ended::kInternal);
        EXPECT_NE(message_of(catalog).find(newer ? "newer version" : "damaged"), std::string::npos)
            << message_of(catalog);
        workers.stop();
    }
}

}  // namespace
}  // namespace orrery::catalog
