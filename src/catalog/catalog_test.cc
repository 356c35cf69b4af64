#include "catalog/catalog.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <set>
#include <thread>

#include "base/ended_test_support.h"
#include "catalog/catalog_test_support.h"

namespace orrery::catalog {
namespace {

using testing::Account;
using testing::Folder;
using testing::message_of;

constexpr std::string_view kContainer = R"({"id":"c","partitionKey":{"paths":["/pk"]}})";

TEST(Catalog, DatabaseAsClientsSeeIt) {
    Account account;
    const auto created = account.create_database(R"({"id":"d"})");
    ASSERT_TRUE(created.ok());
    const Database& database = **created;
    const std::string rid = database.rid.text();
    EXPECT_EQ(rest::database_json(database), R"({"id":"d","_rid":")" + rid + R"(","_self":"dbs/)" +
                                                 rid + R"(/","_etag":"\")" + database.version.etag +
                                                 R"(\"","_ts":)" +
                                                 std::to_string(account.clock.wall_seconds()) +
                                                 R"(,"_colls":"colls/","_users":"users/"})");
    EXPECT_EQ(account->find_database("d"), *created);
    EXPECT_EQ(account->find_database(rid), *created);
    EXPECT_EQ(account->find_database("D"), nullptr);  // case matters
    EXPECT_EQ(account->offer_of(rid), nullptr);
}

TEST(Catalog, NameRules) {
    Account account;
    const std::string longest(255, 'x');
    for (const std::string& good :
         {std::string("a"), std::string(" a"), std::string("a.b-c_d"), std::string("ä€😀"), longest})
        EXPECT_EQ(ended(account.create_database(R"({"id":")" + good + R"("})")), Ended::kOk)
            << good;
    for (const std::string& bad :
         {std::string(""), std::string("a/b"), std::string("a\\\\b"), std::string("a?"),
          std::string("#a"), std::string("a "), longest + "x"})
        EXPECT_EQ(ended(account.create_database(R"({"id":")" + bad + R"("})")), Ended::kBadRequest)
            << bad;
    for (std::string_view body : {"{}", R"({"id":5})", R"({"id":null})", "[]", "\"d\"", "null"})
        EXPECT_EQ(ended(account.create_database(body)), Ended::kBadRequest) << body;
    // 255 characters, not bytes.
    std::string wide;
    for (int i = 0; i < 255; ++i) wide += "ä";
    EXPECT_EQ(ended(account.create_database(R"({"id":")" + wide + R"("})")), Ended::kOk);
}

TEST(Catalog, DuplicatesAndMissing) {
    Account account;
    EXPECT_EQ(ended(account.create_database(R"({"id":"d"})")), Ended::kOk);
    EXPECT_EQ(ended(account.create_database(R"({"id":"d"})")), Ended::kConflict);
    EXPECT_EQ(ended(account.create_database(R"({"id":"e","throughput":400})")), Ended::kBadRequest);
    EXPECT_EQ(ended(account.create_database(R"({"id":"e","_self":"x","ttl":null})")), Ended::kOk);
    EXPECT_EQ(ended(account->delete_database("x", "")), Ended::kNotFound);
    EXPECT_EQ(ended(account.create_container("x", kContainer)), Ended::kOwnerNotFound);
    EXPECT_EQ(ended(account.replace_container("x", "c", kContainer)), Ended::kOwnerNotFound);
    EXPECT_EQ(ended(account->delete_container("x", "c", "")), Ended::kOwnerNotFound);
    EXPECT_EQ(ended(account.replace_container("d", "c", kContainer)), Ended::kNotFound);
    EXPECT_EQ(ended(account->delete_container("d", "c", "")), Ended::kNotFound);
    EXPECT_EQ(ended(rest::by_body::create_user(
                  *account.catalog, "x", account.parse(R"({"id":"u"})"), Catalog::Upsert::kNo)),
              Ended::kOwnerNotFound);
}

TEST(Catalog, IfMatch) {
    Account account;
    const auto database = account.create_database(R"({"id":"d"})");
    ASSERT_TRUE(database.ok());
    const auto container = account.create_container("d", kContainer);
    ASSERT_TRUE(container.ok());
    EXPECT_EQ(ended(account.replace_container("d", "c", kContainer, "other")),
              Ended::kPrecondition);
    EXPECT_EQ(ended(account.replace_container("d", "c", kContainer, (*container)->version.etag)),
              Ended::kOk);
    EXPECT_EQ(ended(account.replace_container("d", "c", kContainer, (*container)->version.etag)),
              Ended::kPrecondition);
    EXPECT_EQ(ended(account.replace_container("d", "c", kContainer, "*")), Ended::kOk);
    EXPECT_EQ(ended(account->delete_container("d", "c", "other")), Ended::kPrecondition);
    EXPECT_EQ(
        ended(account->delete_container("d", "c", account->find_container("d", "c")->version.etag)),
        Ended::kOk);
    EXPECT_EQ(ended(account->delete_database("d", "other")), Ended::kPrecondition);
    EXPECT_EQ(ended(account->delete_database("d", (*database)->version.etag)), Ended::kOk);
}

