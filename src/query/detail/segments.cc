#include "query/detail/segments.h"

#include <algorithm>
#include <deque>

#include "base/bytes.h"
#include "base/errors.h"
#include "index/terms.h"
#include "partition/docref_bounds.h"
#include "partition/expiry.h"

namespace orrery::query::detail {

using storage::Docref;

namespace {

/// Relative costs, measured on 1 KB items: reading an item where the scan stands, looking at an
/// entry, fetching an item by its docref.
constexpr uint64_t kScanCost = 10;
constexpr uint64_t kEntryCost = 3;
constexpr uint64_t kFetchCost = 60;

constexpr uint64_t kFirstCap = 128;
/// Entries that are spent on finding out where several values meet.
constexpr uint64_t kIntersectionSteps = 4096;
constexpr uint64_t kCapGrowth = 8;
/// Entries from which the number of all can be told.
constexpr uint64_t kSampleMin = 1024;
/// Docrefs of one range that a page may hold: 64 MB.
constexpr uint64_t kListMax = 1'000'000;

partition::EpkRange overlap(const partition::EpkRange& a, const partition::EpkRange& b) {
    return {std::max(a.min, b.min), std::min(a.max, b.max)};
}

std::string describe(const Condition& condition) {
    switch (condition.kind) {
        case Condition::Kind::kTerms:
            return index::path_text(condition.path) + (condition.spatial ? " (spatial)" : "");
        case Condition::Kind::kAll:
        case Condition::Kind::kAny: {
            std::string out = "(";
            for (const Condition& part : condition.parts) {
                if (out.size() > 1)
                    out += condition.kind == Condition::Kind::kAll ? " and " : " or ";
                out += describe(part);
            }
            return out + ")";
        }
    }
    return {};
}

}  // namespace

std::vector<Segment> segments_of(const PageRequest& request, const Position& position) {
    // What is left of the request's range, and where each part of it stands.
    struct Part {
        partition::EpkRange range;
        Position::Piece at;  ///< no docref: at its beginning
    };
    std::vector<Part> parts;
    std::string begin = request.range.min;
    if (position.order == Position::Order::kDocref || position.order == Position::Order::kTerms) {
        parts.push_back(
            {{position.segment_min, position.segment_max},
             {position.segment_max, position.term, position.docref, position.item_rows}});
        begin = position.segment_max;
        for (const Position::Piece& piece : position.pieces) {
            parts.push_back({{begin, piece.max}, piece});
            begin = piece.max;
        }
    }
    parts.push_back({{begin, request.range.max}, {}});

    std::vector<Segment> out;
    for (size_t i = 0; i < request.partitions.size(); ++i) {
        const auto& identity = request.partitions[i]->identity();
        const partition::EpkRange mine = overlap(request.range, identity.range);
        for (const Part& part : parts) {
            const partition::EpkRange range = overlap(mine, part.range);
            if (range.min >= range.max) continue;
            Segment segment;
            segment.partition = i;
            segment.range = range;
            segment.resumed = !part.at.docref.empty();
            segment.resume_term = part.at.term;
            segment.resume_docref = part.at.docref;
            segment.resume_rows = part.at.item_rows;
            segment.whole_partition = range == identity.range;
            segment.scope.view = request.view.get();
            segment.scope.partition = identity.id;
            segment.scope.docref_bytes = 8 * (request.settings->key.level_count() + 1);
            segment.one_key = !range.min.empty() && range == partition::range_of_key(range.min);
            if (!segment.whole_partition) {
                const auto bounds = partition::docref_bounds(request.settings->key, range);
                segment.scope.docref_begin = bounds.begin;
                segment.scope.docref_end = bounds.end;
            }
            out.push_back(std::move(segment));
        }
    }
    return out;
}

Result<SegmentFacts> facts_of(const PageRequest& request, const Segment& segment) {
    SegmentFacts facts(request, segment);
    const partition::Partition& part = *request.partitions[segment.partition];
    if (!request.use_index || request.settings->indexing.mode == index::IndexingMode::kNone) {
        facts.index_complete = false;
    } else {
        TRY(const bool unindexed, part.holds_unindexed(*request.view));
        facts.index_complete = !unindexed;
    }
    return facts;
}

Result<uint64_t> SegmentFacts::items() {
    if (items_) return *items_;
    const partition::Partition& part = *request_->partitions[segment_->partition];
    TRY(const auto count, request_->full_epk
                              ? part.logical_totals(*request_->view, *request_->full_epk)
                              : part.totals(*request_->view));
    items_ = static_cast<uint64_t>(std::max<int64_t>(0, count.items));
    return *items_;
}

namespace {

/// Inside one key only the entries of single values are one run; between the values of a range lie
/// those of all other keys.
bool is_narrow(const Condition& condition, const Segment& segment) {
    if (!segment.one_key) return true;
    if (condition.kind != Condition::Kind::kTerms)
        return std::all_of(condition.parts.begin(), condition.parts.end(),
                           [&](const Condition& part) { return is_narrow(part, segment); });
    return condition.test == nullptr &&
           std::all_of(condition.ranges.begin(), condition.ranges.end(),
                       [](const index::TermRange& range) { return range.single; });
}

/// Items that have all of several single values, if there are at least two of those and it does not
/// take long; else a scan. `exact`: the values are all of the conditions.
Result<Access> meet(const IndexReader& reader, const std::vector<const Condition*>& conditions) {
    Access access;
    std::vector<const Condition*> single;
    for (const Condition* condition : conditions)
        if (condition->is_single_term()) single.push_back(condition);
    if (single.size() < 2) return access;
    TRY(access.stream, short_intersection(reader, single, kIntersectionSteps, access.estimate));
    if (access.stream == nullptr) return access;
    access.kind = Access::Kind::kStream;
    access.counted = true;
    access.exact = single.size() == conditions.size();
    for (const Condition* condition : single)
        access.detail += (access.detail.empty() ? "" : " and ") + describe(*condition);
    return access;
}

}  // namespace

Result<Access> choose_access(const PageRequest& request, const Segment& segment,
                             SegmentFacts& facts, const Filter& filter, bool terms_allowed,
                             uint64_t count_cap) {
    Access scan;
    if (!facts.index_complete || !filter.is_served()) return scan;
    const IndexReader reader{request.query, request.parameters, segment.scope,
                             request.settings->path_key};
    std::vector<const Condition*> conditions;
    std::deque<ConditionProbe> probes;
    for (const Conjunct& conjunct : filter.conjuncts) {
        if (!conjunct.condition || !is_narrow(*conjunct.condition, segment)) continue;
        conditions.push_back(&*conjunct.condition);
        // A page that goes on in docref order.
        probes.emplace_back(reader, *conjunct.condition,
                            segment.resume_term.empty() ? std::string_view(segment.resume_docref)
                                                        : std::string_view());
    }
    if (conditions.empty()) return scan;
    const bool tests = conditions[0]->test != nullptr;
    bool enforces_all = true;
    for (const Conjunct& conjunct : filter.conjuncts)
        enforces_all &= conjunct.condition && is_narrow(*conjunct.condition, segment);
    uint64_t cap_max = count_cap;
    uint64_t worthwhile = UINT64_MAX;
    size_t best = 0;
    for (uint64_t cap = std::min(kFirstCap, count_cap);;
         cap = std::min(cap * kCapGrowth, cap_max)) {
        for (size_t i = 0; i < probes.size(); ++i) {
            TRY_STATUS(probes[i].count_to(cap));
            if (probes[i].count() < probes[best].count()) best = i;
        }
        if (probes[best].is_known() || cap >= cap_max) break;
        // The items of one value, clearly few enough: how many exactly does not matter.
        if (terms_allowed && conditions.size() == 1 && conditions[0]->is_single_term() &&
            cap >= kSampleMin && probes[best].extrapolated() < worthwhile / 2)
            break;
        if (worthwhile != UINT64_MAX) continue;
        // Fewer entries than this are worth fetching items one by one.
        TRY(const uint64_t items, facts.items());
        worthwhile = items * kScanCost / (kFetchCost + kEntryCost) + 1;
        cap_max = std::min(count_cap, worthwhile);
        if (probes[best].count() >= cap_max) continue;
        // Where several values meet may be found faster than how many items have each.
        TRY(auto meeting, meet(reader, conditions));
        if (meeting.kind == Access::Kind::kScan) continue;
        meeting.exact = enforces_all && filter.is_exact() && meeting.exact;
        return meeting;
    }
    const bool known = probes[best].is_known();
    if (!known && probes[best].count() >= worthwhile) return scan;

    Access access;
    access.estimate = probes[best].count();
    access.counted = known;
    const Condition& driver = *conditions[best];
    access.detail = describe(driver);
    if (driver.kind == Condition::Kind::kTerms && !driver.is_single_term() && terms_allowed &&
        driver.is_member_path() && (!known || tests)) {
        access.kind = Access::Kind::kTerms;
        access.terms = &driver;
        access.exact = filter.conjuncts.size() == 1 && filter.is_exact();
        return access;
    }
    TRY(auto stream, probes[best].take_stream(kListMax));
    if (stream == nullptr) return scan;
    std::vector<DocrefStreamPtr> streams;
    streams.push_back(std::move(stream));
    for (size_t i = 0; i < conditions.size(); ++i) {
        if (i == best) continue;
        const Condition& other = *conditions[i];
        // Looking one item up in a run costs less than fetching it, if it is likely to be missing.
        TRY(const uint64_t items, facts.items());
        const bool rare = probes[i].count() * 2 < items;
        const bool cheap =
            other.is_single_term() ||
            (probes[i].is_known() && probes[i].count() < 20 * (probes[best].count() + 1));
        DocrefStreamPtr more;
        if (rare && cheap && probes[best].count() > 2) {
            TRY(more, probes[i].take_stream(kListMax));
        }
        if (more == nullptr) {
            enforces_all = false;
            continue;
        }
        access.detail += " and " + describe(other);
        streams.push_back(std::move(more));
    }
    access.kind = Access::Kind::kStream;
    access.stream = intersection(std::move(streams));
    access.exact = enforces_all && filter.is_exact();
    return access;
}

// --- reading ------------------------------------------------------------------------------------

bool is_visible(const PageRequest& request, const partition::EpkRange& range, int64_t now,
                const json::DocumentHeader& header) {
    return range.contains(header.epk) &&
           !partition::is_expired(request.settings->default_ttl, header.ts, header.own_ttl, now);
}

Result<std::vector<std::optional<std::string>>> load_documents(const PageRequest& request,
                                                               storage::PartitionId partition,
                                                               const std::vector<Docref>& docrefs) {
    if (docrefs.size() == 1) {
        TRY(auto document,
            request.view->get(storage::Family::kItems, storage::keys::item(partition, docrefs[0])));
        return std::vector<std::optional<std::string>>{std::move(document)};
    }
    std::vector<std::string> keys;
    keys.reserve(docrefs.size());
    for (const Docref& docref : docrefs) keys.push_back(storage::keys::item(partition, docref));
    return request.view->multi_get(storage::Family::kItems, keys);
}

CandidateReader::CandidateReader(const PageRequest& request, const Segment& segment, Access access,
                                 const Position* resume)
    : request_(request),
      segment_(segment),
      access_(std::move(access)),
      now_(request.clock.wall_seconds()) {
    if (resume != nullptr) {
        resume_term_ = resume->term;
        resume_docref_ = resume->docref;
        resume_inclusive_ = resume->item_rows > 0;
    }
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

Result<bool> CandidateReader::next(size_t max, std::vector<Candidate>& batch) {
    batch.clear();
    if (access_.kind == Access::Kind::kScan) return next_scanned(max, batch);
    bool more = true;
    while (batch.empty() && more) {
        const int64_t began = request_.clock.monotonic_us();
        Candidate candidate;
        while (batch.size() < max) {
            more = next_docref(candidate);
            if (!more) break;
            batch.push_back(candidate);
        }
        if (!status_.ok()) return std::move(status_);
        seen_ += batch.size();
        const int64_t read = request_.clock.monotonic_us();
        index_us_ += read - began;
        TRY_STATUS(load(batch));
        load_us_ += request_.clock.monotonic_us() - read;
    }
    return !batch.empty();
}

Result<bool> CandidateReader::next_scanned(size_t max, std::vector<Candidate>& batch) {
    const int64_t began = request_.clock.monotonic_us();
    size_t bytes = 0;
    constexpr size_t kBatchBytesMax = 4 << 20;
    buffer_.clear();
    ends_.clear();
    for (; items_->valid() && batch.size() < max && bytes < kBatchBytesMax; items_->next()) {
        const auto key = storage::keys::decode_item(items_->key());
        if (!key) return errors::internal("Stored data is damaged: a malformed key of an item.");
        ++seen_;
        TRY(const auto document, json::decode_document(items_->value()));
        if (!is_visible(request_, segment_.range, now_, document.header)) continue;
        bytes += items_->value().size();
        buffer_.append(items_->value());
        ends_.push_back(buffer_.size());
        batch.push_back({key->docref, {}, false, {}});
    }
    TRY_STATUS(items_->status());
    set_documents(batch);
    load_us_ += request_.clock.monotonic_us() - began;
    return !batch.empty();
}

/// The buffer has come to rest: documents are where they are.
void CandidateReader::set_documents(std::vector<Candidate>& batch) {
    size_t begin = 0;
    for (size_t i = 0; i < batch.size(); ++i) {
        batch[i].document = std::string_view(buffer_).substr(begin, ends_[i] - begin);
        begin = ends_[i];
    }
}

/// Items that lie close together are read in passing. False: they do not.
Result<bool> CandidateReader::load_neighbours(std::vector<Candidate>& batch) {
    constexpr size_t kFew = 4;
    constexpr uint64_t kGapMax = 6;
    if (batch.size() < kFew) return false;
    const Docref first = batch.front().docref;
    const Docref last = batch.back().docref;
    if (first.prefix() != last.prefix() || last < first ||
        last.item_number() - first.item_number() > kGapMax * batch.size() ||
        !std::is_sorted(batch.begin(), batch.end(),
                        [](const Candidate& a, const Candidate& b) { return a.docref < b.docref; }))
        return false;
    const std::string from = storage::keys::item(segment_.scope.partition, first);
    std::string to = storage::keys::item(segment_.scope.partition, last);
    to.push_back('\0');
    const auto cursor = request_.view->scan(storage::Family::kItems, from, to);
    buffer_.clear();
    ends_.clear();
    std::string key;
    for (const Candidate& candidate : batch) {
        key = storage::keys::item(segment_.scope.partition, candidate.docref);
        while (cursor->valid() && cursor->key() < key) cursor->next();
        if (!cursor->valid()) TRY_STATUS(cursor->status());
        if (!cursor->valid() || cursor->key() != key) return false;
        buffer_.append(cursor->value());
        ends_.push_back(buffer_.size());
    }
    set_documents(batch);
    return true;
}

Status CandidateReader::load(std::vector<Candidate>& batch) {
    TRY(const bool loaded, load_neighbours(batch));
    if (loaded) {
        size_t shown = 0;
        for (size_t i = 0; i < batch.size(); ++i) {
            TRY(const auto document, json::decode_document(batch[i].document));
            if (!is_visible(request_, segment_.range, now_, document.header)) continue;
            if (shown != i) batch[shown] = std::move(batch[i]);
            ++shown;
        }
        batch.resize(shown);
        return {};
    }
    std::vector<Docref> docrefs;
    docrefs.reserve(batch.size());
    for (const Candidate& candidate : batch) docrefs.push_back(candidate.docref);
    TRY(documents_, load_documents(request_, segment_.scope.partition, docrefs));
    size_t kept = 0;
    for (size_t i = 0; i < batch.size(); ++i) {
        // Items and index agree in one view: an entry without an item is damage.
        if (!documents_[i])
            return Status(
                errors::internal("Stored data is damaged: the index names an item that is not "
                                 "there. Run `orrery check`."));
        TRY(const auto document, json::decode_document(*documents_[i]));
        if (!is_visible(request_, segment_.range, now_, document.header)) continue;
        batch[i].document = *documents_[i];
        if (kept != i) batch[kept] = std::move(batch[i]);
        ++kept;
    }
    batch.resize(kept);
    return {};
}

}  // namespace orrery::query::detail
