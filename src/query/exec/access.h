#pragma once

#include <optional>
#include <string>

#include "query/exec/condition_probe.h"
#include "query/plan/plan.h"
#include "query/plan/segments.h"

namespace orrery::query {

/// How the items of a segment are found.
struct Access {
    enum class Kind : uint8_t {
        kScan,    ///< every item
        kStream,  ///< docrefs from the index, ascending
        kTerms,   ///< entries of one path, in term order
    };
    Kind kind = Kind::kScan;
    DocrefStreamPtr stream;
    const Condition* terms = nullptr;
    /// The access alone decides the filter (for items that it calls certain).
    bool exact = false;
    uint64_t estimate = 0;      ///< candidates …
    bool counted = false;       ///< … exactly; otherwise at least so many
    uint64_t tested_terms = 0;  ///< not kTerms: distinct values that were tested for the choice
    std::string detail;         ///< what it reads, for people: empty where nobody asks
};

/// A segment with all that reading it needs, and facts about it. Everything is borrowed.
class SegmentFacts {
public:
    static Result<SegmentFacts> find(const PageScope& page, const Producer& producer,
                                     const IndexPlan& index, const Segment& segment);

    const PageScope& page;
    const IndexPlan& index;
    const Segment& segment;
    IndexReader reader;
    bool index_complete = true;  ///< no item is missing from the index
    /// Items of the segment's partition, or of its key. Read when first asked for.
    Result<uint64_t> items();
    /// The bytes of their texts, likewise.
    Result<uint64_t> bytes();

private:
    SegmentFacts(const PageScope& the_page, const Producer& producer, const IndexPlan& the_index,
                 const Segment& the_segment)
        : page(the_page),
          index(the_index),
          segment(the_segment),
          reader{producer, the_segment.scope, the_segment.settings().path_key} {}
    Status count();
    std::optional<storage::Count> count_;
};

/// What the items are for.
struct AccessWish {
    bool terms_allowed = false;  ///< they may leave in term order
    uint64_t count_cap = 0;      ///< of entries, for the choice
    bool only_counted = false;   ///< those of an index are of use only if their number is known
    uint64_t rows = UINT64_MAX;  ///< that are wanted at most …
    /// … and on one page. The next one finds its items by itself.
    uint64_t page_rows = UINT64_MAX;
};

/// Chooses by counting entries. What it says in words is empty where nobody asks.
Result<Access> choose_access(SegmentFacts& facts, const AccessWish& wish);

}  // namespace orrery::query