TEST(Catalog, ListingSurvivesChanges) {
    Account account;
    for (int i = 0; i < 7; ++i)
        ASSERT_TRUE(account.create_database(R"({"id":"d)" + std::to_string(9 - i) + "\"}").ok());
    ListingRequest request;
    request.items_max = 3;
    auto page = account->list_databases(request);
    ASSERT_EQ(page.items.size(), 3u);
    EXPECT_EQ(page.items[0]->id, "d9");  // in the order of creation
    EXPECT_EQ(page.items[2]->id, "d7");
    ASSERT_FALSE(page.continuation.empty());
    EXPECT_TRUE(check_continuation(page.continuation).ok());
    // The last one of the page, the next one and a new one: nothing is shown twice or skipped.
    ASSERT_TRUE(account->delete_database("d7", "").ok());
    ASSERT_TRUE(account->delete_database("d6", "").ok());
    ASSERT_TRUE(account.create_database(R"({"id":"new"})").ok());
    request.continuation = page.continuation;
    request.items_max = 100;
    page = account->list_databases(request);
    std::vector<std::string> ids;
    for (const DatabasePtr& database : page.items) ids.push_back(database->id);
    EXPECT_EQ(ids, (std::vector<std::string>{"d5", "d4", "d3", "new"}));
    EXPECT_TRUE(page.continuation.empty());
    // A page that ends with the last resource has no continuation.
    request = {"", 6};
    EXPECT_TRUE(account->list_databases(request).continuation.empty());
}

TEST(Catalog, ForeignContinuationsAreRefused) {
    for (std::string_view text :
         {"x", "after:", "after:xyz", "after:1 ", "after:11111111111111111"}) {
        EXPECT_FALSE(check_continuation(text).ok()) << text;
    }
    EXPECT_TRUE(check_continuation("").ok());
}

