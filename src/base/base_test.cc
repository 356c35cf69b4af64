#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <set>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/encoding.h"
#include "base/errors.h"
#include "base/hash.h"
#include "base/keyed_hash.h"
#include "base/random.h"
#include "base/status.h"
#include "base/system.h"
#include "base/worker_pool.h"

namespace orrery {
namespace {

TEST(BytesTest, DelimitedKeepsOrderAndRoundTrips) {
    std::vector<std::string> inputs = {"",
                                       std::string(1, '\0'),
                                       std::string("\0\0", 2),
                                       "a",
                                       std::string("a\0", 2),
                                       std::string("a\0b", 3),
                                       "ab",
                                       "b",
                                       "\xFF",
                                       std::string("\0\xFF", 2)};
    std::sort(inputs.begin(), inputs.end());
    std::string previous;
    for (const auto& input : inputs) {
        std::string encoded;
        append_delimited(encoded, input);
        if (&input != &inputs.front()) {
            EXPECT_LT(previous, encoded);
        }
        previous = encoded;
        encoded += "tail";
        std::string_view rest = encoded;
        EXPECT_EQ(take_delimited(rest), input);
        EXPECT_EQ(rest, "tail");
    }
}

TEST(BytesTest, DelimitedRefusesDamage) {
    for (const std::string& bad :
         {std::string("abc"), std::string("a\0", 2), std::string("a\0b\0\0", 5)}) {
        std::string_view rest = bad;
        EXPECT_EQ(take_delimited(rest), std::nullopt);
    }
}

TEST(BytesTest, PrefixSuccessor) {
    EXPECT_EQ(prefix_successor("a"), "b");
    EXPECT_EQ(prefix_successor("a\xFF"), "b");
    EXPECT_EQ(prefix_successor("\xFF\xFF"), "");
}

TEST(BytesTest, ReaderStopsAtTheEnd) {
    std::string out;
    append_varint(out, 300);
    append_bytes(out, "xyz");
    append_u64_le(out, 7);
    ByteReader reader(out);
    EXPECT_EQ(reader.varint(), 300U);
    EXPECT_EQ(reader.bytes(), "xyz");
    EXPECT_EQ(reader.u64_le(), 7U);
    EXPECT_TRUE(reader.ok());
    EXPECT_EQ(reader.u8(), 0);
    EXPECT_FALSE(reader.ok());
    ByteReader lying(std::string_view("\xFF\x01x", 3));
    EXPECT_EQ(lying.bytes(), "");
    EXPECT_FALSE(lying.ok());
}

TEST(EncodingTest, Base64) {
    for (const auto& [plain, text] : std::vector<std::pair<std::string, std::string>>{
             {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}}) {
        EXPECT_EQ(base64_encode(plain), text);
        EXPECT_EQ(base64_decode(text), plain);
    }
    EXPECT_EQ(base64_decode("Zg="), std::nullopt);
    EXPECT_EQ(base64_decode("Z==="), std::nullopt);
    EXPECT_EQ(base64_decode("Zg*="), std::nullopt);
    EXPECT_EQ(base64_decode("===="), std::nullopt);
}

TEST(EncodingTest, RidAlphabet) {
    const std::string bytes = "\xFF\xFF\xFF\xFF";
    EXPECT_EQ(rid_encode(bytes), "-----w==");
    EXPECT_EQ(rid_decode("-----w=="), bytes);
    EXPECT_EQ(rid_decode("/////w=="), std::nullopt);
}

TEST(EncodingTest, PercentAndHex) {
    EXPECT_EQ(percent_decode("x%25y%20%C3%A9+"), "x%y \xC3\xA9+");
    EXPECT_EQ(percent_decode("%2"), std::nullopt);
    EXPECT_EQ(percent_decode("%zz"), std::nullopt);
    EXPECT_EQ(percent_encode("a/b c~"), "a%2Fb%20c~");
    EXPECT_EQ(hex_decode("0aFF"), std::string("\x0A\xFF"));
    EXPECT_EQ(hex_decode("0"), std::nullopt);
    EXPECT_EQ(hex_encode_upper("\x0A\xFF"), "0AFF");
}

TEST(EncodingTest, Utf8) {
    EXPECT_TRUE(is_valid_utf8("aé你😀"));
    EXPECT_FALSE(is_valid_utf8("\xC0\x80"));
    EXPECT_FALSE(is_valid_utf8("\xED\xA0\x80"));
    EXPECT_FALSE(is_valid_utf8("\xF4\x90\x80\x80"));
    EXPECT_FALSE(is_valid_utf8("\xE4\xBD"));
}

TEST(HashTest, PublishedVectors) {
    EXPECT_EQ(murmur3_32("", 0), 0U);
    EXPECT_EQ(murmur3_32("hello", 0), 0x248bfa47U);
    const auto h = murmur3_128("hello", 0);
    EXPECT_EQ(h[0], 0xcbd8a7b341bd9b02ULL);
    EXPECT_EQ(h[1], 0x5b1e906a48ae1d19ULL);
    std::string input;
    for (char c = 0; c < 15; ++c) input.push_back(c);
    EXPECT_EQ(siphash({0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL}, input),
              0xa129ca6149be45e5ULL);
    EXPECT_EQ(siphash_1_3({0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL}, ""),
              0xabac0158050fc4dcULL);
}

TEST(HashTest, KeyedHashesTellTextsApart) {
    std::set<uint64_t> seen;
    std::string text;
    for (size_t size = 0; size <= 40; ++size) {
        text.assign(size, 'a');
        EXPECT_EQ(keyed_hash(text), keyed_hash(std::string(text))) << size;
        seen.insert(keyed_hash(text));
        for (size_t i = 0; i < size; ++i) {
            text[i] = 'b';
            EXPECT_TRUE(seen.insert(keyed_hash(text)).second) << size << " " << i;
            text[i] = 'a';
        }
        EXPECT_TRUE(seen.insert(keyed_hash(text, 1)).second) << size;
    }
    for (uint64_t word = 0; word < 1000; ++word)
        EXPECT_TRUE(seen.insert(keyed_hash(word, 2)).second);
    EXPECT_NE(keyed_hash_of_both(1, 2), keyed_hash_of_both(2, 1));
}

TEST(ClockTest, HttpDates) {
    EXPECT_EQ(format_http_date(1493254272), "Thu, 27 Apr 2017 00:51:12 GMT");
    EXPECT_EQ(parse_http_date("Thu, 27 Apr 2017 00:51:12 GMT"), 1493254272);
    EXPECT_EQ(parse_http_date("thu, 27 apr 2017 00:51:12 gmt"), 1493254272);
    EXPECT_EQ(parse_http_date("Thu, 31 Feb 2017 00:51:12 GMT"), std::nullopt);
    EXPECT_EQ(parse_http_date("2017-04-27"), std::nullopt);
}

TEST(RandomTest, GuidShape) {
    const std::string guid = random_guid();
    ASSERT_EQ(guid.size(), 36U);
    EXPECT_EQ(guid[14], '4');
    EXPECT_NE(guid, random_guid());
}

Result<int> half(int v) {
    if (v % 2 != 0) return errors::bad_request("odd");
    return v / 2;
}
Result<int> quarter(int v) {
    TRY(const int h, half(v));
    return half(h);
}

TEST(StatusTest, TryPropagates) {
    EXPECT_EQ(quarter(8).value(), 2);
    const auto failed = quarter(6);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, Code::kBadRequest);
}

TEST(WorkerPoolTest, RunsWhatIsQueuedAndDropsWhatComesLate) {
    std::atomic<int> ran = 0;
    WorkerPool workers("test", 2);
    for (int i = 0; i < 100; ++i) workers.post([&] { ++ran; });
    workers.stop();
    EXPECT_EQ(ran, 100);
    auto captured = std::make_shared<int>(1);
    workers.post([&ran, captured] { ++ran; });
    EXPECT_EQ(ran, 100);
    EXPECT_EQ(captured.use_count(), 1);  // destroyed, not kept
}

TEST(WorkerPoolTest, NumbersOfThreadsStayLegible) {
    for (const auto& [name, thread] :
         {std::pair{"test", "test0"}, {"a-pool-of-workers", "a-pool-of-wo0"}}) {
        std::string seen;
        WorkerPool workers(name, 1);
        workers.post([&] {
            char text[16] = {};
            pthread_getname_np(pthread_self(), text, sizeof text);
            seen = text;
        });
        workers.stop();
        EXPECT_EQ(seen, thread);
    }
}

TEST(SystemTest, ErrorsAndVariables) {
    EXPECT_EQ(errno_text(ENOENT), "No such file or directory");
    EXPECT_NE(environment_variable("PATH").value_or(""), "");
    EXPECT_FALSE(environment_variable("ORRERY_NO_SUCH_VARIABLE"));
}

}  // namespace
}  // namespace orrery
