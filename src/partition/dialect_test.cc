#include <filesystem>
#include <map>

#include "base/encoding.h"
#include "index/lookup.h"
#include "index/terms.h"
#include "json/item_id.h"
#include "json/random_typed_test.h"
#include "partition/client_item.h"
#include "partition/partition_test_support.h"

// Items of dialects that keep ids beside items and have values beyond JSON.
namespace orrery::partition {
namespace {

using namespace testing;
using json::Dialect;
using json::Value;

ContainerSettings settings_of(Dialect dialect, bool checks_unique = false) {
    ContainerSettings settings = default_settings();
    settings.indexing = index::with_dialect(settings.indexing, dialect);
    settings.default_ttl = -1;
    if (checks_unique) settings.unique_keys = {{0, {{"u"}}}};
    return settings;
}
std::string id_of(const Value& value, Dialect dialect = Dialect::kMongo) {
    return json::make_item_id(value, json::rules(dialect)).value();
}
ItemOperation with_id(std::string id, ItemOperation operation) {
    operation.id = std::move(id);
    return operation;
}
std::vector<std::string> nothing() {
    return {};
}

TEST(DialectItems, ExpireAtTheirDates) {
    ContainerSettings settings = settings_of(Dialect::kMongo);
    settings.expiry = ExpiryProperty{{"at"}, 10};
    Bench bench(settings);
    const int64_t now = bench.clock.wall_seconds();
    const auto put = [&](std::string_view id, const std::string& at) {
        const auto created = bench.one(
            "a", with_id(id_of(Value::string(id)), create(R"({"pk":"a","at":)" + at + "}")));
        EXPECT_TRUE(created.status.ok()) << message_of(created);
    };
    const auto there = [&](std::string_view id) {
        return bench.partition->read(epk_of("a"), id_of(Value::string(id)), {}).has_item;
    };
    put("date", R"({"$t":9,"$v":")" + std::to_string(now * 1000) + "\"}");
    put("number", std::to_string(now));
    EXPECT_TRUE(there("date"));
    bench.clock.advance_seconds(10);
    EXPECT_FALSE(there("date"));
    EXPECT_TRUE(there("number"));
    EXPECT_EQ(bench.check(), nothing());
}

TEST(DialectItems, FourIds) {
    Bench bench(settings_of(Dialect::kMongo));
    const std::vector<Value> ids = {Value::object_id("0123456789ab"),
                                    Value::string("303132333435363738396162"), Value::string(""),
                                    Value::string("a/b")};
    for (size_t i = 0; i < ids.size(); ++i) {
        const std::string body = R"({"pk":"a","n":)" + std::to_string(i) + "}";
        const auto created = bench.one("a", with_id(id_of(ids[i]), create(body)));
        ASSERT_TRUE(created.status.ok()) << message_of(created);
        EXPECT_FALSE(bench.one("a", with_id(id_of(ids[i]), create(body))).status.ok());
    }
    ASSERT_TRUE(bench.store->flush().ok());
    bench.cache->erase_partition(Bench::kPartition);
    for (size_t i = 0; i < ids.size(); ++i) {
        const auto item = bench.partition->read(epk_of("a"), id_of(ids[i]), {});
        ASSERT_TRUE(item.has_item);
        json::Arena arena;
        const auto document = json::decode_document(*item.item.document).value();
        EXPECT_EQ(document.value(arena)->member("n").as_int64(), static_cast<int64_t>(i));
        EXPECT_EQ(document.id(arena).value(), id_of(ids[i]));
    }
    // 5, the int64 5 and 5.0 are one.
    EXPECT_TRUE(bench.one("a", with_id(id_of(Value::integer(5)), create(R"({"pk":"a"})"))).created);
    EXPECT_FALSE(bench.one("a", with_id(id_of(Value::int64(5)), upsert(R"({"pk":"a"})"))).created);
    EXPECT_FALSE(
        bench.one("a", with_id(id_of(Value::number(5.0)), upsert(R"({"pk":"a"})"))).created);
    EXPECT_EQ(bench.totals().items, 5);
    EXPECT_EQ(bench.check(), nothing());
    // An operation that names no item is refused.
    EXPECT_FALSE(bench.one("a", create(R"({"id":"x","pk":"a"})")).status.ok());
}

TEST(DialectItems, TheClientsMembersSurviveAndSqlSeesThem) {
    Bench bench(settings_of(Dialect::kTable));
    const std::string id = id_of(Value::string("r1"), Dialect::kTable);
    ItemOperation operation = with_id(
        id, create(R"({ "id":1,"pk":"a","_ts":2,"ttl":"x","_etag":{"$t":18,"$v":"3"},"_rid":[]})"));
    operation.own_ttl = 60;
    operation.client_time = 17;
    const auto created = bench.one("a", operation);
    ASSERT_TRUE(created.status.ok()) << message_of(created);
    const auto document = json::decode_document(*created.item.document).value();
    EXPECT_EQ(document.header.dialect, Dialect::kTable);
    EXPECT_EQ(document.header.client_time, 17);
    EXPECT_EQ(document.header.own_ttl, 60);
    json::Arena arena;
    const Value item = document.value(arena).value();
    EXPECT_EQ(item.member("id").as_int64(), 1);
    EXPECT_EQ(item.member("_ts").as_int64(), 2);
    EXPECT_EQ(item.member("ttl").as_string(), "x");
    EXPECT_EQ(item.member("_etag").extended_type(), json::ExtendedType::kInt64);
    const std::string seen = client_item(*bench.partition->settings(), created.item);
    EXPECT_TRUE(seen.starts_with(R"({"id":"r1","ttl":60,"$id":1,"pk":"a","$_ts":2,"$ttl":"x",)"
                                 R"("$_etag":{"$t":18,"$v":"3"},"$_rid":[],"_rid":")"))
        << seen;
    // The time to live is the one beside the item.
    EXPECT_TRUE(bench.one("a", read(id)).status.ok());
    bench.clock.advance_seconds(61);
    EXPECT_FALSE(bench.one("a", read(id)).status.ok());
    EXPECT_EQ(bench.partition->remove_expired(10).value(), 1U);
    EXPECT_EQ(bench.check(), nothing());
}

TEST(DialectItems, ReplacePatchDeleteAndUniqueKeys) {
    Bench bench(settings_of(Dialect::kMongo, true));
    const std::string one = id_of(Value::integer(1));
    const std::string two = id_of(Value::integer(2));
    ASSERT_TRUE(bench.one("a", with_id(one, create(R"({"pk":"a","u":5})"))).status.ok());
    EXPECT_FALSE(
        bench.one("a", with_id(two, create(R"({"pk":"a","u":{"$t":18,"$v":"5"}})"))).status.ok());
    EXPECT_TRUE(bench.one("a", with_id(two, create(R"({"pk":"a","u":"5"})"))).status.ok());
    const auto replaced = bench.one(
        "a", replace(one, R"({"pk":"a","u":{"$t":9,"$v":"5"},"id":[1,{"$t":1,"$v":"NaN"}]})"));
    ASSERT_TRUE(replaced.status.ok()) << message_of(replaced);
    const auto patched = bench.one(
        "a",
        patch(one,
              R"([{"op":"set","path":"/id/0","value":7},{"op":"add","path":"/_ts","value":1}])"));
    ASSERT_TRUE(patched.status.ok()) << message_of(patched);
    json::Arena arena;
    std::string text;
    json::write_typed(text, json::decode_document(*patched.item.document)->value(arena).value());
    EXPECT_EQ(text, R"({"pk":"a","u":{"$t":9,"$v":"5"},"id":[7,{"$t":1,"$v":"NaN"}],"_ts":1})");
    EXPECT_FALSE(
        bench.one("a", patch(one, R"([{"op":"set","path":"/pk","value":"b"}])")).status.ok());
    EXPECT_TRUE(bench.one("a", remove(two)).status.ok());
    EXPECT_EQ(bench.check(), nothing());
}

TEST(DialectItems, ValuesAreFoundByTheirTerms) {
    Bench bench(settings_of(Dialect::kMongo));
    const char* const kBodies[] = {R"({"pk":"a","v":5})",
                                   R"({"pk":"a","v":{"$t":18,"$v":"5"}})",
                                   R"({"pk":"a","v":5.0})",
                                   R"({"pk":"a","v":["x",5]})",
                                   R"({"pk":"a","v":{"$t":9,"$v":"5"}})",
                                   R"({"pk":"a","v":true})"};
    for (int i = 0; i < 6; ++i)
        ASSERT_TRUE(
            bench.one("a", with_id(id_of(Value::integer(i)), create(kBodies[i]))).status.ok());
    const auto count = [&](const index::TermRange& range) {
        const auto view = bench.store->view();
        index::PostingScope scope;
        scope.view = view.get();
        scope.partition = Bench::kPartition;
        const uint64_t path =
            index::path_hash(bench.partition->settings()->path_key, {index::PathStep{false, "v"}});
        size_t found = 0;
        for (index::Postings postings(scope, path, range); postings.valid(); postings.next())
            ++found;
        return found;
    };
    const json::DialectRules& rules = json::rules(Dialect::kMongo);
    EXPECT_EQ(count(index::term_ranges::equal(Value::integer(5), rules)), 4U);
    EXPECT_EQ(count(index::term_ranges::equal(Value::date(5), rules)), 1U);
    EXPECT_EQ(count(index::term_ranges::above(Value::date(4), false, rules)), 1U);
    EXPECT_EQ(count(index::term_ranges::equal(Value::boolean(true), rules)), 1U);
    EXPECT_EQ(count(index::term_ranges::equal(Value::boolean(true))), 0U);
}

TEST(DialectItems, RandomItemsSurviveARestart) {
    json::test::RandomTyped random(31);
    const std::string folder = ::testing::TempDir() + "dialect_items";
    std::filesystem::remove_all(folder);
    std::map<std::string, std::string> expected;
    json::Arena arena;
    {
        storage::StoreOptions options;
        options.folder = folder;
        Bench bench(settings_of(Dialect::kMongo), options);
        for (int i = 0; i < 150; ++i) {
            const auto id =
                json::make_item_id(random.value(arena, 0), json::rules(Dialect::kMongo));
            if (!id.ok()) continue;
            std::vector<json::Member> members = {{"pk", Value::string("a")}};
            members.push_back({"v", random.value(arena, 3)});
            std::string body;
            json::write_typed(body, Value::object(members));
            const auto written = bench.one("a", with_id(*id, upsert(body)));
            ASSERT_TRUE(written.status.ok()) << body << message_of(written);
            expected[*id] = body;
        }
        EXPECT_EQ(bench.check(), nothing());
        bench.close();
        bench.open();
        for (const auto& [id, body] : expected) {
            const auto item = bench.partition->read(epk_of("a"), id, {});
            ASSERT_TRUE(item.has_item);
            std::string text;
            json::write_typed(text,
                              json::decode_document(*item.item.document)->value(arena).value());
            ASSERT_EQ(text, body);
        }
        EXPECT_EQ(bench.totals().items, static_cast<int64_t>(expected.size()));
        EXPECT_EQ(bench.check(), nothing());
    }
    std::filesystem::remove_all(folder);
}

TEST(DialectKeys, EqualValuesHaveOneKey) {
    const auto epk = [](const Value& value, int version = 2) {
        PartitionKeyDefinition definition = key_definition();
        definition.version = version;
        return effective_partition_key(definition, {value}).value();
    };
    constexpr int64_t kLarge = (int64_t{1} << 53) + 1;
    for (const int version : {1, 2}) {
        EXPECT_EQ(epk(Value::integer(5), version), epk(Value::int64(5), version));
        EXPECT_EQ(epk(Value::number(0x1p54), version),
                  epk(Value::int64(int64_t{1} << 54), version));
        EXPECT_NE(epk(Value::number(0x1p53), version), epk(Value::int64(kLarge), version));
        EXPECT_NE(epk(Value::int64(kLarge), version), epk(Value::int64(kLarge + 2), version));
        EXPECT_NE(epk(Value::date(5), version), epk(Value::integer(5), version));
        EXPECT_NE(epk(Value::object_id("0123456789ab"), version),
                  epk(Value::string("0123456789ab"), version));
        EXPECT_NE(epk(Value::object_id("0123456789ab"), version), epk(Value(), version));
    }
    PartitionKeyDefinition definition = key_definition();
    EXPECT_FALSE(
        effective_partition_key(definition, {Value::binary(std::string(3000, 'x'), 0)}).ok());
}

}  // namespace
}  // namespace orrery::partition
