#include "partition/client_item.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace orrery::partition {
namespace {

constexpr uint64_t kNonce = 0x0123456789ABCDEF;

ContainerSettings settings_with_rid() {
    ContainerSettings settings;
    settings.container_rid = std::string("\x2A\x3B\x4C\x5D\x80\x00\x00\x01", 8);
    return settings;
}

StoredItem item_of(std::string_view text, uint64_t lsn, int64_t ts, uint64_t number) {
    json::DocumentHeader header;
    header.lsn = lsn;
    header.ts = ts;
    header.etag_nonce = kNonce;
    return {std::make_shared<const std::string>(json::encode_document(header, text)),
            storage::Docref("12345678", number)};
}

TEST(ItemWriter, WritesMembersThenSystemProperties) {
    const ContainerSettings settings = settings_with_rid();
    ItemWriter writer(settings);
    std::string out = "[";
    writer.append(out, item_of(R"({"id":"a","n":1.50})", 1, 1'700'000'000, 1));
    EXPECT_EQ(
        out,
        R"([{"id":"a","n":1.50,"_rid":"KjtMXYAAAAEBAAAAAAAAAA==",)"
        R"("_self":"dbs/KjtMXQ==/colls/KjtMXYAAAAE=/docs/KjtMXYAAAAEBAAAAAAAAAA==/",)"
        R"("_etag":"\"01234567-89ab-cdef-0000-000000000001\"","_attachments":"attachments/","_ts":1700000000})");
}

/// What one item leaves behind must not show in the next.
TEST(ItemWriter, EachItemHasItsOwnProperties) {
    const ContainerSettings settings = settings_with_rid();
    ItemWriter writer(settings);
    for (const int64_t ts : {int64_t{5}, int64_t{1'700'000'000}, int64_t{7}, int64_t{0}}) {
        for (const uint64_t number : {uint64_t{1}, UINT64_MAX, uint64_t{0x1234}}) {
            const StoredItem item = item_of("{}", number, ts, number);
            std::string reused;
            writer.append(reused, item);
            EXPECT_EQ(reused, client_item(settings, item));
            EXPECT_THAT(reused, ::testing::EndsWith("\"_ts\":" + std::to_string(ts) + "}"));
            const auto document = json::decode_document(*item.document);
            const SystemProperties system = writer.system(document->header, item.docref);
            EXPECT_EQ(system.ts, ts);
            EXPECT_EQ(system.etag, json::etag_text(kNonce, number));
            EXPECT_EQ(system.self,
                      "dbs/KjtMXQ==/colls/KjtMXYAAAAE=/docs/" + std::string(system.rid) + "/");
            EXPECT_THAT(reused, ::testing::StartsWith("{\"_rid\":\"" + std::string(system.rid)));
        }
    }
}

TEST(ItemWriter, NumberOfTheCommitComesLast) {
    const ContainerSettings settings = settings_with_rid();
    ItemWriter writer(settings);
    std::string out;
    writer.append_with_lsn(out, item_of("{}", UINT64_MAX, 9, 1));
    EXPECT_THAT(out, ::testing::EndsWith(R"("_ts":9,"_lsn":18446744073709551615})"));
    out.clear();
    writer.append(out, item_of("{}", 3, 9, 1));
    EXPECT_THAT(out, ::testing::EndsWith(R"("_ts":9})"));
}

TEST(ItemWriter, WithoutRidsOfItsOwn) {
    ItemWriter writer{ContainerSettings()};
    std::string out;
    writer.append(out, item_of("{}", 1, 9, 1));
    EXPECT_EQ(out, R"({"_rid":"","_self":"","_etag":"\"01234567-89ab-cdef-0000-000000000001\"",)"
                   R"("_attachments":"attachments/","_ts":9})");
}

}  // namespace
}  // namespace orrery::partition
