#include "meter/charge.h"

#include "base/errors.h"

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

// Prices in quanta.
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
constexpr uint64_t kClassicBytesMax = uint64_t{1} << 32;

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

/// The figures of old spreadsheets, in u. Beyond the last anchor the price grows with the size.
constexpr std::array<Anchor, 4> kClassicRead = {{{1 * kKilobyte, 1 * kUnitsPerRu},
                                                 {4 * kKilobyte, 13 * kUnitsPerRu / 10},
                                                 {64 * kKilobyte, 10 * kUnitsPerRu},
                                                 {100 * kKilobyte, 10 * kUnitsPerRu}}};
constexpr std::array<Anchor, 4> kClassicWrite = {{{1 * kKilobyte, 5 * kUnitsPerRu},
                                                  {4 * kKilobyte, 7 * kUnitsPerRu},
                                                  {64 * kKilobyte, 48 * kUnitsPerRu},
                                                  {100 * kKilobyte, 50 * kUnitsPerRu}}};

int64_t classic(const std::array<Anchor, 4>& anchors, uint64_t item_bytes) {
    const auto bytes = static_cast<int64_t>(std::min(item_bytes, kClassicBytesMax));
    if (bytes <= anchors.back().bytes) return interpolate(anchors, item_bytes);
    return (bytes * anchors.back().price + anchors.back().bytes - 1) / anchors.back().bytes;
}

int64_t times(int64_t price, uint64_t count) {
    return price * static_cast<int64_t>(count);
}

/// Books a term: every price is made by adding up what this returns.
int64_t book(const Pricing& pricing, std::string_view term, uint64_t count, int64_t units) {
    if (pricing.bill != nullptr && (units != 0 || count != 0))
        pricing.bill->add(term, count, units);
    return units;
}

int64_t write_term(const Pricing& pricing, std::string_view term, uint64_t bytes) {
    const int64_t units = pricing.profile == ChargeProfile::kClassic
                              ? classic(kClassicWrite, bytes)
                              : write_quanta(bytes) * kUnitsPerQuantum;
    return book(pricing, term, bytes, units);
}

int64_t index_terms(const Pricing& pricing, std::string_view term, uint64_t terms) {
    return book(pricing, term, terms, times(kTerm * kUnitsPerQuantum, terms));
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

Charge point_read(uint64_t item_bytes, const Pricing& pricing) {
    const int64_t units = pricing.profile == ChargeProfile::kClassic
                              ? classic(kClassicRead, item_bytes)
                              : read_quanta(item_bytes) * kUnitsPerQuantum;
    return {book(pricing, "readBytes", item_bytes, units)};
}

Charge create(uint64_t item_bytes, uint64_t terms, const Pricing& pricing) {
    return {write_term(pricing, "writeBytes", item_bytes) +
            index_terms(pricing, "termsAdded", terms)};
}

Charge replace(uint64_t old_bytes, uint64_t new_bytes, uint64_t terms_removed, uint64_t terms_added,
               const Pricing& pricing) {
    Charge charge;
    charge.units += write_term(pricing, "replacedBytes", old_bytes);
    charge.units += write_term(pricing, "writeBytes", new_bytes);
    charge.units += index_terms(pricing, "termsRemoved", terms_removed);
    charge.units += index_terms(pricing, "termsAdded", terms_added);
    return charge;
}

Charge patch(uint64_t old_bytes, uint64_t new_bytes, uint64_t terms_removed, uint64_t terms_added,
             uint32_t operations, const Pricing& pricing) {
    // Terms are booked in the order in which people read them.
    Charge charge = replace(old_bytes, new_bytes, terms_removed, terms_added, pricing);
    charge.units +=
        book(pricing, "patchOperations", operations, times(kPatchOperation, operations));
    return charge;
}

Charge remove(uint64_t item_bytes, uint64_t terms, const Pricing& pricing) {
    return {write_term(pricing, "deletedBytes", item_bytes) +
            index_terms(pricing, "termsRemoved", terms)};
}

Charge feed_page(Charge items, const Pricing& pricing) {
    const int64_t least = kFeedPageMin * kUnitsPerQuantum;
    if (items.units >= least) return items;
    return {items.units + book(pricing, "leastOfAPage", 1, least - items.units)};
}

Charge index_change(uint64_t terms, const Pricing& pricing) {
    return {index_terms(pricing, "termsChanged", terms)};
}

Charge query_partition(const QueryWork& work, const Pricing& pricing) {
    int64_t units = book(pricing, "compileAndRun", 1, kQueryBase);
    if (work.seeks > 0) {
        units += book(pricing, "firstSeek", 1, kFirstSeek);
        units += book(pricing, "furtherSeeks", work.seeks - 1, times(kFurtherSeek, work.seeks - 1));
    }
    units += book(pricing, "loadedItems", work.loaded_items, times(kLoadedItem, work.loaded_items));
    units +=
        book(pricing, "indexEntries", work.index_entries, times(kIndexEntry, work.index_entries));
    units += book(pricing, "joinTuples", work.join_tuples, times(kJoinTuple, work.join_tuples));
    units += book(pricing, "udfCalls", work.udf_calls, times(kUdfCall, work.udf_calls));
    return {units};
}

Charge query_bytes(uint64_t loaded_bytes, uint64_t returned_bytes, const Pricing& pricing) {
    const int64_t loaded = times(kLoadedKilobyte, loaded_bytes);
    const int64_t both = (loaded + times(kReturnedKilobyte, returned_bytes)) / kKilobyte;
    // The sum is divided once: the remainder of the first term goes to the second.
    return {book(pricing, "loadedBytes", loaded_bytes, loaded / kKilobyte) +
            book(pricing, "returnedBytes", returned_bytes, both - loaded / kKilobyte)};
}

Charge stored_procedure_run(const Pricing& pricing) {
    return {book(pricing, "storedProcedure", 1, kStoredProcedure)};
}
Charge trigger_run(const Pricing& pricing) {
    return {book(pricing, "trigger", 1, kTrigger)};
}
Charge strong_read(Charge read, const Pricing& pricing) {
    return read + Charge{book(pricing, "strongConsistency", 1, read.units)};
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

namespace {

int64_t failure_quanta(Code code) {
    if (errors::is_bad_request(code) || errors::is_absence(code)) return kCheapFailure;
    if (errors::is_duplicate(code)) return kConflict;
    if (errors::is_rate_limit(code)) return kThrottled;
    switch (code) {
        case Code::kLogicalPartitionFull:
        case Code::kEntityTooLarge:
        case Code::kBatchResponseTooLarge:
        case Code::kScriptMemory:
        case Code::kScriptAnswerTooLarge:
        case Code::kMemoryLimit:
        case Code::kTransactionGone:
        case Code::kCursorGone:
            return kCheapFailure;
        case Code::kPreconditionFailed:
        case Code::kPatchConditionFailed:
        case Code::kRetryWith:
        case Code::kWriteConflict:
            return kConflict;
        default:
            return 0;
    }
}

}  // namespace

Charge failure(Code code, const Pricing& pricing) {
    return {book(pricing, "failure", 1, failure_quanta(code) * kUnitsPerQuantum)};
}

Charge not_modified(const Pricing& pricing) {
    return {book(pricing, "notModified", 1, kCheapFailure * kUnitsPerQuantum)};
}

}  // namespace orrery::meter
