#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace orrery::query {

/// Where a page ended. Holds keys of the data, no partition ids: survives restart, split and merge.
struct Position {
    enum class Order : uint8_t {
        kStart,    ///< nothing is done yet
        kDocref,   ///< items in docref order
        kTerms,    ///< entries of one path in (term, docref) order, one segment after the other
        kSorted,   ///< ORDER BY: (sort term, docref) over all partitions
        kWhole,    ///< the result is computed whole: `emitted` rows of it went out (whole_rows.h)
        kScan,     ///< as kDocref, every item was read: the next page goes on so
        kPrimary,  ///< (EPK, id), in `segment_min` and `term`
    };
    Order order = Order::kStart;
    /// kDocref, kScan, kTerms: the EPKs of the segment in progress; those before are done.
    std::string segment_min;
    std::string segment_max;
    uint64_t path = 0;  ///< kTerms: hash of the path
    std::string term;   ///< kTerms, kSorted
    /// kSorted, where the term is cut: the first bytes of the whole key, in case the item changes.
    std::string key;
    std::string docref;  ///< last item reached
    /// > 0: so many rows of that item are out, it is not done; 0: it is done.
    uint64_t item_rows = 0;
    /// kDocref, kScan, kTerms: a split may cut the segment in progress. Its further pieces stand
    /// where it stood then; each begins where the one before ends, the first at segment_max.
    struct Piece {
        std::string max;
        std::string term;
        std::string docref;
        uint64_t item_rows = 0;
    };
    std::vector<Piece> pieces;
    uint64_t skipped = 0;  ///< rows that OFFSET has taken
    uint64_t emitted = 0;  ///< rows that count for TOP and LIMIT

    std::string encode() const;
    static Result<Position> decode(std::string_view bytes);
};

}  // namespace orrery::query
