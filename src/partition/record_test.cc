#include "partition/record.h"

#include <gtest/gtest.h>

#include "base/encoding.h"

namespace orrery::partition {
namespace {

storage::Docref docref() {
    return storage::Docref("ABCDEFGH", 0x0300'0000'0000'0001ULL >> 16);
}

TEST(Record, IdEntryGoldenBytes) {
    const IdEntry entry{.docref = docref(),
                        .lsn = 300,
                        .etag_nonce = 0x1122334455667788ULL,
                        .ts = 1'700'000'000,
                        .own_ttl = -1,
                        .directive = IndexingDirective::kExclude};
    const std::string bytes = encode_id_entry(entry);
    EXPECT_EQ(hex_encode_upper(bytes),
              "0102"              // version, flags: directive Exclude
              "10"                // docref: 16 bytes
              "4142434445464748"  // prefix
              "0000030000000000"  // item number
              "AC02"              // LSN 300
              "8877665544332211"  // nonce
              "80C49FD50C"        // ts, zigzag
              "01");              // own ttl -1, zigzag
    EXPECT_EQ(decode_id_entry(bytes).value(), entry);
}

TEST(Record, IdEntryRefusesDamage) {
    const std::string bytes = encode_id_entry({.docref = docref(), .lsn = 1});
    for (size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_id_entry(bytes.substr(0, size)).ok());
    EXPECT_FALSE(decode_id_entry(bytes + "x").ok());
    std::string newer = bytes;
    newer[0] = 2;
    EXPECT_FALSE(decode_id_entry(newer).ok());
    std::string flags = bytes;
    for (const char bad : {'\3', '\4', '\10'}) {
        flags[1] = bad;
        EXPECT_FALSE(decode_id_entry(flags).ok());
    }
}

TEST(Record, LogRecordGoldenBytes) {
    const LogRecord record{.operation = LogOperation::kDelete,
                           .directive = IndexingDirective::kDefault,
                           .previous_directive = IndexingDirective::kInclude,
                           .expired = true,
                           .ts = 5,
                           .etag_nonce = 0,
                           .previous_lsn = 300,
                           .origin_region = 0,
                           .origin_lsn = 301,
                           .epk = "ek",
                           .id = "i1"};
    const std::string bytes = encode_log_record(record);
    EXPECT_EQ(hex_encode_upper(bytes),
              "01"                // version
              "03"                // delete
              "14"                // previous version with Include, expired
              "0A"                // ts 5, zigzag
              "0000000000000000"  // nonce
              "AC02"              // previous LSN
              "00"                // origin: region 0
              "AD02"              // its LSN
              "02656B"            // EPK
              "026931");          // id
    EXPECT_EQ(decode_log_record(bytes).value(), record);
    for (size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_log_record(bytes.substr(0, size)).ok());
    EXPECT_FALSE(decode_log_record(bytes + "x").ok());
    std::string operation = bytes;
    operation[1] = 4;
    EXPECT_FALSE(decode_log_record(operation).ok());
    std::string flags = bytes;
    for (const char bad : {'\3', '\14', '\40'}) {
        flags[2] = bad;
        EXPECT_FALSE(decode_log_record(flags).ok());
    }
}

TEST(Record, UniqueEntryAndItemCounter) {
    EXPECT_EQ(hex_encode_upper(encode_unique_entry("ab")), "016162");
    EXPECT_EQ(decode_unique_entry(encode_unique_entry("ab")).value(), "ab");
    EXPECT_FALSE(decode_unique_entry("").ok());
    EXPECT_FALSE(decode_unique_entry("\x02"
                                     "ab")
                     .ok());
    EXPECT_EQ(hex_encode_upper(encode_item_counter(4097)), "010110000000000000");
    EXPECT_EQ(decode_item_counter(encode_item_counter(4097)).value(), 4097U);
    EXPECT_FALSE(decode_item_counter("\x01"
                                     "1234567")
                     .ok());
}

TEST(Record, IndexFill) {
    const IndexFill fill{
        .change = 3, .items = 300, .complete = false, .position = std::string(docref().bytes())};
    const std::string bytes = encode_index_fill(fill);
    EXPECT_EQ(hex_encode_upper(bytes), "0103AC02001041424344454647480000030000000000");
    EXPECT_EQ(decode_index_fill(bytes).value(), fill);
    for (size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_index_fill(bytes.substr(0, size)).ok());
    EXPECT_FALSE(decode_index_fill(bytes + "x").ok());
    EXPECT_TRUE(fill.reached(docref()));
    EXPECT_TRUE(fill.reached(storage::Docref("ABCDEFGA", 1)));
    EXPECT_FALSE(fill.reached(storage::Docref("ABCDEFGH", docref().item_number() + 1)));
    EXPECT_FALSE(IndexFill().reached(docref()));
    const IndexFill done{.change = 1, .items = 0, .complete = true, .position = {}};
    EXPECT_TRUE(done.reached(docref()));
}

TEST(Record, Birth) {
    const Birth birth{.lsn = 300, .ts = 5, .merged = true, .parts = {{"e", 290}, {"\xFF", 7}}};
    const std::string bytes = encode_birth(birth);
    EXPECT_EQ(hex_encode_upper(bytes), "01AC020A01020165A20201FF07");
    EXPECT_EQ(decode_birth(bytes).value(), birth);
    for (size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_birth(bytes.substr(0, size)).ok());
    EXPECT_FALSE(decode_birth(bytes + "x").ok());
    EXPECT_EQ(birth.covered_of(""), 290U);
    EXPECT_EQ(birth.covered_of("e"), 7U);
    EXPECT_EQ(meta_keys::birth(7), std::string("\0\0\0\x07", 4) + "partition/birth");
}

TEST(Record, KeysOfMetaAndCounters) {
    EXPECT_EQ(meta_keys::item_counter(7), std::string("\0\0\0\x07", 4) + "partition/item_counter");
    EXPECT_EQ(meta_keys::ttl_complete(7), std::string("\0\0\0\x07", 4) + "partition/ttl_complete");
    EXPECT_EQ(meta_keys::index_fill(7), std::string("\0\0\0\x07", 4) + "partition/index_fill");
    EXPECT_EQ(hex_encode_upper(counter_keys::totals(7)), "000000070000000000000001");
    EXPECT_EQ(hex_encode_upper(counter_keys::logical_partition(7, "e")),
              "00000007000000000000000265");
}

TEST(Record, LsnNote) {
    EXPECT_EQ(hex_encode_upper(encode_lsn_note(300)), "01AC02");
    EXPECT_EQ(decode_lsn_note(encode_lsn_note(300)).value(), 300U);
    for (const std::string& bad :
         {std::string(), std::string("\x02\x05", 2), std::string("\x01\x05\x05", 3)})
        EXPECT_FALSE(decode_lsn_note(bad).ok());
}

}  // namespace
}  // namespace orrery::partition
