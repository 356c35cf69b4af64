#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "query/exec/candidate_reader.h"
#include "query/exec/page.h"
#include "query/exec/retained.h"
#include "query/limits.h"

namespace orrery::query {

/// An item in its place: keys compare as bytes.
struct Placed {
    std::string key;   ///< uncut
    std::string term;  ///< as in the index
    storage::Docref docref;
    partition::DocumentPtr document;  ///< null: it is read again when it is shown
    bool undecided = false;           ///< `key` is not known yet
    bool certain = false;             ///< the index has decided the WHERE clause
    size_t row_count = 0;
    bool silent = false;  ///< it has no rows, but was read to find that out
    bool passed = true;   ///< WHERE let something of it pass
    uint64_t bytes = 0;   ///< of its text
    /// Without the document.
    size_t memory() const { return sizeof(Placed) + key.size() + term.size(); }
};

/// Entries that a walk takes together at most.
inline constexpr size_t kWalkedAtOnce = 128;
/// Items that are read in passing between two looks at the clock.
inline constexpr size_t kScannedAtOnce = 256;

/// The order of the result.
class Before {
public:
    explicit Before(const SortOrder& order) : order_(order) {}
    int compare(std::string_view key_a, const storage::Docref& a, std::string_view key_b,
                const storage::Docref& b) const {
        const int keys = key_a.compare(key_b);
        if (keys != 0) return order_.backward ? -keys : keys;
        if (order_.by_rid) {
            if (a.item_number() == b.item_number()) return 0;
            return (a.item_number() < b.item_number()) != order_.rid_descending ? -1 : 1;
        }
        const int docrefs = a.bytes().compare(b.bytes());
        return order_.backward ? -docrefs : docrefs;
    }
    bool operator()(const Placed& a, const Placed& b) const {
        return compare(a.key, a.docref, b.key, b.docref) < 0;
    }

private:
    const SortOrder& order_;
};

/// Where an ordered page goes on.
struct OrderedStart {
    Position position;
    std::string key;  ///< uncut, of the position's item

    bool resumes() const { return position.order == Position::Order::kSorted; }
};

/// The place of the item in hand; `cut`: as its index entry says it.
std::string sort_key(RowMaker& rows, const SortOrder& order, bool cut);

/// The matching items of one segment in order, from the position on. Owned by one thread.
class OrderedSegment {
public:
    /// All outlive this.
    OrderedSegment(Page& page, const OrderedStart& start, Segment segment)
        : page_(page),
          start_(start),
          segment_(std::move(segment)),
          index_(page.plan.of(segment_.partition)),
          rows_(page.rows_of(segment_.partition)) {
        report_.partition = segment_.partition;
    }

    /// `share`: rows that are likely to come from here.
    Status open(uint64_t rows_wanted, uint64_t share);
    /// Makes head() the next item; false at the end.
    Result<bool> advance();
    const Placed& head() const { return ready_.front(); }
    void pop() { ready_.pop_front(); }
    /// Once per head.
    Result<partition::DocumentPtr> document_of_head();
    bool empty() const { return ready_.empty(); }
    size_t partition() const { return segment_.partition; }
    bool at_end() const { return ready_.empty() && (sorted_ || stage_ == Stage::kEnd); }
    /// How far a segment has looked that ran out of time.
    struct Frontier {
        std::string term;
        std::string key;
        std::string docref;
    };
    const Frontier& frontier() const { return frontier_; }
    /// Adds what was done in the segment to the page's account.
    void tell();

private:
    const SortOrder& order() const { return index_.order; }
    bool may_walk_run(const SegmentFacts& facts) const;
    Result<bool> walks_run(SegmentFacts& facts, uint64_t rows_wanted);
    bool look_at_filter();
    Result<std::optional<Access>> sorts_instead(SegmentFacts& facts, uint64_t rows_wanted);
    void begin_walk();
    Status sort_all(Access access, uint64_t rows_wanted);
    Status walk();
    Status scan_undefined();
    void open_undefined();
    void open_range();
    /// Loads candidates, keeps those that match and come after the position.
    Status keep_matching(std::vector<Placed> candidates, bool sort);
    Status keep_matching(std::span<Placed> candidates);
    bool may_keep(size_t document_bytes) const;
    Status hold(const Placed& placed);
    void let_go(const Placed& placed);
    Result<bool> matches(const json::Document& document, Placed& placed);
    bool after_position(const Placed& item) const;

    enum class Stage : uint8_t { kUndefined, kWalk, kEnd };

    AccessReport report_;
    AccessReport undefined_report_;  ///< of the scan for items that lack the key
    int64_t index_us_ = 0;
    int64_t load_us_ = 0;
    Frontier frontier_;
    Page& page_;
    const OrderedStart& start_;
    const Segment segment_;
    const IndexPlan& index_;
    RowMaker& rows_;
    std::deque<Placed> ready_;
    Retained retained_;
    size_t document_bytes_ = 0;  ///< of items that wait to be shown: those that are kept at hand …
    size_t placed_bytes_ = 0;    ///< … and the rest of what is kept of all
    bool sorted_ = false;        ///< everything is in ready_
    Stage stage_ = Stage::kWalk;
    std::unique_ptr<CandidateReader> scan_;
    std::optional<index::Postings> postings_;
    std::vector<index::TermRange> ranges_;  ///< of the walk, ascending
    bool needs_undefined_ = false;          ///< items without the key have no entry in them
    size_t range_ = 0;
    size_t batch_ = 8;
    bool walk_decides_ = false;  ///< entries of the walk that are not partial match, one row each
    std::optional<DocrefSet> members_;  ///< docrefs that can match
};

}  // namespace orrery::query
