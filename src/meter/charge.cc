#include "meter/charge.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

namespace orrery::meter {
namespace {

// Prices in u. One micro-RU is 21 u.
constexpr int64_t kUnitsPerMicroRu = kUnitsPerRu / 1'000'000;
constexpr int64_t kQueryBase = 2'250'000 * kUnitsPerMicroRu;
constexpr int64_t kFirstSeek = 540'000 * kUnitsPerMicroRu;
constexpr int64_t kFurtherSeek = 119'000 * kUnitsPerMicroRu;
constexpr int64_t kLoadedItem = 12'500 * kUnitsPerMicroRu;
constexpr int64_t kIndexEntry = 500 * kUnitsPerMicroRu;
constexpr int64_t kJoinTuple = 10'000 * kUnitsPerMicroRu;
constexpr int64_t kUdfCall = 10'000 * kUnitsPerMicroRu;
constexpr int64_t kPatchOperation = 400'000 * kUnitsPerMicroRu;
constexpr int64_t kStoredProcedure = 4'600'000 * kUnitsPerMicroRu;
constexpr int64_t kTrigger = 2'000'000 * kUnitsPerMicroRu;
constexpr int64_t kLoadedKilobyte = 178'500;
constexpr int64_t kReturnedKilobyte = 630'000;

// And in quanta.
constexpr int64_t kTerm = 4;
constexpr int64_t kFeedPageMin = 21;
constexpr int64_t kMetadataRead = 21;
constexpr int64_t kMetadataWrite = 104;
constexpr int64_t kScriptWrite = 132;
constexpr int64_t kCheapFailure = 21;
constexpr int64_t kConflict = 26;
constexpr int64_t kThrottled = 8;

struct Anchor {
    int64_t bytes;
    int64_t price;
};
constexpr int64_t kKilobyte = 1024;
constexpr std::array<Anchor, 12> kRead = {{{1 * kKilobyte, 21},
                                           {2 * kKilobyte, 22},
                                           {4 * kKilobyte, 24},
                                           {8 * kKilobyte, 28},
                                           {16 * kKilobyte, 35},
                                           {32 * kKilobyte, 46},
                                           {64 * kKilobyte, 100},
                                           {128 * kKilobyte, 209},
                                           {256 * kKilobyte, 426},
                                           {512 * kKilobyte, 860},
                                           {1024 * kKilobyte, 3064},
                                           {2048 * kKilobyte, 6128}}};
/// Up to 512 KB a write moves in steps of four quanta ...
constexpr std::array<Anchor, 10> kWriteSteps = {{{1 * kKilobyte, 26},
                                                 {2 * kKilobyte, 33},
                                                 {4 * kKilobyte, 35},
                                                 {8 * kKilobyte, 37},
                                                 {16 * kKilobyte, 50},
                                                 {32 * kKilobyte, 59},
                                                 {64 * kKilobyte, 119},
                                                 {128 * kKilobyte, 253},
                                                 {256 * kKilobyte, 516},
                                                 {512 * kKilobyte, 969}}};
constexpr int64_t kQuantaPerWriteStep = 4;
/// ... above in single quanta.
constexpr std::array<Anchor, 3> kLargeWrite = {
    {{512 * kKilobyte, 3876}, {1024 * kKilobyte, 13125}, {2048 * kKilobyte, 26250}}};

/// Far above every item, small enough that no product overflows.
constexpr uint64_t kBytesMax = uint64_t{1} << 40;

/// Linear between anchors, rounded up; the last segment goes on beyond the last anchor.
template <size_t N>
int64_t interpolate(const std::array<Anchor, N>& anchors, uint64_t item_bytes) {
    const auto bytes = static_cast<int64_t>(std::min(item_bytes, kBytesMax));
    if (bytes <= anchors.front().bytes) return anchors.front().price;
    size_t i = 1;
    while (i + 1 < N && bytes > anchors[i].bytes) ++i;
    const Anchor& low = anchors[i - 1];
    const Anchor& high = anchors[i];
    const int64_t width = high.bytes - low.bytes;
    return low.price + ((bytes - low.bytes) * (high.price - low.price) + width - 1) / width;
}

int64_t term_quanta(uint64_t terms) {
    return kTerm * static_cast<int64_t>(terms);
}

int64_t times(int64_t price, uint64_t count) {
    return price * static_cast<int64_t>(count);
}

}  // namespace

std::string ru_text(Charge charge) {
    constexpr int64_t kUnitsPerHundredth = kUnitsPerRu / 100;
    const int64_t hundredths = (charge.units + kUnitsPerHundredth / 2) / kUnitsPerHundredth;
    const fmt::format_int whole(hundredths / 100);
    std::string text(whole.data(), whole.size());
    text.push_back('.');
    text.push_back(static_cast<char>('0' + hundredths % 100 / 10));
    text.push_back(static_cast<char>('0' + hundredths % 10));
    return text;
}

double ru_value(Charge charge) {
    return static_cast<double>(charge.units) / static_cast<double>(kUnitsPerRu);
}

Charge from_quanta(int64_t quanta) {
    return {quanta * kUnitsPerQuantum};
}

int64_t read_quanta(uint64_t item_bytes) {
    return interpolate(kRead, item_bytes);
}

int64_t write_quanta(uint64_t item_bytes) {
    if (item_bytes <= static_cast<uint64_t>(kWriteSteps.back().bytes))
        return kQuantaPerWriteStep * interpolate(kWriteSteps, item_bytes);
    return interpolate(kLargeWrite, item_bytes);
}

Charge point_read(uint64_t item_bytes) {
    return from_quanta(read_quanta(item_bytes));
}

Charge create(uint64_t item_bytes, uint64_t terms) {
    return from_quanta(write_quanta(item_bytes) + term_quanta(terms));
}

Charge replace(uint64_t old_bytes, uint64_t new_bytes, uint64_t terms_removed,
               uint64_t terms_added) {
    return from_quanta(write_quanta(old_bytes) + write_quanta(new_bytes) +
                       term_quanta(terms_removed + terms_added));
}

Charge patch(uint64_t old_bytes, uint64_t new_bytes, uint64_t terms_removed, uint64_t terms_added,
             uint32_t operations) {
    return replace(old_bytes, new_bytes, terms_removed, terms_added) +
           Charge{times(kPatchOperation, operations)};
}

Charge remove(uint64_t item_bytes, uint64_t terms) {
    return create(item_bytes, terms);
}

Charge feed_page(int64_t read_quanta_sum) {
    return from_quanta(std::max(kFeedPageMin, read_quanta_sum));
}

Charge query_partition(const QueryWork& work) {
    int64_t units = kQueryBase;
    if (work.seeks > 0) units += kFirstSeek + times(kFurtherSeek, work.seeks - 1);
    units += times(kLoadedItem, work.loaded_items);
    units += times(kIndexEntry, work.index_entries);
    units += times(kJoinTuple, work.join_tuples);
    units += times(kUdfCall, work.udf_calls);
    return {units};
}

Charge query_bytes(uint64_t loaded_bytes, uint64_t returned_bytes) {
    return {(times(kLoadedKilobyte, loaded_bytes) + times(kReturnedKilobyte, returned_bytes)) /
            kKilobyte};
}

Charge stored_procedure_run() {
    return {kStoredProcedure};
}
Charge trigger_run() {
    return {kTrigger};
}
Charge strong_read(Charge read) {
    return read + read;
}

Charge metadata_read() {
    return from_quanta(kMetadataRead);
}
Charge metadata_write() {
    return from_quanta(kMetadataWrite);
}
Charge script_write() {
    return from_quanta(kScriptWrite);
}

Charge failure(int http_status, int sub_status) {
    constexpr int kPartitionFull = 1014;
    switch (http_status) {
        case 304:
        case 400:
        case 404:
        case 413:
            return from_quanta(kCheapFailure);
        case 403:
            return from_quanta(sub_status == kPartitionFull ? kCheapFailure : 0);
        case 409:
        case 412:
        case 449:
            return from_quanta(kConflict);
        case 429:
            return from_quanta(kThrottled);
        default:
            return {};
    }
}

}  // namespace orrery::meter
