#include "storage/keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/bytes.h"
#include "base/encoding.h"
#include "storage/detail/own_keys.h"
#include "storage/detail/wal_recovery.h"

namespace orrery::storage {
namespace {

std::string hex(std::string_view bytes) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    for (const char c : bytes) {
        out.push_back(kDigits[static_cast<uint8_t>(c) >> 4]);
        out.push_back(kDigits[static_cast<uint8_t>(c) & 15]);
    }
    return out;
}

const Docref kDocref("\x11\x22\x33\x44\x55\x66\x77\x88", 0x0102030405060708);

TEST(Keys, GoldenBytes) {
    const std::string docref = "11223344556677880102030405060708";
    EXPECT_EQ(hex(keys::partition(0xA1B2C3D4)), "a1b2c3d4");
    EXPECT_EQ(hex(keys::item(7, kDocref)), "00000007" + docref);
    EXPECT_EQ(hex(keys::id(7, std::string("\x05\x00\x06", 3), IdKind::kItem, "ab")),
              "00000007"
              "0500ff06"
              "0000"
              "01"
              "6162");
    EXPECT_EQ(hex(keys::ids_of_epk(7, "\x05", IdKind::kUniqueKey)),
              "00000007"
              "05"
              "0000"
              "02");
    EXPECT_EQ(hex(keys::log_from(7, 258)),
              "00000007"
              "0000000000000102");
    EXPECT_EQ(hex(keys::log(7, 258, kDocref)),
              "00000007"
              "0000000000000102" +
                  docref);
    EXPECT_EQ(hex(keys::ttl_kind(7, keys::TtlKind::kUnderDefault)),
              "00000007"
              "02");
    EXPECT_EQ(hex(keys::ttl(7, keys::TtlKind::kOwnExpiry, 1, kDocref)),
              "00000007"
              "01"
              "8000000000000001" +
                  docref);
    EXPECT_EQ(hex(keys::ttl(7, keys::TtlKind::kOwnExpiry, -1, kDocref)),
              "00000007"
              "01"
              "7fffffffffffffff" +
                  docref);
    EXPECT_EQ(hex(keys::index_path(7, 0xFF00)),
              "00000007"
              "000000000000ff00");
}

TEST(Keys, GoldenBytesOfTheStoresOwn) {
    using namespace detail;
    EXPECT_EQ(hex(format_key()),
              "00000000"
              "0001");
    EXPECT_EQ(hex(encode_format(1)), "01000000");
    EXPECT_EQ(hex(dirty_key(5)),
              "00000000"
              "0002"
              "00000005");
    EXPECT_EQ(hex(retired_key(5)),
              "00000000"
              "0003"
              "00000005");
    EXPECT_EQ(hex(table_marker_key()),
              "00000000"
              "0000000000000000"
              "01");
    EXPECT_EQ(hex(encode_table_marker(3)),
              "01"
              "0300000000000000");
    EXPECT_EQ(hex(covered_key(5)),
              "00000000"
              "0000000000000000"
              "02"
              "00000005");
    EXPECT_EQ(hex(encode_covered(258)),
              "01"
              "0201000000000000");
    EXPECT_EQ(hex(encode_counter({3, {-1, 2}})),
              "01"
              "0300000000000000"
              "ffffffffffffffff"
              "0200000000000000");
    EXPECT_EQ(hex(encode_group_number(258)), "0201000000000000");
    const auto counter = decode_counter(encode_counter({3, {-1, 2}}));
    ASSERT_TRUE(counter);
    EXPECT_EQ(counter->table, 3U);
    EXPECT_EQ(counter->count.items, -1);
    EXPECT_EQ(counter->count.bytes, 2);
    EXPECT_FALSE(decode_counter("\x02"));
    EXPECT_FALSE(decode_covered(""));
    EXPECT_EQ(decode_noted_partition(dirty_key(9), dirty_prefix()), 9U);
    EXPECT_FALSE(decode_noted_partition(dirty_prefix(), dirty_prefix()));
}

class Random {
public:
    uint64_t number() { return random_() >> (random_() % 64); }
    std::string bytes(size_t max) {
        std::string out(random_() % (max + 1), '\0');
        // Few different bytes, so that prefixes and escapes are common.
        for (char& c : out)
            c = static_cast<char>(random_() % 3 == 0 ? 0 : random_() % 3 == 1 ? 255 : random_());
        return out;
    }
    Docref docref(size_t levels) {
        std::string prefix;
        while (prefix.size() < 8 * levels) prefix += bytes(8);
        return Docref(std::string_view(prefix).substr(0, 8 * levels), number());
    }

private:
    std::mt19937_64 random_{42};
};

TEST(Keys, DecodeIsTheInverseOfEncode) {
    Random random;
    for (int i = 0; i < 5000; ++i) {
        const auto partition = static_cast<PartitionId>(random.number());
        const Docref docref = random.docref(1 + random.number() % 3);
        const std::string epk = random.bytes(20);
        const std::string name = random.bytes(30);
        const auto kind = random.number() % 2 == 0 ? IdKind::kItem : IdKind::kUniqueKey;
        const auto id = keys::decode_id(keys::id(partition, epk, kind, name));
        ASSERT_TRUE(id);
        EXPECT_EQ(std::tie(id->partition, id->epk, id->kind, id->name),
                  std::tie(partition, epk, kind, name));
        EXPECT_TRUE(keys::id(partition, epk, kind, name)
                        .starts_with(keys::ids_of_epk(partition, epk, kind)));
        const Lsn lsn = random.number();
        const auto log = keys::decode_log(keys::log(partition, lsn, docref));
        ASSERT_TRUE(log);
        EXPECT_EQ(std::tie(log->partition, log->lsn, log->docref),
                  std::tie(partition, lsn, docref));
        const auto item = keys::decode_item(keys::item(partition, docref));
        ASSERT_TRUE(item);
        EXPECT_EQ(std::tie(item->partition, item->docref), std::tie(partition, docref));
        const auto when = static_cast<int64_t>(random.number());
        const auto ttl_kind =
            random.number() % 2 == 0 ? keys::TtlKind::kOwnExpiry : keys::TtlKind::kUnderDefault;
        const auto ttl = keys::decode_ttl(keys::ttl(partition, ttl_kind, when, docref));
        ASSERT_TRUE(ttl);
        EXPECT_EQ(std::tie(ttl->partition, ttl->kind, ttl->when, ttl->docref),
                  std::tie(partition, ttl_kind, when, docref));
    }
}

TEST(Keys, ByteOrderIsLogicalOrder) {
    Random random;
    for (int i = 0; i < 5000; ++i) {
        const auto p = static_cast<PartitionId>(random.number() % 3);
        const auto q = static_cast<PartitionId>(random.number() % 3);
        const std::string e = random.bytes(4);
        const std::string f = random.bytes(4);
        const std::string m = random.bytes(4);
        const std::string n = random.bytes(4);
        EXPECT_EQ(keys::id(p, e, IdKind::kItem, m) < keys::id(q, f, IdKind::kItem, n),
                  std::tie(p, e, m) < std::tie(q, f, n));
        const Docref c = random.docref(1);
        const Docref d = random.docref(1);
        const Lsn k = random.number();
        const Lsn l = random.number();
        EXPECT_EQ(keys::log(p, k, c) < keys::log(q, l, d), std::tie(p, k, c) < std::tie(q, l, d));
        const auto s = static_cast<int64_t>(random.number());
        const auto t = -static_cast<int64_t>(random.number() >> 1);
        EXPECT_EQ(keys::ttl(p, keys::TtlKind::kOwnExpiry, s, c) <
                      keys::ttl(q, keys::TtlKind::kOwnExpiry, t, d),
                  std::tie(p, s, c) < std::tie(q, t, d));
        EXPECT_EQ(keys::index_path(p, k) < keys::index_path(q, l), std::tie(p, k) < std::tie(q, l));
    }
}

TEST(Keys, MalformedKeysAreRefused) {
    EXPECT_FALSE(keys::decode_item("123"));
    EXPECT_FALSE(
        keys::decode_item("1234"
                          "12345678"));  // no room for a docref
    EXPECT_FALSE(
        keys::decode_item("1234"
                          "1234567812345678x"));  // odd length
    EXPECT_FALSE(
        keys::decode_id(std::string("\0\0\0\1"
                                    "abc",
                                    7)));
    EXPECT_FALSE(
        keys::decode_id(std::string("\0\0\0\1"
                                    "a\0\0",
                                    7)));  // no kind
    EXPECT_FALSE(
        keys::decode_id(std::string("\0\0\0\1"
                                    "a\0\0\7",
                                    8)));  // unknown kind
    EXPECT_FALSE(keys::decode_log(keys::log_from(1, 2)));
    std::string ttl = keys::ttl(1, keys::TtlKind::kOwnExpiry, 2, kDocref);
    ttl[4] = 9;
    EXPECT_FALSE(keys::decode_ttl(ttl));
}

}  // namespace
}  // namespace orrery::storage
