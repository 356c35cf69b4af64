#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "catalog/catalog_test_support.h"
#include "catalog/records.h"
#include "json/write.h"
#include "storage/store_test_support.h"

namespace orrery::catalog {
namespace {

using testing::Account;
using testing::Folder;
using testing::message_of;

class OfferTest : public ::testing::Test {
protected:
    OfferTest() : account_(folder_.path()) {
        EXPECT_TRUE(account_.create_database(R"({"id":"d"})").ok());
    }
    OfferPtr create(const ThroughputRequest& throughput) {
        const std::string id = "c" + std::to_string(++count_);
        const auto created = account_.create_container(
            "d", R"({"id":")" + id + R"(","partitionKey":{"paths":["/pk"]}})", throughput);
        EXPECT_TRUE(created.ok()) << message_of(created);
        return account_->offer_of((*created)->rid_text);
    }
    Result<OfferPtr> replace(const OfferPtr& offer, std::string_view body,
                             Migrate migrate = Migrate::kNo, std::string_view if_match = {}) {
        return rest::by_body::replace_offer(*account_.catalog, offer->rid, account_.parse(body),
                                            migrate, if_match);
    }
    static std::string manual(int64_t value) {
        return R"({"content":{"offerThroughput":)" + std::to_string(value) + "}}";
    }
    static std::string autoscale(int64_t value) {
        return R"({"content":{"offerThroughput":777,"offerAutopilotSettings":{"maxThroughput":)" +
               std::to_string(value) + "}}}";
    }

    Folder folder_;
    Account account_;
    int count_ = 0;
};

TEST_F(OfferTest, ManualAsClientsSeeIt) {
    const OfferPtr offer = create({400, {}, {}});
    ASSERT_NE(offer, nullptr);
    EXPECT_EQ(
        rest::offer_json(*offer),
        R"({"id":")" + offer->rid + R"(","_rid":")" + offer->rid + R"(","_self":"offers/)" +
            offer->rid + R"(/","_etag":"\")" + offer->version.etag + R"(\"","_ts":)" +
            std::to_string(account_.clock.wall_seconds()) +
            R"(,"offerVersion":"V2","offerType":"Invalid","resource":")" + offer->resource +
            R"(","offerResourceId":")" + offer->resource_rid +
            R"(","content":{"offerThroughput":400,"offerIsRUPerMinuteThroughputEnabled":false,)"
            R"("offerMinimumThroughputParameters":{"maxThroughputEverProvisioned":400,)"
            R"("maxConsumedStorageEverInKB":0}}})");
    EXPECT_EQ(account_->find_offer(offer->rid), offer);
    EXPECT_EQ(account_->find_offer("----"), nullptr);
    EXPECT_EQ(account_->find_offer("no rid"), nullptr);
}

