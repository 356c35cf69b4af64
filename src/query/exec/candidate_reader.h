#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "partition/documents.h"
#include "query/exec/access.h"
#include "storage/light_view.h"

namespace orrery::query {

/// An item that may match, with its document.
struct Candidate {
    storage::Docref docref;
    std::string term;  ///< kTerms only
    bool certain = false;
    std::string_view document;  ///< until the reader goes on …
    json::Document decoded;     ///< … and what it says
};

/// Reads the items of a segment in the order of its access, a batch at a time. Skips what does not
/// belong to the range and what has expired. What a scan finds is shown where it lies.
class CandidateReader {
public:
    /// Where an earlier page left off; no docref: at the beginning.
    struct Start {
        std::string_view term;  ///< kTerms only
        std::string_view docref;
        bool inclusive = false;  ///< the item there is not done
    };
    /// All of them outlive this.
    CandidateReader(const PageScope& page, const Producer& producer, const Segment& segment,
                    Access access, const Start& start);

    /// The next one, until the call after; null at the end. Between two batches of up to
    /// `batch_max` it is a good moment for a look at the clock.
    Result<const Candidate*> next(size_t batch_max);
    bool is_between_batches() const { return batch_left_ == 0; }

    const Access& access() const { return access_; }
    uint64_t seen() const { return seen_; }
    /// Distinct values that a condition was tested on.
    uint64_t tested_terms() const {
        return entries_ ? entries_->tested_terms() : access_.tested_terms;
    }
    int64_t index_us() const { return index_us_; }
    int64_t load_us() const { return load_us_; }

private:
    Result<const Candidate*> next_scanned();
    Result<const Candidate*> next_read();
    void leave_scanned();
    bool next_docref(Candidate& out);
    Status gather(size_t max);
    bool are_neighbours() const;
    Status open_batch();
    Result<std::optional<std::string_view>> document_of(const Candidate& candidate);

    const PageScope& page_;
    const Segment& segment_;
    Access access_;
    const int64_t now_;
    std::unique_ptr<storage::Cursor> items_;  // kScan
    bool on_item_ = false;                    // … stands on one that was shown
    Candidate scanned_;
    std::optional<TestedPostings> entries_;  // kTerms
    const std::string resume_term_;
    const std::string resume_docref_;
    const bool resume_inclusive_;
    std::vector<Candidate> batch_;
    size_t batch_left_ = 0;
    bool gathered_all_ = false;
    std::unique_ptr<storage::Cursor> neighbours_;  // reads the batch in passing; null: `documents_`
    partition::Documents documents_;
    std::string key_;
    std::vector<storage::Docref> docrefs_;
    Status status_;
    uint64_t seen_ = 0;
    int64_t index_us_ = 0;
    int64_t load_us_ = 0;
};

/// Items and index agree in one view: an entry without an item is damage.
Error entry_without_item();

/// Whether a document belongs to a segment's range of keys and has not expired.
bool is_visible(const Segment& segment, int64_t now, const json::DocumentHeader& header);

}  // namespace orrery::query
