#include "partition/expiry.h"

#include "partition/partition_test_support.h"
#include "partition/record.h"

namespace orrery::partition {
namespace {

using namespace testing;

ContainerSettings with_ttl(std::optional<int64_t> ttl) {
    ContainerSettings settings = default_settings();
    settings.default_ttl = ttl;
    return settings;
}
std::string body(const std::string& id, const std::string& ttl = "") {
    return R"({"id":")" + id + R"(","pk":"a")" + (ttl.empty() ? "" : ",\"ttl\":" + ttl) + "}";
}

TEST(Expiry, Rule) {
    EXPECT_FALSE(is_expired(std::nullopt, 100, 5, 1000));
    EXPECT_FALSE(is_expired(-1, 100, 0, 1000));
    EXPECT_FALSE(is_expired(10, 100, 0, 109));
    EXPECT_TRUE(is_expired(10, 100, 0, 110));
    EXPECT_FALSE(is_expired(10, 100, -1, 1000));
    EXPECT_TRUE(is_expired(-1, 100, 5, 105));
    EXPECT_FALSE(is_expired(1, 100, 2147483647, 1000));
}

TEST(Expiry, Validation) {
    Bench on(with_ttl(-1));
    for (const char* bad : {"0", "null", "1.5", "\"5\"", "-2", "2147483648", "true", "[]", "{}"}) {
        const OperationResult result = on.one("a", create(body("1", bad)));
        EXPECT_EQ(end_of(result), Ended::kBadRequest) << bad;
        EXPECT_NE(message_of(result).find(std::string("The input ttl '") + bad + "' is invalid."),
                  std::string::npos);
    }
    for (const char* good : {"-1", "1", "2147483647", "1.0"})
        EXPECT_TRUE(on.one("a", upsert(body("1", good))).status.ok()) << good;
    EXPECT_EQ(end_of(on.one("a", patch("1", R"([{"op":"set","path":"/ttl","value":0}])"))),
              Ended::kBadRequest);
    Bench off;
    for (const char* any : {"0", "null", "1.5", "\"5\"", "[]"})
        EXPECT_TRUE(off.one("a", upsert(body("1", any))).status.ok()) << any;
}

TEST(Expiry, InvisibleAtOnce) {
    Bench bench(with_ttl(10));
    bench.one("a", create(body("default")));
    bench.one("a", create(body("own", "5")));
    bench.one("a", create(body("never", "-1")));
    bench.clock.advance_seconds(5);
    EXPECT_EQ(end_of(bench.one("a", read("own"))), Ended::kNotFound);
    EXPECT_EQ(end_of(*bench.partition->read_cached(epk_of("a"), "own", "")), Ended::kNotFound);
    bench.cache->erase_partition(Bench::kPartition);
    EXPECT_EQ(end_of(bench.one("a", read("own"))), Ended::kNotFound);
    EXPECT_EQ(end_of(bench.one("a", replace("own", body("own")))), Ended::kNotFound);
    EXPECT_EQ(end_of(bench.one("a", patch("own", R"([{"op":"set","path":"/v","value":0}])"))),
              Ended::kNotFound);
    EXPECT_EQ(end_of(bench.one("a", remove("own"))), Ended::kNotFound);
    EXPECT_EQ(end_of(bench.one("a", read("default"))), Ended::kOk);
    bench.clock.advance_seconds(5);
    EXPECT_EQ(end_of(bench.one("a", read("default"))), Ended::kNotFound);
    EXPECT_EQ(end_of(bench.one("a", read("never"))), Ended::kOk);
    const FeedPage page = bench.partition->read_feed(*bench.store->view(), {}).value();
    EXPECT_EQ(page.items.size(), 1U);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Expiry, AtTimesThatItemsState) {
    ContainerSettings settings = with_ttl(-1);
    settings.expiry = ExpiryProperty{{"x", "at"}, 10};
    Bench bench(settings);
    const int64_t now = bench.clock.wall_seconds();
    const auto item = [](const std::string& id, const std::string& at) {
        return create(R"({"id":")" + id + R"(","pk":"a","ttl":1,"x":{"at":)" + at + "}}");
    };
    bench.one("a", item("soon", std::to_string(now - 5)));
    bench.one("a", item("past", "5.5"));
    bench.one("a", item("list", "[\"x\"," + std::to_string(now + 90) + "," +
                                    std::to_string(now + 10) + "]"));
    bench.one("a", item("text", "\"" + std::to_string(now) + "\""));
    bench.one("a", item("far", "1e12"));
    bench.clock.advance_seconds(3);
    EXPECT_EQ(end_of(bench.one("a", read("past"))), Ended::kNotFound);
    EXPECT_EQ(end_of(bench.one("a", read("soon"))), Ended::kOk);
    // A write keeps the time or states another one; it does not begin anew.
    bench.one("a",
              upsert(R"({"id":"soon","pk":"a","n":2,"x":{"at":)" + std::to_string(now - 5) + "}}"));
    EXPECT_EQ(bench.check(), std::vector<std::string>());
    bench.clock.advance_seconds(2);
    EXPECT_EQ(end_of(bench.one("a", read("soon"))), Ended::kNotFound);
    EXPECT_EQ(end_of(bench.one("a", read("list"))), Ended::kOk);
    EXPECT_EQ(bench.partition->remove_expired(10).value(), 2U);
    bench.clock.advance_seconds(15);
    EXPECT_EQ(end_of(bench.one("a", read("list"))), Ended::kNotFound);
    bench.clock.advance_seconds(1'000'000);
    EXPECT_EQ(end_of(bench.one("a", read("text"))), Ended::kOk);
    EXPECT_EQ(end_of(bench.one("a", read("far"))), Ended::kOk);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Expiry, CreateTakesThePlace) {
    ContainerSettings settings = with_ttl(10);
    settings.unique_keys = {{0, {{"u"}}}};
    Bench bench(settings);
    const OperationResult first = bench.one("a", create(R"({"id":"1","pk":"a","u":1,"old":1})"));
    bench.one("a", create(R"({"id":"2","pk":"a","u":2})"));
    bench.clock.advance_seconds(10);
    const OperationResult second = bench.one("a", create(R"({"id":"1","pk":"a","u":1,"new":1})"));
    ASSERT_EQ(end_of(second), Ended::kCreated) << message_of(second);
    EXPECT_NE(second.item.docref, first.item.docref);
    EXPECT_EQ(bench.partition->lsn(), 3U);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
    // The log shows the removal under the same LSN.
    const auto bytes = bench.store->view()
                           ->get(storage::Family::kLog,
                                 storage::keys::log(Bench::kPartition, 3, first.item.docref))
                           .value();
    ASSERT_TRUE(bytes);
    const LogRecord record = decode_log_record(*bytes).value();
    EXPECT_EQ(record.operation, LogOperation::kDelete);
    EXPECT_TRUE(record.expired);
    EXPECT_EQ(record.previous_lsn, 1U);
    // An expired item holds no unique key; taking the value removes it.
    EXPECT_EQ(end_of(bench.one("a", create(R"({"id":"3","pk":"a","u":2})"))), Ended::kCreated);
    EXPECT_EQ(bench.totals().items, 2);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
    bench.clock.advance_seconds(10);
    EXPECT_EQ(end_of(bench.one("a", upsert(R"({"id":"3","pk":"a","u":1})"))), Ended::kCreated);
    EXPECT_EQ(bench.totals().items, 1);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Expiry, ExpiredValuesMoveInsideABatch) {
    ContainerSettings settings = with_ttl(10);
    settings.unique_keys = {{0, {{"u"}}}};
    Bench bench(settings);
    bench.one("a", create(R"({"id":"1","pk":"a","u":1})"));
    bench.clock.advance_seconds(10);
    std::vector<ItemOperation> operations;
    operations.push_back(create(R"({"id":"2","pk":"a","u":1})"));
    operations.push_back(create(R"({"id":"1","pk":"a","u":1})"));
    EXPECT_EQ(end_of(bench.batch("a", std::move(operations)).results[1]), Ended::kConflict);
    operations = {};
    operations.push_back(create(R"({"id":"2","pk":"a","u":1})"));
    operations.push_back(create(R"({"id":"1","pk":"a","u":2})"));
    EXPECT_TRUE(bench.batch("a", std::move(operations)).committed);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Expiry, RemovalInTheBackground) {
    Bench bench(with_ttl(10));
    for (int i = 0; i < 250; ++i)
        bench.one("a", create(body(std::to_string(i), i % 2 == 0 ? "5" : "")));
    bench.one("a", create(body("never", "-1")));
    EXPECT_EQ(bench.partition->remove_expired(1000).value(), 0U);
    bench.clock.advance_seconds(5);
    EXPECT_EQ(bench.partition->remove_expired(20).value(), 20U);
    EXPECT_EQ(bench.partition->remove_expired(1000).value(), 105U);
    bench.clock.advance_seconds(5);
    EXPECT_EQ(bench.partition->remove_expired(1000).value(), 125U);
    EXPECT_EQ(bench.totals().items, 1);
    EXPECT_EQ(end_of(bench.one("a", read("0"))), Ended::kNotFound);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Expiry, RewriteRestartsTheClock) {
    Bench bench(with_ttl(10));
    bench.one("a", create(body("1")));
    bench.clock.advance_seconds(9);
    bench.one("a", replace("1", body("1")));
    bench.clock.advance_seconds(9);
    EXPECT_EQ(bench.partition->remove_expired(10).value(), 0U);
    EXPECT_EQ(end_of(bench.one("a", read("1"))), Ended::kOk);
    bench.clock.advance_seconds(1);
    EXPECT_EQ(bench.partition->remove_expired(10).value(), 1U);
}

TEST(Expiry, SwitchedOnAndOff) {
    Bench bench;
    for (int i = 0; i < 150; ++i) bench.one("a", create(body(std::to_string(i))));
    bench.one("a", create(body("own", "3")));
    bench.one("a", create(body("text", "\"x\"")));
    EXPECT_EQ(bench.check(), std::vector<std::string>());
    bench.clock.advance_seconds(5);
    bench.set(with_ttl(100));  // applies at once, by _ts
    EXPECT_EQ(end_of(bench.one("a", read("own"))), Ended::kNotFound);
    EXPECT_EQ(end_of(bench.one("a", read("text"))), Ended::kOk);
    EXPECT_EQ(bench.partition->remove_expired(10).value(), 1U);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
    bench.set(with_ttl(5));
    EXPECT_EQ(end_of(bench.one("a", read("7"))), Ended::kNotFound);
    bench.set(with_ttl(std::nullopt));  // brings back what is not yet removed
    EXPECT_EQ(end_of(bench.one("a", read("7"))), Ended::kOk);
    EXPECT_EQ(bench.partition->remove_expired(1000).value(), 0U);
    bench.one("a", replace("7", body("7")));  // off: written without entry
    bench.one("a", remove("8"));
    bench.one("a", create(body("later")));
    EXPECT_EQ(bench.check(), std::vector<std::string>());
    bench.clock.advance_seconds(1);
    bench.set(with_ttl(5));
    EXPECT_EQ(bench.partition->remove_expired(1000).value(), 149U);
    EXPECT_EQ(bench.totals().items, 2);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

}  // namespace
}  // namespace orrery::partition
