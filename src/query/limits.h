#pragma once

#include <cstddef>
#include <cstdint>

/// What one query may ask for. Each violation is a bad request; each limit has tests at and above
/// it.
namespace orrery::query::limits {

inline constexpr size_t kTextBytesMax = 524'288;
/// Nesting of constructors, calls, operators and subqueries, taken together. Every walk over a
/// syntax tree recurses at most a few frames per level. Parentheses that only open on the left, as
/// generated queries have them by the thousand, do not count.
inline constexpr uint32_t kDepthMax = 256;
inline constexpr uint32_t kJoinsMax = 10;
inline constexpr uint32_t kUdfReferencesMax = 10;
inline constexpr uint32_t kInListMax = 16'000;
inline constexpr uint64_t kCountMax = 4'294'967'295;  ///< TOP, OFFSET, LIMIT
inline constexpr uint32_t kReplicateCharactersMax = 10'000;

/// Iterated array elements, produced rows and visited values while one item is evaluated.
inline constexpr uint64_t kWorkPerItemMax = 20'000'000;
/// Steps that are each bounded by the item's size can still add up: a page must end.
inline constexpr int64_t kItemMicrosMax = 10'000'000;
/// What one item's evaluation may allocate.
inline constexpr size_t kEvaluationBytesMax = size_t{64} << 20;
/// The JSON size of one computed array or object (values share parts, so memory is no bound).
inline constexpr size_t kValueBytesMax = size_t{16} << 20;
/// What DISTINCT, ORDER BY, GROUP BY and aggregates of one query run may retain.
inline constexpr size_t kRetainedBytesMax = size_t{256} << 20;
/// What all of them together may retain; a run that asks for more is refused and may try again.
inline constexpr size_t kRetainedTotalBytesMax = size_t{1} << 30;
/// Items that a sort keeps at hand; further ones are read again when they are shown.
inline constexpr size_t kSortedDocumentBytesMax = size_t{16} << 20;

/// Compiled queries kept by text.
inline constexpr size_t kCacheEntries = 512;
inline constexpr size_t kCacheTextBytesMax = size_t{16} << 20;
/// More key combinations than this are not worth point reads.
inline constexpr size_t kPointCandidatesMax = 16'384;

}  // namespace orrery::query::limits