TEST_F(OfferTest, AutoscaleAsClientsSeeIt) {
    const OfferPtr offer = create({{}, 4'000, 5});
    ASSERT_NE(offer, nullptr);
    const auto content = account_.parse(rest::offer_json(*offer)).member("content");
    EXPECT_EQ(content.member("offerThroughput").as_int64(), 400);
    EXPECT_EQ(
        json::to_text(content.member("offerAutopilotSettings")),
        R"({"maxThroughput":4000,"autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":5}}})");
    const OfferPtr plain = create({{}, 4'000, {}});
    EXPECT_EQ(json::to_text(account_.parse(rest::offer_json(*plain))
                                .member("content")
                                .member("offerAutopilotSettings")),
              R"({"maxThroughput":4000})");
}

TEST_F(OfferTest, DatabaseOffer) {
    const auto database = account_.create_database(R"({"id":"s"})", {1'000, {}, {}});
    ASSERT_TRUE(database.ok());
    const OfferPtr offer = account_->offer_of((*database)->rid.text());
    ASSERT_NE(offer, nullptr);
    EXPECT_EQ(offer->resource, (*database)->self());
    EXPECT_EQ(ended(replace(offer, manual(2'000))), Ended::kOk);
    EXPECT_EQ(account_->offer_of((*database)->rid.text())->manual, 2'000);
}

TEST_F(OfferTest, ReplaceManual) {
    const OfferPtr offer = create({400, {}, {}});
    const auto replaced = replace(offer, manual(1'000));
    ASSERT_TRUE(replaced.ok()) << message_of(replaced);
    EXPECT_EQ((*replaced)->manual, 1'000);
    EXPECT_EQ((*replaced)->highest_ever, 1'000);
    EXPECT_EQ((*replaced)->rid, offer->rid);
    EXPECT_EQ((*replaced)->resource, offer->resource);
    EXPECT_NE((*replaced)->version.etag, offer->version.etag);
    EXPECT_EQ(account_->offer_of(offer->resource_rid), *replaced);
    for (int64_t bad : {0, 300, 450, 1'000'100})
        EXPECT_EQ(ended(replace(offer, manual(bad))), Ended::kBadRequest) << bad;
    // The whole object, as most clients send it.
    std::string whole = rest::offer_json(**replaced);
    whole.replace(whole.find(":1000,"), 6, ":2000,");
    const auto again = replace(offer, whole);
    ASSERT_TRUE(again.ok()) << message_of(again);
    EXPECT_EQ((*again)->manual, 2'000);
    account_.reopen();
    EXPECT_EQ(rest::offer_json(*account_->find_offer(offer->rid)), rest::offer_json(**again));
}

TEST_F(OfferTest, MinimumFollowsTheHighestEver) {
    const OfferPtr offer = create({400, {}, {}});
    EXPECT_EQ(account_->offer_state(*offer).minimum, 400);
    const auto high = replace(offer, manual(100'000));
    ASSERT_TRUE(high.ok());  // more than the partitions can give: stored
    EXPECT_EQ(account_->offer_state(**high).minimum, 1'000);
    const auto refused = replace(offer, manual(900));
    EXPECT_EQ(ended(refused), Ended::kBadRequest);
    EXPECT_NE(message_of(refused).find("1000"), std::string::npos) << message_of(refused);
    EXPECT_EQ(ended(replace(offer, manual(1'000))), Ended::kOk);
    account_.reopen();
    EXPECT_EQ(account_->offer_state(*account_->find_offer(offer->rid)).minimum, 1'000);
    EXPECT_EQ(ended(replace(offer, manual(900))), Ended::kBadRequest);
}

TEST_F(OfferTest, ReplaceAutoscale) {
    const OfferPtr offer = create({{}, 50'000, 5});
    EXPECT_EQ(account_->offer_state(*offer).minimum, 5'000);
    EXPECT_EQ(ended(replace(offer, autoscale(4'000))), Ended::kBadRequest);
    EXPECT_EQ(ended(replace(offer, autoscale(5'500))), Ended::kBadRequest);
    const auto replaced = replace(offer, autoscale(6'000));  // offerThroughput is ignored
    ASSERT_TRUE(replaced.ok()) << message_of(replaced);
    EXPECT_EQ((*replaced)->autoscale_max, 6'000);
    EXPECT_EQ((*replaced)->increment_percent, 5);  // taken from the stored offer
    const auto policy = replace(
        offer,
        R"({"content":{"offerAutopilotSettings":{"autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":9}}}}})");
    ASSERT_TRUE(policy.ok()) << message_of(policy);
    EXPECT_EQ((*policy)->autoscale_max, 6'000);
    EXPECT_EQ((*policy)->increment_percent, 9);
    for (std::string_view bad : {R"({"maxThroughput":6000,"foo":1})", R"({"autoUpgradePolicy":5})",
                                 R"({"autoUpgradePolicy":{"throughputPolicy":5}})",
                                 R"({"autoUpgradePolicy":{"other":{}}})",
                                 R"({"autoUpgradePolicy":{"throughputPolicy":{"percent":5}}})"})
        EXPECT_EQ(ended(replace(
                      offer, R"({"content":{"offerAutopilotSettings":)" + std::string(bad) + "}}")),
                  Ended::kBadRequest)
            << bad;
}

/// An autoscale container may hold a tenth of its maximum in GB; beyond, the maximum rises.
TEST_F(OfferTest, StorageRaisesTheAutoscaleMaximum) {
    const OfferPtr plain = create({{}, 4'000, {}});
    const OfferPtr stepping = create({{}, 4'000, 50});
    const OfferPtr fitting = create({{}, 4'000, {}});
    const auto hold = [&](const OfferPtr& offer, int64_t gb) {
        const std::string key = records::offer_key(*parse_offer_rid(offer->rid));
        const auto value = account_.store->view()->get(storage::Family::kMeta, key);
        ASSERT_TRUE(value.ok() && *value);
        records::Offer record = records::decode_offer(key, **value).value();
        record.storage_kb_ever = gb << 20;
        ASSERT_TRUE(storage::testing::commit(*account_.store, [&](storage::CommitScope& scope) {
                        scope.put(storage::Family::kMeta, key, records::encode(record));
                        return true;
                    }).ok());
    };
    ASSERT_NO_FATAL_FAILURE(hold(plain, 431));
    ASSERT_NO_FATAL_FAILURE(hold(stepping, 401));
    ASSERT_NO_FATAL_FAILURE(hold(fitting, 400));
    account_.reopen();
    const auto maximum = [&](const OfferPtr& offer) {
        return account_->find_offer(offer->rid)->value();
    };
    EXPECT_EQ(maximum(plain), 4'000);
    ASSERT_TRUE(account_->watch_throughput().ok());
    EXPECT_EQ(maximum(plain), 5'000);     // 4,310 up to the next thousand
    EXPECT_EQ(maximum(stepping), 6'000);  // by half, as its policy says
    EXPECT_EQ(maximum(fitting), 4'000);
    // Once is enough, and it stays; what was provisioned once counts for the minimum.
    account_.clock.advance_seconds(61);
    ASSERT_TRUE(account_->watch_throughput().ok());
    account_.reopen();
    EXPECT_EQ(maximum(plain), 5'000);
    EXPECT_EQ(maximum(stepping), 6'000);
    EXPECT_EQ(account_->find_offer(stepping->rid)->highest_ever, 6'000);
}

TEST_F(OfferTest, KindChangesOnlyByMigration) {
    const OfferPtr offer = create({50'000, {}, {}});
    EXPECT_EQ(ended(replace(offer, autoscale(50'000))), Ended::kBadRequest);
    const auto automatic = replace(offer, rest::offer_json(*offer), Migrate::kToAutoscale);
    ASSERT_TRUE(automatic.ok()) << message_of(automatic);
    EXPECT_EQ((*automatic)->autoscale_max, 50'000);
    EXPECT_FALSE((*automatic)->manual);
    EXPECT_EQ(ended(replace(offer, manual(50'000))), Ended::kBadRequest);
    ASSERT_TRUE(replace(offer, autoscale(8'000)).ok());
    const auto back = replace(offer, "{}", Migrate::kToManual);
    ASSERT_TRUE(back.ok()) << message_of(back);
    EXPECT_EQ((*back)->manual, 8'000);
    EXPECT_FALSE((*back)->is_autoscale());
    EXPECT_EQ((*back)->highest_ever, 50'000);
    const OfferPtr small = create({400, {}, {}});
    const auto start = replace(small, rest::offer_json(*small), Migrate::kToAutoscale);
    ASSERT_TRUE(start.ok());
    EXPECT_EQ((*start)->autoscale_max, 1'000);
}

TEST_F(OfferTest, BodiesAreChecked) {
    const OfferPtr offer = create({400, {}, {}});
    for (std::string_view bad :
         {"[]", R"({"content":5})", R"({"content":{"offerThroughput":"400"}})",
          R"({"content":{"offerThroughput":400.5}})", R"({"id":"zzzz"})", R"({"_rid":5})",
          R"({"offerResourceId":"other"})", R"({"resource":"dbs/other/"})", R"({"resource":5})",
          R"({"offerVersion":"V1"})",
          R"({"content":{"offerThroughput":500,"offerIsRUPerMinuteThroughputEnabled":true}})",
          R"({"content":{"offerAutopilotSettings":5}})",
          R"({"content":{"offerAutopilotSettings":{}}})",
          R"({"content":{"offerAutopilotSettings":{"maxThroughput":"x"}}})",
          R"({"content":{"offerThroughput":500,"offerIsRUPerMinuteThroughputEnabled":"x"}})",
          R"({"content":{"offerThroughput":500,"throughputBuckets":[]}})"})
        EXPECT_EQ(ended(replace(offer, bad)), Ended::kBadRequest) << bad;
    EXPECT_EQ(ended(replace(offer, "{}")), Ended::kOk);
    EXPECT_EQ(account_->find_offer(offer->rid)->manual, 400);
    EXPECT_EQ(ended(replace(offer, manual(500), Migrate::kNo, "other")), Ended::kPrecondition);
    EXPECT_EQ(ended(rest::by_body::replace_offer(*account_.catalog, "AAAA", account_.parse("{}"),
                                                 Migrate::kNo, "")),
              Ended::kNotFound);
    EXPECT_EQ(ended(rest::by_body::replace_offer(*account_.catalog, "?", account_.parse("{}"),
                                                 Migrate::kNo, "")),
              Ended::kNotFound);
}

}  // namespace
}  // namespace orrery::catalog
