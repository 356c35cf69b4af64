#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

/// The cost model: what makes one way of finding items better than another, and how much is spent
/// on finding that out. All of it follows from the data, never from what memory holds or a clock
/// says.
namespace orrery::query::cost {

/// Relative costs, measured on 1 KB items: reading an item where the scan stands, looking at an
/// entry, fetching an item by its docref.
inline constexpr uint64_t kScan = 10;
inline constexpr uint64_t kEntry = 3;
inline constexpr uint64_t kFetch = 60;

// --- counting -----------------------------------------------------------------------------------

/// Entries that are counted at most.
inline constexpr uint64_t kCountMax = 65'536;
/// … at first, and how the limit grows.
inline constexpr uint64_t kFirstCap = 128;
inline constexpr uint64_t kCapGrowth = 8;
/// The same where several single values are combined: their intersection is tried before counting
/// goes on.
inline constexpr uint64_t kFirstCapToMeet = 16;
/// Entries that are spent on finding out where several values meet.
inline constexpr uint64_t kIntersectionSteps = 4096;
/// So few items are fetched without further look-ups.
inline constexpr uint64_t kFetchedAtOnce = 2;
/// Entries from which the number of all can be told.
inline constexpr uint64_t kSampleMin = 1024;
/// Docrefs of one range that a page may hold: 64 MB.
inline constexpr uint64_t kListMax = 1'000'000;

/// Long counting does not pay for a page of few rows.
inline uint64_t count_cap(uint64_t rows_wanted) {
    return rows_wanted < kCountMax / 32 ? 256 + 32 * rows_wanted : kCountMax;
}
/// From so many entries on, reading every item costs less than fetching those that they name.
inline uint64_t entries_worth_fetching(uint64_t items) {
    return items * kScan / (kFetch + kEntry) + 1;
}
/// Whether looking an item up in a second list costs less than fetching it. `driving`: items that
/// would be fetched. Worth it if the item is likely to be missing there.
inline bool is_short_beside(uint64_t entries, uint64_t driving) {
    return entries < 20 * (driving + 1);
}
inline bool is_rare(uint64_t entries, uint64_t items) {
    return entries * 2 < items;
}

// --- conditions that are tested on every value of a path ---------------------------------------

/// Whether tests that walk so many paths may cost more than reading every item.
inline bool are_many_walks(uint64_t walks) {
    return walks * kEntry >= kScan;
}
/// Many walks end where they have cost half of what reading every item costs.
inline uint64_t walk_steps_max(uint64_t items) {
    return items * kScan / kEntry / 2;
}

/// What is known of an OR some of whose parts are tests.
struct Union {
    uint64_t steps = 0;               ///< entries that were looked at
    uint64_t matches = 0;             ///< items that were found so
    bool known = false;               ///< those are all
    uint64_t walks = 0;               ///< paths that are walked
    uint64_t rows = UINT64_MAX;       ///< that are wanted …
    uint64_t page_rows = UINT64_MAX;  ///< … and on one page
};
/// Whether its items are found for less than what reading every item costs. What was read to count
/// is paid for; but every further page walks the paths again.
inline bool is_union_worth(const Union& found, uint64_t items) {
    const auto all = static_cast<double>(items);
    const auto done = static_cast<double>(found.steps);
    double walk = done;
    auto matches = static_cast<double>(found.matches);
    if (!found.known) {
        walk = std::max(walk, static_cast<double>(found.walks) * all);
        matches = std::min(all, matches * walk / std::max(done, 1.0));
    }
    const double rows = std::min(matches, static_cast<double>(found.rows));
    const double pages = std::max(1.0, std::ceil(rows / static_cast<double>(found.page_rows)));
    const double cost = (pages * walk - done) * kEntry + rows * kFetch;
    return cost < all * kScan * rows / std::max(matches, 1.0) || rows == 0;
}

// --- orders of the index ------------------------------------------------------------------------

/// Sorted items whose documents are kept; of more, those that are shown are read again.
inline constexpr uint64_t kSortedDocumentsMax = 2'000;

/// Matches that are counted where a walk in order is possible: counting stops where what it costs
/// is what the walk would cost at most.
inline uint64_t count_cap_beside_walk(uint64_t rows_wanted, uint64_t items) {
    const double balance =
        20.0 * static_cast<double>(std::min(rows_wanted, items)) * static_cast<double>(items);
    return std::clamp<uint64_t>(static_cast<uint64_t>(std::sqrt(balance)), 256, kCountMax);
}

/// Sort the matches; walk the index in order; walk it and look entries up among the matches.
enum class InOrder : uint8_t { kSort, kWalk, kWalkMembers };
/// The walk looks at wanted/selectivity entries, the sort fetches every match.
inline InOrder cheapest_order(uint64_t rows_wanted, uint64_t counted, uint64_t items) {
    const uint64_t matches = std::max<uint64_t>(1, counted);
    const uint64_t wanted = std::min(rows_wanted, matches);
    const uint64_t visited = std::min(items, wanted * (items / matches + 1));
    const uint64_t sort = matches * (kFetch + kEntry);
    const uint64_t walk = visited * (kFetch + kEntry);
    const uint64_t members = matches * kEntry + visited * kEntry + wanted * kFetch;
    if (sort <= walk && sort <= members) return InOrder::kSort;
    return members < walk ? InOrder::kWalkMembers : InOrder::kWalk;
}

// --- one key ------------------------------------------------------------------------------------

/// Items of a key that has runs, and their bytes. With more, a run takes long to make and is rarely
/// worth its memory; making one is not interrupted.
inline constexpr uint64_t kRunItemsMax = 20'000;
inline constexpr uint64_t kRunBytesMax = 32 << 20;
/// Paths of one query. Each further path makes the pass over the items half as long again and takes
/// memory for every item, whether it has the path or not.
inline constexpr size_t kRunPathsMax = 4;
/// Whether so many rows of a run are a small part of the key's items. Reading most of them one by
/// one takes longer than sorting all.
inline bool is_small_part(uint64_t rows, uint64_t items) {
    return rows < kListMax && rows * kFetch <= 2 * items * kScan;
}
/// Asking many items for values that a run does not tell takes longer than reading all in passing.
inline bool are_untold_few(uint64_t untold, uint64_t entries) {
    return untold <= entries / 8;
}
/// A logical partition with fewer items is read faster than the index of the whole partition, where
/// its paths have no runs.
inline constexpr uint64_t kSmallKey = 20'000;

// --- answers without items ----------------------------------------------------------------------

/// Expired items that are not yet removed; more of them, and the items are read instead.
inline constexpr size_t kExpiredMax = 1000;
/// Values that the index does not know whole; more of them, and the entries are walked.
inline constexpr size_t kPartialMax = 256;

}  // namespace orrery::query::cost
