// Reading the items of a segment, as its access finds them.
#include <algorithm>

#include "base/bytes.h"
#include "base/errors.h"
#include "partition/expiry.h"
#include "query/exec/segments.h"

namespace orrery::query {

using storage::Docref;

// A partition has no items but those of its range.
bool is_visible(const PageRequest& request, const Segment& segment, int64_t now,
                const json::DocumentHeader& header) {
    return (segment.whole_partition || segment.range.contains(header.epk)) &&
           !partition::is_expired(request.settings->default_ttl, header.ts, header.own_ttl, now);
}

CandidateReader::CandidateReader(const PageRequest& request, const Segment& segment, Access access,
                                 const Start& start)
    : request_(request),
      segment_(segment),
      access_(std::move(access)),
      now_(request.clock.wall_seconds()),
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
                // The next key is the same one with a zero byte behind it.
                std::string from = prefix + resume_docref_;
                if (!resume_inclusive_) from.push_back('\0');
                begin = std::max(begin, from);
            }
            items_ = request.view->scan(storage::Family::kItems, begin, end);
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
            entries_.emplace(
                IndexReader{request.query, request.parameters, scope, request.settings->path_key},
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

Result<bool> CandidateReader::each(size_t max, const Use& use) {
    if (access_.kind == Access::Kind::kScan) return each_scanned(max, use);
    while (true) {
        TRY(const bool any, gather(max));
        if (!any) return false;
        TRY(const bool given, are_neighbours() ? each_neighbour(use) : each_fetched(use));
        if (given) return true;
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

Result<bool> CandidateReader::each_scanned(size_t max, const Use& use) {
    // Reading the clock for every item would cost a tenth of the scan.
    constexpr size_t kTimedSteps = 16;
    const size_t partition_bytes = storage::keys::partition(segment_.scope.partition).size();
    Candidate candidate;
    size_t given = 0;
    while (given < max && items_->valid()) {
        // Of a scan inside one partition.
        const auto docref = Docref::from_bytes(items_->key().substr(partition_bytes));
        if (!docref) return errors::internal("Stored data is damaged: a malformed key of an item.");
        ++seen_;
        candidate.document = items_->value();
        expect_next(candidate.document);
        TRY(candidate.decoded, json::decode_document(candidate.document));
        if (is_visible(request_, segment_, now_, candidate.decoded.header)) {
            candidate.docref = *docref;
            ++given;
            TRY(const bool go_on, use(candidate));
            if (!go_on) return true;
        }
        if (seen_ % kTimedSteps != 0) {
            items_->next();
            continue;
        }
        const int64_t began = request_.clock.monotonic_us();
        items_->next();
        load_us_ += static_cast<int64_t>(kTimedSteps) * (request_.clock.monotonic_us() - began);
    }
    if (!items_->valid()) TRY_STATUS(items_->status());
    return given > 0;
}

/// The next docrefs into the batch; false at the end.
Result<bool> CandidateReader::gather(size_t max) {
    if (gathered_all_) return false;
    const int64_t began = request_.clock.monotonic_us();
    batch_.clear();
    constexpr size_t kRoomAtFirst = 16;
    batch_.reserve(std::min(max, access_.counted ? access_.estimate + 1 : kRoomAtFirst));
    while (batch_.size() < max && !gathered_all_) {
        gathered_all_ = !next_docref(batch_.emplace_back());
        if (gathered_all_) batch_.pop_back();
    }
    if (!status_.ok()) return std::move(status_);
    seen_ += batch_.size();
    index_us_ += request_.clock.monotonic_us() - began;
    return !batch_.empty();
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

namespace {

/// Items and index agree in one view: an entry without an item is damage.
Error entry_without_item() {
    return errors::internal(
        "Stored data is damaged: the index names an item that is not there. Run `orrery check`.");
}

}  // namespace

/// False: none of the batch is visible.
Result<bool> CandidateReader::each_neighbour(const Use& use) {
    const int64_t began = request_.clock.monotonic_us();
    const storage::PartitionId partition = segment_.scope.partition;
    std::string key = storage::keys::item(partition, batch_.back().docref);
    key.push_back('\0');
    const auto cursor = request_.view->scan(
        storage::Family::kItems, storage::keys::item(partition, batch_.front().docref), key);
    bool given = false;
    for (Candidate& candidate : batch_) {
        storage::keys::set_item(key, partition, candidate.docref);
        while (cursor->valid() && cursor->key() < key) cursor->next();
        if (!cursor->valid()) TRY_STATUS(cursor->status());
        if (!cursor->valid() || cursor->key() != key) return entry_without_item();
        candidate.document = cursor->value();
        TRY(candidate.decoded, json::decode_document(candidate.document));
        if (!is_visible(request_, segment_, now_, candidate.decoded.header)) continue;
        given = true;
        TRY(const bool go_on, use(candidate));
        if (!go_on) break;
    }
    load_us_ += request_.clock.monotonic_us() - began;
    return given;
}

/// False: none of the batch is visible.
Result<bool> CandidateReader::each_fetched(const Use& use) {
    const int64_t began = request_.clock.monotonic_us();
    docrefs_.clear();
    docrefs_.reserve(batch_.size());
    for (const Candidate& candidate : batch_) docrefs_.push_back(candidate.docref);
    TRY_STATUS(documents_.read(request_, *request_.partitions[segment_.partition], docrefs_));
    load_us_ += request_.clock.monotonic_us() - began;
    bool given = false;
    for (size_t i = 0; i < batch_.size(); ++i) {
        const auto bytes = documents_.at(i);
        if (!bytes) return entry_without_item();
        batch_[i].document = *bytes;
        TRY(batch_[i].decoded, json::decode_document(*bytes));
        if (!is_visible(request_, segment_, now_, batch_[i].decoded.header)) continue;
        given = true;
        TRY(const bool go_on, use(batch_[i]));
        if (!go_on) break;
    }
    return given;
}

}  // namespace orrery::query
