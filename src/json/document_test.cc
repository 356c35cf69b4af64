#include "json/document.h"
#include "base/ended_test_support.h"
#include "base/rounds_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/item.h"
#include "json/item_id.h"
#include "json/parse.h"
#include "json/random_typed_test.h"
#include "json/sql_view.h"
#include "json/typed_text.h"
#include "json/write.h"

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
        EXPECT_EQ(view->text(), sent);
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
    newer[0] = 3;
    EXPECT_EQ(document_ts(newer), 0);
    EXPECT_EQ(document_ts(std::string_view(good).substr(0, 20)), 0);
    EXPECT_THAT(decode_document(newer).error().message, ::testing::HasSubstr("version 3"));
}

TEST(Document, GoldenBytesOfVersion2) {
    DocumentHeader header;
    header.lsn = 0x0102030405060708;
    header.ts = 1'700'000'000;
    header.etag_nonce = 0x1112131415161718;
    header.epk = std::string_view("\x05\xC1", 2);
    header.dialect = Dialect::kTable;
    header.id = std::string_view("\xFF\x50\x61\x00\x00", 5);
    header.client_time = 0x2122232425262728;
    const std::string bytes = encode_document(header, "{}");
    const unsigned char expected[] = {
        0x02, 0x01,                                      // version, flags: client timestamp
        0x02, 0x00,                                      // EPK length
        0x00, 0x00, 0x00, 0x00,                          // own TTL
        0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,  // LSN
        0x00, 0xF1, 0x53, 0x65, 0x00, 0x00, 0x00, 0x00,  // ts
        0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,  // etag nonce
        0x02, 0x00, 0x00, 0x00,                          // text length
        0x03, 0x05, 0x00,                                // dialect, id length
        0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,  // client time
        0x05, 0xC1,                                      // EPK
        0xFF, 0x50, 0x61, 0x00, 0x00,                    // id
        '{',  '}'};
    EXPECT_EQ(bytes, std::string(reinterpret_cast<const char*>(expected), sizeof(expected)));
    header.client_time.reset();
    EXPECT_EQ(encode_document(header, "{}").size(), bytes.size() - 8);
}

TEST(Document, TaggedHeadersSurvive) {
    test::RandomJson random(4);
    for (int i = 0; i < rounds(2000); ++i) {
        const auto dialect = static_cast<Dialect>(random.below(kDialectCount));
        const std::string epk(random.below(40), 'k');
        std::string id;
        if (!rules(dialect).reserves_members) id.assign(1 + random.below(300), '\xFF');
        DocumentHeader header;
        header.lsn = random.engine()();
        header.ts = static_cast<int64_t>(random.engine()());
        header.etag_nonce = random.engine()();
        header.own_ttl = static_cast<int32_t>(random.engine()());
        header.epk = epk;
        header.dialect = dialect;
        header.id = id;
        if (random.chance(50)) header.client_time = static_cast<int64_t>(random.engine()());
        const std::string text(random.below(50), 't');
        std::string bytes = encode_document(header, text);
        const bool plain = dialect == Dialect::kNosql && !header.client_time;
        ASSERT_EQ(bytes[0], plain ? 1 : 2);
        set_document_version(bytes, header.lsn + 1, header.ts);
        const auto view = decode_document(bytes);
        ASSERT_TRUE(view.ok()) << view.error().message;
        EXPECT_EQ(view->header.lsn, header.lsn + 1);
        EXPECT_EQ(view->header.ts, header.ts);
        EXPECT_EQ(document_ts(bytes), header.ts);
        EXPECT_EQ(view->header.etag_nonce, header.etag_nonce);
        EXPECT_EQ(view->header.own_ttl, header.own_ttl);
        EXPECT_EQ(view->header.epk, epk);
        EXPECT_EQ(view->header.dialect, dialect);
        EXPECT_EQ(view->header.id, id);
        EXPECT_EQ(view->header.client_time, header.client_time);
        EXPECT_EQ(view->text_bytes(), text.size());
    }
}

TEST(Document, DamageOfVersion2IsReported) {
    DocumentHeader header;
    header.epk = "0123456789abcdef";
    header.dialect = Dialect::kMongo;
    header.id = "\xFFid";
    header.client_time = 1;
    const std::string good = encode_document(header, "{}");
    ASSERT_TRUE(decode_document(good).ok());
    for (size_t length = 0; length < good.size(); ++length)
        ASSERT_FALSE(decode_document(std::string_view(good).substr(0, length)).ok()) << length;
    EXPECT_FALSE(decode_document(good + "x").ok());
    const auto with = [&](size_t at, int byte) {
        std::string damaged = good;
        damaged[at] = static_cast<char>(byte);
        return decode_document(damaged).ok();
    };
    EXPECT_FALSE(with(1, 0));     // without its flag the client's time is something else
    EXPECT_FALSE(with(1, 3));     // a flag of later versions
    EXPECT_FALSE(with(36, 4));    // no such dialect
    EXPECT_FALSE(with(36, 0));    // nosql has its id in the text
    EXPECT_FALSE(with(37, 0));    // the others have one here
    EXPECT_FALSE(with(38, 255));  // longer than the document
    EXPECT_FALSE(with(good.size() - 5, 0x61));  // no id of that dialect
    EXPECT_TRUE(with(36, 2));
}

TEST(Document, EmptyTextAndKey) {
    const std::string bytes = encode_document({}, "");
    const auto view = decode_document(bytes);
    ASSERT_TRUE(view.ok());
    EXPECT_EQ(view->text_bytes(), 0u);
    EXPECT_EQ(view->header.epk, "");
}

