#include "json/document.h"
#include "base/ended_test_support.h"
#include "base/rounds_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/item.h"
#include "json/parse.h"
#include "json/random_json_test.h"

namespace orrery::json {
namespace {

TEST(Document, GoldenBytes) {
    DocumentHeader header;
    header.lsn = 0x0102030405060708;
    header.ts = 1'700'000'000;  // 0x6553F100
    header.etag_nonce = 0x1112131415161718;
    header.own_ttl = -1;
    header.epk = std::string_view("\x05\xC1\x00\xFF", 4);
    const std::string bytes = encode_document(header, "{\"id\":\"a\"}");
    const unsigned char expected[] = {0x01, 0x00,              // version, flags
                                      0x04, 0x00,              // EPK length
                                      0xFF, 0xFF, 0xFF, 0xFF,  // own TTL
                                      0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,  // LSN
                                      0x00, 0xF1, 0x53, 0x65, 0x00, 0x00, 0x00, 0x00,  // ts
                                      0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,  // etag nonce
                                      0x0A, 0x00, 0x00, 0x00,  // text length
                                      0x05, 0xC1, 0x00, 0xFF,  // EPK
                                      '{',  '"',  'i',  'd',  '"',  ':',  '"',  'a',  '"', '}'};
    EXPECT_EQ(bytes, std::string(reinterpret_cast<const char*>(expected), sizeof(expected)));
}

TEST(Document, RandomDocumentsSurviveByteForByte) {
    test::RandomJson random(3);
    const std::vector<MemberPath> paths = {{"pk"}};
    for (int i = 0; i < rounds(2000); ++i) {
        Arena arena;
        std::vector<Member> members = {{"id", Value::string("x")}};
        members.push_back({"body", random.value(arena, 4)});
        const std::string sent = to_text(Value::object(members));
        const auto item = read_item(random.sloppy_text(Value::object(members)), {&paths}, nullptr);
        ASSERT_TRUE(item.ok()) << item.error().message;
        ASSERT_EQ(item->text, sent);

        std::string epk;
        for (uint64_t n = random.below(40); n > 0; --n)
            epk.push_back(static_cast<char>(random.below(256)));
        DocumentHeader header;
        header.lsn = random.engine()();
        header.ts = static_cast<int64_t>(random.engine()());
        header.etag_nonce = random.engine()();
        header.own_ttl = static_cast<int32_t>(random.engine()());
        header.epk = epk;
        std::string bytes = encode_document(header, item->text);
        const uint64_t lsn = random.engine()();
        const auto ts = static_cast<int64_t>(random.engine()());
        const bool patched = random.chance(50);
        if (patched) set_document_version(bytes, lsn, ts);
        const auto view = decode_document(bytes);
        ASSERT_TRUE(view.ok());
        EXPECT_EQ(view->header.lsn, patched ? lsn : header.lsn);
        EXPECT_EQ(view->header.ts, patched ? ts : header.ts);
        EXPECT_EQ(document_ts(bytes), view->header.ts);
        EXPECT_EQ(view->header.etag_nonce, header.etag_nonce);
        EXPECT_EQ(view->header.own_ttl, header.own_ttl);
        EXPECT_EQ(view->header.epk, epk);
        EXPECT_EQ(view->text, sent);
    }
}

TEST(Document, DamageIsReported) {
    DocumentHeader header;
    header.epk = "0123456789abcdef";
    const std::string good = encode_document(header, "{\"id\":\"1\"}");
    ASSERT_TRUE(decode_document(good).ok());
    for (size_t length = 0; length < good.size(); ++length) {
        const auto cut = decode_document(std::string_view(good).substr(0, length));
        ASSERT_FALSE(cut.ok()) << length;
        EXPECT_EQ(ended(cut.error()), Ended::kInternal);
    }
    EXPECT_FALSE(decode_document(good + "x").ok());
    for (const size_t at : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, size_t{32}, size_t{35}}) {
        std::string damaged = good;
        damaged[at] = static_cast<char>(damaged[at] + 1);
        EXPECT_FALSE(decode_document(damaged).ok()) << at;
    }
    std::string newer = good;
    newer[0] = 2;
    EXPECT_EQ(document_ts(newer), 0);
    EXPECT_EQ(document_ts(std::string_view(good).substr(0, 20)), 0);
    EXPECT_THAT(decode_document(newer).error().message, ::testing::HasSubstr("version 2"));
}

TEST(Document, EmptyTextAndKey) {
    const std::string bytes = encode_document({}, "");
    const auto view = decode_document(bytes);
    ASSERT_TRUE(view.ok());
    EXPECT_EQ(view->text, "");
    EXPECT_EQ(view->header.epk, "");
}

TEST(Etag, LooksLikeAGuid) {
    EXPECT_EQ(etag_text(0x0123456789ABCDEF, 1), "01234567-89ab-cdef-0000-000000000001");
    EXPECT_EQ(etag_text(0, 0), "00000000-0000-0000-0000-000000000000");
    EXPECT_EQ(etag_text(UINT64_MAX, 0xFEDCBA9876543210), "ffffffff-ffff-ffff-fedc-ba9876543210");
}

TEST(AppendItem, MembersOfTheTextComeFirst) {
    std::string out = "[";
    append_item(out, R"({"id":"a","n":1.50})", R"("_ts":1,"_x":{})");
    EXPECT_EQ(out, R"([{"id":"a","n":1.50,"_ts":1,"_x":{}})");
    out.clear();
    append_item(out, "{}", R"("_ts":1)");
    EXPECT_EQ(out, R"({"_ts":1})");
}

}  // namespace
}  // namespace orrery::json
