#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc32.h"
#include "base/encoding.h"
#include "json/document.h"
#include "lab/recorder.h"
#include "query/query.h"

namespace orrery::lab {
namespace {

using engine::OperationClass;
using engine::RequestRecord;

constexpr int64_t kStart = 1'700'000'040;  // begins a minute
const auto kAll = [](uint64_t) { return true; };

RequestRecord record(int64_t second, OperationClass operation, uint64_t container = 7) {
    RequestRecord out;
    out.wall_seconds = second;
    out.duration_us = 100;
    out.container = container;
    out.range = 0;
    out.range_bytes = 5000;
    out.status = 200;
    out.operation = operation;
    out.charge = {3 * meter::kUnitsPerRu};
    out.connection = 1;
    out.set_key("[\"a\"]", 9);
    return out;
}

std::shared_ptr<const std::string> document(const std::string& text) {
    return std::make_shared<const std::string>(json::encode_document({}, text));
}

/// Some of everything: writes with their items, a query, reads of two containers in turn, a hot
/// item.
void use(Recorder& recorder, int64_t start) {
    for (int i = 0; i < 12; ++i) {
        RequestRecord write = record(start + i, OperationClass::kReplace);
        write.writes = 1;
        write.updated = true;
        write.grown_bytes = 10;
        write.item_hash = 77;
        write.docref_hash = 33;
        write.set_id("one");
        engine::RequestSample sample;
        sample.record = write;
        sample.key = "[\"a\"]";
        sample.id = "one";
        sample.document = document(
            R"({"id":"one","pk":"a","type":"order","at":"2024-01-01T00:00:00Z","n":)" +
            std::to_string(i) + R"(,"lines":[{"sku":"x"})" + (i > 5 ? R"(,{"sku":"y"}]})" : "]}"));
        recorder.observe_sample(std::move(sample));
        recorder.observe(write);
    }
    RequestRecord query = record(start + 20, OperationClass::kQuery);
    const auto compiled = query::compile("SELECT * FROM c WHERE c.n > 5 ORDER BY c.at");
    CHECK(compiled.ok());
    query.query_hash = 5;
    query.retrieved = 6;
    query.output = 5;
    query.ranges = 2;
    query.response_bytes = 900;
    engine::RequestSample sample;
    sample.record = query;
    sample.query = *compiled;
    sample.index_use.utilized = {"/n/?"};
    sample.index_use.potential_composite = {{"/n ASC", "/at ASC"}};
    recorder.observe_sample(std::move(sample));
    recorder.observe(query);
    recorder.observe(record(start + 30, OperationClass::kRead));
    recorder.observe(record(start + 30, OperationClass::kRead, 8));
    recorder.note_feed_use(7, "indexer", 100, 5, 12.5);
}

/// Everything that can be asked of it.
std::string all_of(const Recorder& recorder) {
    std::ostringstream out;
    for (const uint64_t container : {7U, 8U}) {
        Observation seen;
        seen.key_paths = {"/pk"};
        recorder.describe(container, seen);
        out << observation_json(seen) << '\n';
        for (const auto& key : recorder.top_keys(container, 24, 100).keys)
            out << key.key << ' ' << key.weight << ' ' << key.error << ' ' << key.extra.bytes
                << '\n';
        for (const auto& pair : recorder.pairs(container))
            out << pair.second_container << ' ' << pair.count << ' ' << pair.units << '\n';
        for (const auto& minute :
             recorder.minutes({container, 0}, kStart / 60 - 5, kStart / 60 + 5))
            out << minute.charge_units << ' ' << minute.peak_units << ' ' << minute.requests << ' '
                << minute.bytes << '\n';
        for (const auto& one : recorder.trace(container))
            out << one.wall_ms << one.key << one.id << one.body << one.query << '\n';
        out << recorder.reads_and_writes(container).first
            << recorder.reads_and_writes(container).second;
    }
    return out.str();
}

TEST(RecorderPack, NothingIsLostOverARestart) {
    ManualClock clock((kStart + 100) * 1'000'000);
    Recorder before(clock);
    clock.advance_seconds(100);
    use(before, kStart + 100);
    const std::string packed = before.pack();
    Recorder after(clock);
    const Status status = after.unpack(packed, kAll);
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(all_of(after), all_of(before));
    EXPECT_EQ(after.pack(), [&] {
        Recorder again(clock);
        EXPECT_TRUE(again.unpack(packed, kAll).ok());
        return again.pack();
    }());
    // It goes on: the same again is counted on top, under the same shapes, keys and items.
    use(before, kStart + 140);
    use(after, kStart + 140);
    EXPECT_EQ(all_of(after), all_of(before));
    Observation seen;
    after.describe(7, seen);
    ASSERT_EQ(seen.queries.size(), 1u);
    EXPECT_EQ(seen.queries[0].runs, 2);
    ASSERT_EQ(seen.hot_items.size(), 1u);
    EXPECT_EQ(seen.hot_items[0].attempts, 24);
}

TEST(RecorderPack, TimeWithoutAServerIsNoTimeOfObservation) {
    ManualClock clock(kStart * 1'000'000);
    Recorder before(clock);
    use(before, kStart);
    clock.advance_seconds(2 * 3600);
    const std::string packed = before.pack();
    clock.advance_seconds(10 * 86'400);
    Recorder after(clock);
    ASSERT_TRUE(after.unpack(packed, kAll).ok());
    Observation seen;
    after.describe(7, seen);
    EXPECT_EQ(seen.observed_seconds, 2 * 3600);
    EXPECT_EQ(seen.now_seconds - *seen.last_request_seconds, 2 * 3600 - 30);
    // Three hours before, and the one that runs now.
    EXPECT_EQ(seen.hours.size(), 4u);
    EXPECT_EQ(seen.hours.back().hour, (kStart + 2 * 3600 + 10 * 86'400) / 3600);
    // Again, and nothing piles up that is older than what the hours show.
    std::string again = after.pack();
    for (int i = 0; i < 50; ++i) {
        clock.advance_seconds(86'400);
        Recorder next(clock);
        ASSERT_TRUE(next.unpack(again, kAll).ok());
        again = next.pack();
    }
    EXPECT_LT(again.size(), packed.size() + 600);
}

TEST(RecorderPack, DamageIsNoticedAndNothingIsTaken) {
    ManualClock clock(kStart * 1'000'000);
    Recorder before(clock);
    use(before, kStart);
    const std::string packed = before.pack();
    const std::string nothing = all_of(Recorder(clock));
    for (size_t at = 0; at < packed.size(); at += at < 40 ? 1 : 13) {
        std::string wrong = packed;
        wrong[at] = static_cast<char>(wrong[at] ^ 0x10);
        Recorder after(clock);
        EXPECT_FALSE(after.unpack(wrong, kAll).ok()) << at;
        EXPECT_FALSE(after.unpack(packed.substr(0, at), kAll).ok()) << at;
        if (at < 40) {
            EXPECT_EQ(all_of(after), nothing) << at;
        }
    }
    Recorder after(clock);
    EXPECT_FALSE(after.unpack("", kAll).ok());
    // A checksum that fits does not make sense of nonsense.
    for (size_t at = 16; at < packed.size(); at += 11) {
        std::string wrong = packed;
        wrong[at] = static_cast<char>(0xFF);
        const std::string body = wrong.substr(16);
        wrong.resize(12);
        append_u32_le(wrong, crc32(body));
        wrong += body;
        Recorder one(clock);
        (void)one.unpack(wrong, kAll);
    }
}

TEST(RecorderPack, ContainersThatAreGoneAreLeftOutAndSpaceIsBounded) {
    ManualClock clock(kStart * 1'000'000);
    Recorder before(clock);
    use(before, kStart);
    RequestRecord late = record(kStart + 40, OperationClass::kRead, 9);
    before.observe(late);
    Recorder after(clock);
    ASSERT_TRUE(after.unpack(before.pack(), [](uint64_t id) { return id == 8; }).ok());
    EXPECT_EQ(after.reads_and_writes(8).first, 1u);
    EXPECT_EQ(after.reads_and_writes(7).first, 0u);
    // The one used last stays.
    const std::string small = before.pack(700);
    EXPECT_LT(small.size(), 720u);
    Recorder cut(clock);
    ASSERT_TRUE(cut.unpack(small, kAll).ok());
    EXPECT_EQ(cut.reads_and_writes(9).first, 1u);
    EXPECT_EQ(cut.reads_and_writes(7).first, 0u);
}

TEST(RecorderPack, IsKeptOnlyAfterAChange) {
    ManualClock clock(kStart * 1'000'000);
    Recorder recorder(clock);
    int kept = 0;
    recorder.keep_with([&](const std::string&) { ++kept; });
    recorder.keep_now();
    EXPECT_EQ(kept, 0);
    use(recorder, kStart);
    recorder.keep_now();
    EXPECT_EQ(kept, 1);
}

/// tests/lab/recording.v2.hex is what version 2 wrote.
TEST(RecorderPack, GoldenBytes) {
    ManualClock clock(kStart * 1'000'000);
    Recorder recorder(clock);
    use(recorder, kStart);
    const std::string packed = recorder.pack();
    std::ifstream file(std::string(ORRERY_LAB_TESTS) + "/recording.v2.hex");
    std::string golden;
    for (std::string line; std::getline(file, line);) golden += line;
    if (hex_encode_upper(packed) != golden) {
        std::ofstream("recording.hex") << hex_encode_upper(packed);
        FAIL() << "the format changed: see recording.hex";
    }
    Recorder read(clock);
    ASSERT_TRUE(read.unpack(*hex_decode(golden), kAll).ok());
    EXPECT_EQ(all_of(read), all_of(recorder));
    // Version 1 had other hashes: its keys would be taken for others.
    std::string old = packed;
    old[8] = 1;
    const Status refused = Recorder(clock).unpack(old, kAll);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message, "the recording has version 1, this server reads 2");
}

}  // namespace
}  // namespace orrery::lab