TEST(Etag, LooksLikeAGuid) {
    EXPECT_EQ(etag_text(0x0123456789ABCDEF, 1), "01234567-89ab-cdef-0000-000000000001");
    EXPECT_EQ(etag_text(0, 0), "00000000-0000-0000-0000-000000000000");
    EXPECT_EQ(etag_text(UINT64_MAX, 0xFEDCBA9876543210), "ffffffff-ffff-ffff-fedc-ba9876543210");
}

TEST(Document, MembersFollowThoseOfTheItem) {
    const std::string bytes = encode_document({}, R"({"id":"a","n":1.50})");
    std::string out = "[";
    decode_document(bytes)->append_to(out, R"("_ts":1,"_x":{})");
    EXPECT_EQ(out, R"([{"id":"a","n":1.50,"_ts":1,"_x":{}})");
    EXPECT_EQ(decode_document(bytes)->text(), R"({"id":"a","n":1.50})");
    const std::string empty = encode_document({}, "{}");
    out.clear();
    decode_document(empty)->append_to(out, R"("_ts":1)");
    EXPECT_EQ(out, R"({"_ts":1})");
}

/// A document of the dialect mongo with this item.
std::string tagged(std::string_view text, const Value& id, int32_t own_ttl = 0) {
    const std::string core_id = make_item_id(id, rules(Dialect::kMongo)).value();
    DocumentHeader header;
    header.dialect = Dialect::kMongo;
    header.id = core_id;
    header.own_ttl = own_ttl;
    return encode_document(header, text);
}

TEST(Document, AnswersInTheTypesOfItsDialect) {
    const std::string bytes = tagged(
        R"({"_id":{"$t":18,"$v":"5"},"id":"mine","a":{"b":{"$t":9,"$v":"7"}}})", Value::int64(5));
    const Document document = decode_document(bytes).value();
    Arena arena;
    EXPECT_EQ(document.id(arena).value(),
              make_item_id(Value::int64(5), rules(Dialect::kMongo)).value());
    EXPECT_EQ(document.value(arena).value().member("_id").extended_type(), ExtendedType::kInt64);
    const auto values = document.values_at({{"a", "b"}, {"id"}, {"x"}}, arena).value();
    EXPECT_EQ(values[0].as_date(), 7);
    EXPECT_EQ(values[1].as_string(), "mine");
    EXPECT_TRUE(values[2].is_undefined());
    // In the dialect nosql the same text has an object there.
    const std::string plain = encode_document({}, R"({"id":"mine","b":{"$t":9,"$v":"7"}})");
    EXPECT_EQ(decode_document(plain)->id(arena).value(), "mine");
    EXPECT_TRUE(decode_document(plain)->value(arena).value().member("b").is_object());
    EXPECT_FALSE(decode_document(encode_document({}, R"({"x":1})"))->id(arena).ok());
}

TEST(Document, SqlSeesEveryMember) {
    const std::string bytes = tagged(
        R"({"_id":"x","id":1,"_ts":2,"ttl":3,"$id":4,"_rid":5,"d":{"$t":9,"$v":"7"},"n":1.50})",
        Value::string("x"), 60);
    const Document document = decode_document(bytes).value();
    std::string out;
    document.append_to(out, R"("_ts":99)");
    EXPECT_EQ(out, R"({"id":"x","ttl":60,"_id":"x","$id":1,"$_ts":2,"$ttl":3,"$$id":4,"$_rid":5,)"
                   R"("d":{"$t":9,"$v":"7"},"n":1.50,"_ts":99})");
    Arena arena;
    const Member more[] = {{"_ts", Value::integer(99)}};
    const Selection selection({{"id"}, {"$id"}, {"_ts"}, {"$_ts"}, {"d", "$v"}});
    const Value selected = document.select(selection, arena, more).value();
    EXPECT_EQ(to_text(selected), R"({"id":"x","$id":1,"$_ts":2,"d":{"$v":"7"},"_ts":99})");
    // A member `$t` of the item itself.
    const std::string wrapped = tagged(R"({"$t":3,"$v":{"$t":1,"$v":2}})", Value::null());
    EXPECT_EQ(decode_document(wrapped)->text(), R"({"id":"$20","$t":1,"$v":2})");
}

TEST(SqlNames, TellMembersApart) {
    for (const std::string_view name :
         {"a", "id", "$id", "$$id", "_ts", "$_ts", "ttl", "$t", "$", ""}) {
        EXPECT_EQ(stored_name(sql_name(name)), name);
        EXPECT_NE(sql_name(name), "id");
        EXPECT_NE(sql_name(name), "_ts");
    }
    EXPECT_EQ(sql_name("$t"), "$t");
    EXPECT_EQ(sql_name("$$ttl"), "$$$ttl");
    EXPECT_EQ(stored_name("id"), "");
}

TEST(Document, EveryTypedValueSurvives) {
    test::RandomTyped random(5);
    for (int i = 0; i < rounds(3000); ++i) {
        Arena arena;
        const auto dialect = static_cast<Dialect>(1 + random.json().below(kDialectCount - 1));
        const Value sent = random.object(arena, 4);
        std::string body;
        write_typed(body, sent);
        const auto item = read_item(body, {nullptr, dialect}, nullptr);
        ASSERT_TRUE(item.ok()) << body << ": " << item.error().message;
        DocumentHeader header;
        header.dialect = dialect;
        header.id = "\xFF";
        const std::string bytes = encode_document(header, item->text);
        const auto document = decode_document(bytes);
        ASSERT_TRUE(document.ok());
        const auto stored = document->value(arena);
        ASSERT_TRUE(stored.ok()) << body;
        ASSERT_TRUE(test::identical(*stored, sent)) << body;
    }
}

}  // namespace
}  // namespace orrery::json
