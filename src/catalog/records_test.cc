#include "catalog/records.h"

#include <gtest/gtest.h>

#include "base/encoding.h"

namespace orrery::catalog::records {
namespace {

constexpr DatabaseRid kDatabaseRid{0x2A3B4C5D};
constexpr ContainerRid kContainerRid{kDatabaseRid, 0x8000'0001};
const Version kVersion{"e-tag", 1'700'000'000};

Account account() {
    return {"secret", 0x2A3B4C5E, 3, 5};
}
Database database() {
    return {kDatabaseRid, "db", kVersion, 1};
}
Container container() {
    Container out;
    out.rid = kContainerRid;
    out.id = "c";
    out.version = kVersion;
    out.definition = "x}";
    out.path_key = {0x0102030405060708, 0x1112131415161718};
    out.settings_version = 2;
    out.map_version = 3;
    out.map_ts = 4;
    out.next_range = 3;
    out.ranges = {{1, 7, {0}}, {2, 8, {0}}};
    return out;
}
Partition partition() {
    Partition out;
    out.id = 7;
    out.container = kContainerRid;
    out.range_number = 1;
    out.rid_prefix = 1;
    out.epk_min = std::string("\x1F\xFF", 2);
    out.epk_max = "\xFF";
    out.settings_version = 2;
    out.path_key = {0x0102030405060708, 0x1112131415161718};
    out.definition = "x}";
    return out;
}
Offer offer() {
    return {1, kDatabaseRid, 0x8000'0001, kVersion, std::nullopt, 4000, 5, 4000, 0, {}};
}
User user() {
    return {{kDatabaseRid, 1}, "u", kVersion, 2};
}
Permission permission() {
    return {{{kDatabaseRid, 1}, 1}, "p",      kVersion, PermissionMode::kAll,
            "dbs/db/colls/c",       "[\"k\"]"};
}

// The bytes on disk: a change here is a change of the format (docs/formats/catalog.md).
TEST(CatalogRecords, GoldenKeys) {
    EXPECT_EQ(hex_encode_upper(account_key()), "000000004301");
    EXPECT_EQ(hex_encode_upper(key(database())), "0000000043022A3B4C5D");
    EXPECT_EQ(hex_encode_upper(key(container())), "0000000043032A3B4C5D80000001");
    EXPECT_EQ(hex_encode_upper(key(partition())), "00000000430400000007");
    EXPECT_EQ(hex_encode_upper(key(offer())), "00000000430500000001");
    EXPECT_EQ(hex_encode_upper(key(user())), "0000000043062A3B4C5D00000001");
    EXPECT_EQ(hex_encode_upper(key(permission())), "0000000043072A3B4C5D000000010000000000000001");
}

TEST(CatalogRecords, GoldenValues) {
    const std::string version = "05652D74616781E2CFAA06";  // "e-tag", 1,700,000,001
    EXPECT_EQ(hex_encode_upper(encode(account())), "0206736563726574DE98EDD1020305");
    EXPECT_EQ(hex_encode_upper(encode(database())), "02026462" + version + "01");
    EXPECT_EQ(hex_encode_upper(encode(container())),
              "030163" + version + "02787D" + "08070605040302011817161514131211" + "02030503" +
                  "02" + "0107010000" + "0208010000");
    EXPECT_EQ(hex_encode_upper(encode(partition())),
              "032A3B4C5D800000010101021FFF01FF02"
              "0807060504030201181716151413121102787D");
    EXPECT_EQ(hex_encode_upper(encode(offer())), "022A3B4C5D80000001" + version + "00" + "01A11F" +
                                                     "0106" + "A11F" + "01" + "000000000000");
    EXPECT_EQ(hex_encode_upper(encode(user())), "020175" + version + "02");
    EXPECT_EQ(hex_encode_upper(encode(permission())),
              "020170" + version + "01" + "0E6462732F64622F636F6C6C732F63" + "055B226B225D");
}

TEST(CatalogRecords, RoundTrips) {
    const auto c = decode_container(key(container()), encode(container()));
    ASSERT_TRUE(c.ok());
    EXPECT_EQ(encode(*c), encode(container()));
    EXPECT_EQ(c->rid, kContainerRid);
    EXPECT_EQ(c->ranges[1].partition, 8u);
    const auto p = decode_partition(key(partition()), encode(partition()));
    ASSERT_TRUE(p.ok());
    EXPECT_EQ(encode(*p), encode(partition()));
    EXPECT_EQ(p->id, 7u);
    const auto o = decode_offer(key(offer()), encode(offer()));
    ASSERT_TRUE(o.ok());
    EXPECT_EQ(encode(*o), encode(offer()));
    const auto d = decode_database(key(database()), encode(database()));
    ASSERT_TRUE(d.ok());
    EXPECT_EQ(encode(*d), encode(database()));
    EXPECT_EQ(d->rid, kDatabaseRid);
    const auto u = decode_user(key(user()), encode(user()));
    ASSERT_TRUE(u.ok());
    EXPECT_EQ(encode(*u), encode(user()));
    const auto m = decode_permission(key(permission()), encode(permission()));
    ASSERT_TRUE(m.ok());
    EXPECT_EQ(encode(*m), encode(permission()));
    EXPECT_EQ(m->rid, permission().rid);
    const auto a = decode_account(account_key(), encode(account()));
    ASSERT_TRUE(a.ok());
    EXPECT_EQ(encode(*a), encode(account()));
}

/// Behind the other fields, once the policy has changed.
TEST(CatalogRecords, IndexState) {
    IndexState state;
    state.change = 3;
    state.sorted = {"/\"s\""};
    state.previous = {{"{}", {}}, {"[]", {"/\"t\""}}};
    const std::string golden =
        "03"
        "01042F227322"
        "02"
        "027B7D00"
        "025B5D01042F227422";
    Container c = container();
    c.index = state;
    EXPECT_EQ(hex_encode_upper(encode(c)), hex_encode_upper(encode(container())) + golden);
    const auto decoded = decode_container(key(c), encode(c));
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(decoded->index, state);
    Partition p = partition();
    p.index = state;
    EXPECT_EQ(hex_encode_upper(encode(p)), hex_encode_upper(encode(partition())) + golden);
    ASSERT_TRUE(decode_partition(key(p), encode(p)).ok());
    EXPECT_EQ(decode_partition(key(p), encode(p))->index, state);
    const std::string bytes = encode(p);
    for (size_t cut = encode(partition()).size() + 1; cut < bytes.size(); ++cut)
        EXPECT_FALSE(decode_partition(key(p), bytes.substr(0, cut)).ok()) << cut;
    EXPECT_FALSE(decode_partition(key(p), bytes + "x").ok());
    EXPECT_TRUE(decode_partition(key(partition()), encode(partition()))->index.empty());
}

/// Every cut and every longer value is refused, none crashes.
template <typename Decode>
void expect_damage_is_found(const std::string& key, const std::string& value, Decode decode) {
    for (size_t cut = 0; cut < value.size(); ++cut)
        EXPECT_FALSE(decode(key, value.substr(0, cut)).ok()) << cut;
    EXPECT_FALSE(decode(key, value + "x").ok());
    EXPECT_FALSE(decode(key + "x", value).ok());
    EXPECT_FALSE(decode(key.substr(0, key.size() - 1), value).ok());
    std::string newer = value;
    newer[0] = 4;
    const auto result = decode(key, newer);
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.error().message.find("newer version"), std::string::npos);
}

TEST(CatalogRecords, DamageIsFound) {
    expect_damage_is_found(key(database()), encode(database()), decode_database);
    expect_damage_is_found(key(container()), encode(container()), decode_container);
    expect_damage_is_found(key(partition()), encode(partition()), decode_partition);
    expect_damage_is_found(key(offer()), encode(offer()), decode_offer);
    expect_damage_is_found(key(user()), encode(user()), decode_user);
    expect_damage_is_found(key(permission()), encode(permission()), decode_permission);
}

/// A record in hexadecimal digits.
std::string bytes_of(const std::string& hex) {
    return hex_decode(hex).value();
}

/// Records of the second format: definitions, policies and wrapped keys as JSON texts.
TEST(CatalogRecords, SecondFormat) {
    const std::string version = "05652D74616781E2CFAA06";
    const std::string index_state =
        "03"
        "01042F227322"
        "02"
        "027B7D00"
        "025B5D01042F227422";
    const std::string old_container = "020163" + version + "02787D" +
                                      "08070605040302011817161514131211" + "02030503" + "02" +
                                      "0107010000" + "0208010000";
    const auto c = decode_container(key(container()), bytes_of(old_container));
    ASSERT_TRUE(c.ok()) << c.error().message;
    EXPECT_EQ(c->json_tail, "x}");
    EXPECT_EQ(c->definition, "");
    EXPECT_TRUE(c->index.empty());
    EXPECT_EQ(c->ranges[1].partition, 8U);
    const auto changed = decode_container(key(container()), bytes_of(old_container + index_state));
    ASSERT_TRUE(changed.ok());
    EXPECT_TRUE(changed->index.as_json);
    ASSERT_EQ(changed->index.previous.size(), 2U);
    EXPECT_EQ(changed->index.previous[0].policy, "{}");
    EXPECT_EQ(changed->index.previous[1].sorted, std::vector<std::string>{"/\"t\""});
    const auto p =
        decode_partition(key(partition()), bytes_of("022A3B4C5D800000010101021FFF01FF02"
                                                    "0807060504030201181716151413121102787D"));
    ASSERT_TRUE(p.ok()) << p.error().message;
    EXPECT_EQ(p->json_tail, "x}");
    EXPECT_EQ(p->epk_max, "\xFF");
}

/// Records of the first format: as those of the second, ranges without weights, offers without
/// buckets.
TEST(CatalogRecords, FirstFormat) {
    const std::string version = "05652D74616781E2CFAA06";
    const auto c =
        decode_container(key(container()), bytes_of("010163" + version + "02787D" +
                                                    "08070605040302011817161514131211" +
                                                    "02030503" + "02" + "01070100" + "02080100"));
    ASSERT_TRUE(c.ok()) << c.error().message;
    EXPECT_EQ(c->json_tail, "x}");
    EXPECT_EQ(c->ranges[0].weight, 0U);
    EXPECT_EQ(c->ranges[1].partition, 8U);
    std::string old_offer = encode(offer());
    old_offer[0] = 1;
    EXPECT_FALSE(decode_offer(key(offer()), old_offer).ok());
    old_offer.resize(old_offer.size() - 6);
    const auto o = decode_offer(key(offer()), old_offer);
    ASSERT_TRUE(o.ok()) << o.error().message;
    EXPECT_EQ(encode(*o), encode(offer()));
}

/// Bytes that stand for one of a few things and are none of them.
TEST(CatalogRecords, UnknownChoices) {
    std::string value = encode(permission());
    const size_t mode = value.find(
                            "\x0E"
                            "dbs/") -
                        1;
    value[mode] = 2;
    EXPECT_FALSE(decode_permission(key(permission()), value).ok());
    value[mode] = 0;
    EXPECT_EQ(decode_permission(key(permission()), value)->mode, PermissionMode::kRead);

    const MaterializedView view{kContainerRid, {true, {}}};
    value = encode(view);
    value[1] = 2;
    EXPECT_FALSE(decode_materialized_view(key(view), value).ok());

    Script script;
    script.container = kContainerRid;
    script.type = ChildType::kTrigger;
    script.version = kVersion;
    value = encode(script);
    ASSERT_TRUE(decode_script(key(script), value).ok());
    value.back() = 5;
    EXPECT_FALSE(decode_script(key(script), value).ok());
    value.back() = 0;
    value[value.size() - 2] = 2;
    EXPECT_FALSE(decode_script(key(script), value).ok());
    script.type = ChildType::kRange;
    EXPECT_FALSE(decode_script(key(script), encode(script)).ok());
}

TEST(CatalogRecords, EncryptionKeys) {
    const EncryptionKey record{
        {kDatabaseRid, 2}, "k", {"e", 5}, {"d3JhcA==", {"local", "n", "v", "RSA"}}};
    EXPECT_EQ(hex_encode_upper(key(record)), "00000000430C2A3B4C5D0000000000000002");
    EXPECT_EQ(hex_encode_upper(encode(record)),
              "03016B0165060864334A686341"
              "3D3D056C6F63616C016E01760103525341");
    const auto decoded = decode_encryption_key(key(record), encode(record));
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(decoded->key, record.key);
    EXPECT_EQ(encode(*decoded), encode(record));
    EXPECT_EQ(decoded->rid, record.rid);
    EXPECT_EQ(kind_of(key(record)), Kind::kEncryptionKey);
    expect_damage_is_found(key(record), encode(record), decode_encryption_key);
}

/// Of the second format: the members behind the id, as clients saw them.
TEST(CatalogRecords, EncryptionKeysAsJson) {
    const EncryptionKey record{{kDatabaseRid, 2}, "k", {"e", 5}, {"d3JhcA==", {"l", "n", "v", {}}}};
    const std::string members =
        R"("encryptionAlgorithm":"A","wrappedDataEncryptionKey":"d3JhcA==",)"
        R"("keyWrapMetadata":{"type":"l","name":"n","value":"v"})";
    const auto old_form = [](const std::string& json) {
        return bytes_of("02016B016506") + static_cast<char>(json.size()) + json;
    };
    const auto decoded = decode_encryption_key(key(record), old_form(members));
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(decoded->key, record.key);
    EXPECT_FALSE(decode_encryption_key(key(record), old_form(R"("a":1)")).ok());
    EXPECT_FALSE(decode_encryption_key(key(record), old_form(R"("a":)")).ok());
}

TEST(CatalogRecords, MaterializedViews) {
    const MaterializedView record{kContainerRid, {true, {{0, 5}, {3, 300}}}};
    EXPECT_EQ(hex_encode_upper(key(record)).substr(0, 12), "00000000430D");
    EXPECT_EQ(hex_encode_upper(encode(record)), "020102000503AC02");
    const auto decoded = decode_materialized_view(key(record), encode(record));
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(decoded->rid, record.rid);
    EXPECT_EQ(decoded->progress, record.progress);
    EXPECT_EQ(kind_of(key(record)), Kind::kMaterializedView);
    expect_damage_is_found(key(record), encode(record), decode_materialized_view);
}

TEST(CatalogRecords, Moves) {
    const Move move{{300, 301}};
    EXPECT_EQ(hex_encode_upper(key(move)), "0000000043100000012C");
    EXPECT_EQ(hex_encode_upper(encode(move)), "0202AC02AD02");
    EXPECT_EQ(decode_move(key(move), encode(move))->targets, move.targets);
    EXPECT_EQ(kind_of(key(move)), Kind::kMove);
    expect_damage_is_found(key(move), encode(move), decode_move);
    EXPECT_FALSE(decode_move(key(Move{{299}}), encode(move)).ok());
}

TEST(CatalogRecords, RangeRequests) {
    RangeRequest request;
    request.number = 7;
    request.asked_at = 5;
    request.change = {kContainerRid, {"3", "4"}, RangeChange::At::kGiven, "\x1F\xFF", 7};
    EXPECT_EQ(hex_encode_upper(key(request)), "0000000043110000000000000007");
    EXPECT_EQ(hex_encode_upper(encode(request)).substr(18),
              "060201330134"
              "02"
              "021FFF");
    const auto decoded = decode_range_request(key(request), encode(request));
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(encode(*decoded), encode(request));
    EXPECT_EQ(decoded->number, 7U);
    EXPECT_EQ(decoded->change.request, 7U);
    EXPECT_EQ(decoded->change.container, kContainerRid);
    EXPECT_EQ(kind_of(key(request)), Kind::kRangeRequest);
    expect_damage_is_found(key(request), encode(request), decode_range_request);
    std::string unknown_place = encode(request);
    unknown_place[unknown_place.size() - 4] = 3;
    EXPECT_FALSE(decode_range_request(key(request), unknown_place).ok());
}

TEST(CatalogRecords, KindOfKey) {
    EXPECT_EQ(kind_of(account_key()), Kind::kAccount);
    EXPECT_EQ(kind_of(key(permission())), Kind::kPermission);
    EXPECT_FALSE(kind_of(""));
    EXPECT_FALSE(kind_of(catalog_prefix()));
    EXPECT_FALSE(kind_of(catalog_prefix() + '\x08'));
    EXPECT_FALSE(kind_of(std::string(5, '\0') + '\x01'));
}

}  // namespace
}  // namespace orrery::catalog::records
