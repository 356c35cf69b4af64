#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "query/exec/docref_stream.h"
#include "query/exec/documents.h"
#include "query/exec/row_maker.h"
#include "query/page.h"
#include "query/plan/position.h"
#include "storage/light_view.h"

namespace orrery::query {

/// The part of a query's range that lies in one partition, or a piece of it.
struct Segment {
    size_t partition = 0;       ///< index in PageRequest::partitions
    partition::EpkRange range;  ///< items outside do not belong to it
    index::PostingScope scope;  ///< entries that may belong to it
    bool whole_partition = false;
    bool one_key = false;  ///< one key, or one prefix of hierarchical keys: a short run of items
    bool resumed = false;  ///< an earlier page left off in it, here:
    bool scanned = false;  ///< … and read its items one after the other
    std::string resume_term;
    std::string resume_docref;
    uint64_t resume_rows = 0;
};

/// The range cut at partition borders and around the segment in progress; what is done is left out.
std::vector<Segment> segments_of(const PageRequest& request, const Position& position);

/// What a condition looks up, for people.
std::string condition_text(const Condition& condition);

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
    /// The access alone decides the WHERE clause (for items that it calls certain).
    bool exact = false;
    uint64_t estimate = 0;      ///< candidates …
    bool counted = false;       ///< … exactly; otherwise at least so many
    uint64_t tested_terms = 0;  ///< not kTerms: distinct values that were tested for the choice
    std::string detail;
};

/// What the access reads, for people: empty where nobody asks.
std::string detail_of(const PageRequest& request, const Access& access, const Segment& segment);

/// Facts about a segment that the choice needs.
class SegmentFacts {
public:
    SegmentFacts(const PageRequest& request, const Segment& segment)
        : request_(&request), segment_(&segment) {}
    bool index_complete = true;  ///< no item is missing from the index
    /// Items of the segment's partition, or of its key. Read when first asked for.
    Result<uint64_t> items();
    /// The bytes of their texts, likewise.
    Result<uint64_t> bytes();

private:
    Status count();
    const PageRequest* request_;
    const Segment* segment_;
    std::optional<storage::Count> count_;
};
Result<SegmentFacts> facts_of(const PageRequest& request, const Segment& segment);

/// What the items are for.
struct AccessWish {
    bool terms_allowed = false;  ///< they may leave in term order
    uint64_t count_cap = 0;      ///< of entries, for the choice
    bool only_counted = false;   ///< those of an index are of use only if their number is known
    uint64_t rows = UINT64_MAX;  ///< that are wanted at most …
    /// … and on one page. The next one finds its items by itself.
    uint64_t page_rows = UINT64_MAX;
};

/// Chooses by counting entries.
Result<Access> choose_access(const PageRequest& request, const Segment& segment,
                             SegmentFacts& facts, const Filter& filter, const AccessWish& wish);

/// Whether tests that walk so many paths may cost more than reading every item.
bool are_many_walks(uint64_t walks);

/// A candidate with its document.
struct Candidate {
    storage::Docref docref;
    std::string term;  ///< kTerms only
    bool certain = false;
    std::string_view document;  ///< until the reader goes on …
    json::Document decoded;     ///< … and what it says
};

/// Reads the items of a segment in the order of its access, a batch at a time. Skips what does not
/// belong to the range and what has expired.
class CandidateReader {
public:
    /// Where an earlier page left off; no docref: at the beginning.
    struct Start {
        std::string_view term;  ///< kTerms only
        std::string_view docref;
        bool inclusive = false;  ///< the item there is not done
    };
    CandidateReader(const PageRequest& request, const Segment& segment, Access access,
                    const Start& start);
    /// Gives up to `max` candidates to `use` until that says no more (then the reader is done
    /// with); false at the end. What a scan finds is used where it lies.
    using Use = std::function<Result<bool>(const Candidate&)>;
    Result<bool> each(size_t max, const Use& use);
    const Access& access() const { return access_; }
    uint64_t seen() const { return seen_; }
    /// Distinct values that a condition was tested on.
    uint64_t tested_terms() const {
        return entries_ ? entries_->tested_terms() : access_.tested_terms;
    }
    int64_t index_us() const { return index_us_; }
    int64_t load_us() const { return load_us_; }

private:
    Result<bool> each_scanned(size_t max, const Use& use);
    bool next_docref(Candidate& out);
    Result<bool> gather(size_t max);
    bool are_neighbours() const;
    Result<bool> each_neighbour(const Use& use);
    Result<bool> each_fetched(const Use& use);

    const PageRequest& request_;
    const Segment& segment_;
    Access access_;
    const int64_t now_;
    std::unique_ptr<storage::Cursor> items_;  // kScan
    std::optional<TestedPostings> entries_;   // kTerms
    const std::string resume_term_;
    const std::string resume_docref_;
    const bool resume_inclusive_;
    std::vector<Candidate> batch_;
    bool gathered_all_ = false;
    Documents documents_;
    std::vector<storage::Docref> docrefs_;
    Status status_;
    uint64_t seen_ = 0;
    int64_t index_us_ = 0;
    int64_t load_us_ = 0;
};

/// Whether a document belongs to a segment's range of keys and has not expired.
bool is_visible(const PageRequest& request, const Segment& segment, int64_t now,
                const json::DocumentHeader& header);

}  // namespace orrery::query
