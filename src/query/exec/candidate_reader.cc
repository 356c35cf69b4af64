// Reading the items of a segment, as its access finds them.
#include "query/exec/candidate_reader.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/errors.h"
#include "partition/expiry.h"

namespace orrery::query {

using storage::Docref;

// A partition has no items but those of its range.
bool is_visible(const Segment& segment, int64_t now, const json::DocumentHeader& header) {
    return (segment.whole_partition || segment.range.contains(header.epk)) &&
           !partition::is_expired(segment.settings().default_ttl, header.ts, header.own_ttl, now);
}

CandidateReader::CandidateReader(const PageScope& page, const Producer& producer,
                                 const Segment& segment, Access access, const Start& start)
    : page_(page),
      segment_(segment),
      access_(std::move(access)),
      now_(page.clock.wall_seconds()),
      resume_term_(start.term),
      resume_docref_(start.docref),
      resume_inclusive_(start.inclusive) {
    const index::PostingScope& scope = segment.scope;
    switch (access_.kind) {
        case Access::Kind::kScan: {
            const std::string prefix = storage::keys::partition(scope.partition);
            std::string begin = prefix + scope.docref_begin;
            const std::string end =
                scope.docref_end.empty() ? prefix_successor(prefix) : prefix + scope.docref_end;
            if (!resume_docref_.empty()) {
                // The next possible key is this one followed by a zero byte.
                std::string from = prefix + resume_docref_;
                if (!resume_inclusive_) from.push_back('\0');
                begin = std::max(begin, from);
            }
            items_ = segment.view().scan(storage::Family::kItems, begin, end);
            break;
        }
        case Access::Kind::kStream:
            if (!resume_docref_.empty()) {
                access_.stream->seek(resume_docref_);
                if (!resume_inclusive_ && access_.stream->valid() &&
                    access_.stream->docref() == resume_docref_)
                    access_.stream->next();
            }
            break;
        case Access::Kind::kTerms:
            entries_.emplace(IndexReader{producer, scope, segment.settings().path_key},
                             *access_.terms, resume_term_, resume_docref_);
            break;
    }
}

bool CandidateReader::next_docref(Candidate& out) {
    if (access_.kind == Access::Kind::kStream) {
        DocrefStream& stream = *access_.stream;
        if (!stream.valid()) {
            status_ = stream.status();
            return false;
        }
        out.docref = *Docref::from_bytes(stream.docref());
        out.certain = stream.certain();
        stream.next();
        return true;
    }
    while (entries_->next()) {
        out.docref = *Docref::from_bytes(entries_->docref());
        out.term.assign(entries_->term());
        out.certain = entries_->certain();
        const bool done =
            !resume_inclusive_ && out.term == resume_term_ && out.docref.bytes() == resume_docref_;
        if (!done) return true;
    }
    status_ = entries_->status();
    return false;
}

Error entry_without_item() {
    return errors::internal(
        "Stored data is damaged: the index names an item that is not there. Run `orrery check`.");
}

Result<const Candidate*> CandidateReader::next(size_t batch_max) {
    if (access_.kind == Access::Kind::kScan) {
        if (batch_left_ == 0) batch_left_ = batch_max;
        return next_scanned();
    }
    for (;;) {
        if (batch_left_ == 0) {
            TRY_STATUS(gather(batch_max));
            if (batch_.empty()) return nullptr;
            TRY_STATUS(open_batch());
        }
        TRY(const Candidate* found, next_read());
        if (found != nullptr) return found;
    }
}

namespace {

/// Asks for the memory of the item behind this one. In a block of the store that is where the next
/// one lies; the first members of most items are within these bytes.
void expect_next(std::string_view document) {
    constexpr size_t kLineBytes = 64;
    constexpr size_t kLines = 6;
    const char* const next = document.data() + document.size();
    for (size_t i = 0; i < kLines; ++i) __builtin_prefetch(next + i * kLineBytes);
}

}  // namespace

/// From an item that was looked at to the next one.
void CandidateReader::leave_scanned() {
    // Reading the clock for each item would cost a tenth of the scan.
    constexpr size_t kTimedSteps = 16;
    if (seen_ % kTimedSteps != 0) {
        items_->next();
        return;
    }
    const int64_t began = page_.clock.monotonic_us();
    items_->next();
    load_us_ += static_cast<int64_t>(kTimedSteps) * (page_.clock.monotonic_us() - began);
}

Result<const Candidate*> CandidateReader::next_scanned() {
    constexpr size_t kPartitionBytes = sizeof(storage::PartitionId);
    if (std::exchange(on_item_, false)) leave_scanned();
    while (items_->valid()) {
        // Of a scan inside one partition.
        const auto docref = Docref::from_bytes(items_->key().substr(kPartitionBytes));
        if (!docref) return errors::internal("Stored data is damaged: a malformed key of an item.");
        ++seen_;
        scanned_.document = items_->value();
        expect_next(scanned_.document);
        TRY(scanned_.decoded, json::decode_document(scanned_.document));
        if (is_visible(segment_, now_, scanned_.decoded.header)) {
            scanned_.docref = *docref;
            on_item_ = true;
            --batch_left_;
            return &scanned_;
        }
        leave_scanned();
    }
    TRY_STATUS(items_->status());
    return nullptr;
}

/// The next docrefs into the batch; none at the end.
Status CandidateReader::gather(size_t max) {
    batch_.clear();
    if (gathered_all_) return {};
    const int64_t began = page_.clock.monotonic_us();
    constexpr size_t kRoomAtFirst = 16;
    batch_.reserve(std::min(max, access_.counted ? access_.estimate + 1 : kRoomAtFirst));
    while (batch_.size() < max && !gathered_all_) {
        gathered_all_ = !next_docref(batch_.emplace_back());
        if (gathered_all_) batch_.pop_back();
    }
    if (!status_.ok()) return std::move(status_);
    seen_ += batch_.size();
    index_us_ += page_.clock.monotonic_us() - began;
    return {};
}

/// Items that lie close together are read in passing.
bool CandidateReader::are_neighbours() const {
    constexpr size_t kFew = 4;
    constexpr uint64_t kGapMax = 6;
    if (batch_.size() < kFew) return false;
    const Docref& first = batch_.front().docref;
    const Docref& last = batch_.back().docref;
    return first.prefix() == last.prefix() && first < last &&
           last.item_number() - first.item_number() <= kGapMax * batch_.size() &&
           std::is_sorted(batch_.begin(), batch_.end(), [](const Candidate& a, const Candidate& b) {
               return a.docref < b.docref;
           });
}

Status CandidateReader::open_batch() {
    const int64_t began = page_.clock.monotonic_us();
    batch_left_ = batch_.size();
    if (are_neighbours()) {
        const storage::PartitionId partition = segment_.scope.partition;
        key_ = storage::keys::item(partition, batch_.back().docref);
        key_.push_back('\0');
        neighbours_ = segment_.view().scan(
            storage::Family::kItems, storage::keys::item(partition, batch_.front().docref), key_);
    } else {
        neighbours_.reset();
        docrefs_.clear();
        docrefs_.reserve(batch_.size());
        for (const Candidate& candidate : batch_) docrefs_.push_back(candidate.docref);
        TRY_STATUS(documents_.read(*segment_.source->partition, segment_.view(), docrefs_));
    }
    load_us_ += page_.clock.monotonic_us() - began;
    return {};
}

Result<std::optional<std::string_view>> CandidateReader::document_of(const Candidate& candidate) {
    if (neighbours_ == nullptr)
        return documents_.at(static_cast<size_t>(&candidate - batch_.data()));
    storage::keys::set_item(key_, segment_.scope.partition, candidate.docref);
    while (neighbours_->valid() && neighbours_->key() < key_) neighbours_->next();
    if (!neighbours_->valid()) TRY_STATUS(neighbours_->status());
    if (!neighbours_->valid() || neighbours_->key() != key_)
        return std::optional<std::string_view>();
    return std::optional(neighbours_->value());
}

/// The next of the batch that is visible; null: none is left.
Result<const Candidate*> CandidateReader::next_read() {
    while (batch_left_ > 0) {
        Candidate& candidate = batch_[batch_.size() - batch_left_];
        --batch_left_;
        TRY(const auto document, document_of(candidate));
        if (!document) return entry_without_item();
        candidate.document = *document;
        TRY(candidate.decoded, json::decode_document(*document));
        if (is_visible(segment_, now_, candidate.decoded.header)) return &candidate;
    }
    return nullptr;
}

}  // namespace orrery::query