TEST(Catalog, DeleteDatabaseTakesEverythingBelow) {
    Folder folder;
    Account account(folder.path());
    ASSERT_TRUE(account.create_database(R"({"id":"keep"})").ok());
    ASSERT_TRUE(account.create_container("keep", kContainer).ok());
    ASSERT_TRUE(account.create_database(R"({"id":"d"})", {400, {}, {}}).ok());
    ASSERT_TRUE(account.create_container("d", kContainer).ok());
    ASSERT_TRUE(account
                    .create_container("d", R"({"id":"own","partitionKey":{"paths":["/pk"]}})",
                                      {12'000, {}, {}})
                    .ok());
    ASSERT_TRUE(rest::by_body::create_user(*account.catalog, "d", account.parse(R"({"id":"u"})"),
                                           Catalog::Upsert::kNo)
                    .ok());
    ASSERT_TRUE(
        rest::by_body::create_permission(
            *account.catalog, "d", "u",
            account.parse(R"({"id":"p","permissionMode":"All","resource":"dbs/d/colls/c"})"),
            Catalog::Upsert::kNo)
            .ok());
    EXPECT_EQ(account->list_offers().size(), 3u);
    ASSERT_TRUE(account->delete_database("d", "").ok());
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(account->find_database("d"), nullptr);
        EXPECT_EQ(account->find_container("d", "c"), nullptr);
        EXPECT_EQ(account->find_user("d", "u"), nullptr);
        EXPECT_EQ(account->find_permission("d", "u", "p"), nullptr);
        EXPECT_EQ(account->list_offers().size(), 1u);
        EXPECT_EQ(account->all_containers().size(), 1u);
        account.reopen();
    }
    // Numbers are not handed out again.
    const auto again = account.create_database(R"({"id":"d"})");
    ASSERT_TRUE(again.ok());
    EXPECT_GT((*again)->rid.number, account->find_database("keep")->rid.number + 1);
}

TEST(Catalog, ReopenShowsTheSame) {
    Folder folder;
    Account account(folder.path());
    ASSERT_TRUE(account.create_database(R"({"id":"shared"})", {{}, 30'000, 7}).ok());
    ASSERT_TRUE(account.create_container("shared", kContainer).ok());
    ASSERT_TRUE(account
                    .create_container(
                        "shared",
                        R"({"id":"x","partitionKey":{"paths":["/a","/b"],"kind":"MultiHash"},)"
                        R"("defaultTtl":9,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}})",
                        {18'000, {}, {}})
                    .ok());
    ASSERT_TRUE(account.replace_container("shared", "c", R"({"id":"c","defaultTtl":-1})").ok());
    ASSERT_TRUE(rest::by_body::create_user(*account.catalog, "shared",
                                           account.parse(R"({"id":"u"})"), Catalog::Upsert::kNo)
                    .ok());
    ASSERT_TRUE(
        rest::by_body::create_permission(
            *account.catalog, "shared", "u",
            account.parse(R"({"id":"p","permissionMode":"Read","resource":"dbs/shared/colls/c",)"
                          R"("resourcePartitionKey":["k"]})"),
            Catalog::Upsert::kNo)
            .ok());
    const auto snapshot = [&] {
        std::vector<std::string> out;
        for (const DatabasePtr& database : account->list_databases({}).items) {
            out.push_back(rest::database_json(*database));
            for (const ContainerPtr& container : account->list_containers(*database, {}).items) {
                out.push_back(rest::container_json(*container));
                out.push_back(rest::ranges_json(*container, container->ranges_since(0)));
                out.push_back(container->alt_path);
                out.push_back(std::to_string(container->settings->path_key.k0));
                out.push_back(std::to_string(container->settings->default_ttl.value_or(-7)));
            }
            for (const UserPtr& user : account->list_users(*database, {}).items) {
                out.push_back(rest::user_json(*user));
                for (const PermissionPtr& permission : account->list_permissions(*user, {}).items)
                    out.push_back(rest::permission_json(*permission, ""));
            }
        }
        for (const OfferPtr& offer : account->list_offers())
            out.push_back(rest::offer_json(*offer));
        out.push_back(account->signing_secret());
        return out;
    };
    const std::vector<std::string> before = snapshot();
    EXPECT_GE(before.size(), 14u);
    account.reopen();
    EXPECT_EQ(snapshot(), before);
}

TEST(Catalog, SecretIsMadeOnceAndRandom) {
    Account one;
    Account two;
    EXPECT_EQ(one->signing_secret().size(), 32u);
    EXPECT_NE(one->signing_secret(), two->signing_secret());
}

TEST(Catalog, ConcurrentCreatesOfOneNameHaveOneWinner) {
    Account account;
    ASSERT_TRUE(account.create_database(R"({"id":"d"})").ok());
    const json::Value body = account.parse(kContainer);
    std::atomic<int> created{0};
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] {
            const auto result = rest::by_body::create_container(*account.catalog, "d", body);
            if (result.ok())
                ++created;
            else if (ended(result.error()) == Ended::kConflict)
                ++refused;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(created, 1);
    EXPECT_EQ(refused, 7);
    EXPECT_EQ(account->all_containers().size(), 1u);
    EXPECT_EQ(account->list_offers().size(), 1u);
}

TEST(Catalog, ReadersRunWhileResourcesChange) {
    Account account;
    ASSERT_TRUE(account.create_database(R"({"id":"d"})").ok());
    std::atomic<bool> stop{false};
    std::thread reader([&] {
        while (!stop) {
            if (const ContainerPtr container = account->find_container("d", "c")) {
                EXPECT_EQ(container->ranges->ranges.size(), 1u);
                EXPECT_FALSE(rest::container_json(*container).empty());
            }
            for (const DatabasePtr& database : account->list_databases({}).items)
                (void)account->list_containers(*database, {});
        }
    });
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(account.create_container("d", kContainer).ok());
        ASSERT_TRUE(account.replace_container("d", "c", kContainer).ok());
        ASSERT_TRUE(account->delete_container("d", "c", "").ok());
    }
    stop = true;
    reader.join();
}

TEST(Catalog, AThousandContainers) {
    Folder folder;
    Account account(folder.path());
    ASSERT_TRUE(account.create_database(R"({"id":"d"})").ok());
    const SystemClock clock;
    int64_t start = clock.monotonic_us();
    for (int i = 0; i < 1000; ++i)
        ASSERT_TRUE(account
                        .create_container("d", R"({"id":"c)" + std::to_string(i) +
                                                   R"(","partitionKey":{"paths":["/pk"]}})")
                        .ok());
    RecordProperty("create_ms", static_cast<int>((clock.monotonic_us() - start) / 1000));
    std::printf("1,000 containers created in %.2f s\n",
                static_cast<double>(clock.monotonic_us() - start) / 1e6);
    account.close();
    start = clock.monotonic_us();
    account.open();
    std::printf("opened again in %.0f ms\n",
                static_cast<double>(clock.monotonic_us() - start) / 1e3);
    EXPECT_EQ(account->all_containers().size(), 1000u);
    std::set<storage::PartitionId> ids;
    for (const ContainerPtr& container : account->all_containers())
        ids.insert(container->ranges->ranges[0].partition->identity().id);
    EXPECT_EQ(ids.size(), 1000u);
    start = clock.monotonic_us();
    ASSERT_TRUE(account->delete_database("d", "").ok());
    std::printf("deleted in %.0f ms\n", static_cast<double>(clock.monotonic_us() - start) / 1e3);
}

}  // namespace
}  // namespace orrery::catalog
