#include "query/detail/segments.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/errors.h"
#include "index/terms.h"
#include "partition/docref_bounds.h"
#include "partition/expiry.h"
#include "query/detail/page_run.h"

namespace orrery::query::detail {

using storage::Docref;

namespace {

/// Relative costs, measured on 1 KB items: reading an item where the scan stands, looking at an
/// entry, fetching an item by its docref.
constexpr uint64_t kScanCost = 10;
constexpr uint64_t kEntryCost = 3;
constexpr uint64_t kFetchCost = 60;

constexpr uint64_t kFirstCap = 128;
/// The same where several single values may meet: that is looked at before anything is counted on.
constexpr uint64_t kFirstCapToMeet = 16;
/// So few items are fetched whatever else is known of them.
constexpr uint64_t kFetchedAtOnce = 2;
/// Entries that are spent on finding out where several values meet.
constexpr uint64_t kIntersectionSteps = 4096;
constexpr uint64_t kCapGrowth = 8;
/// Entries from which the number of all can be told.
constexpr uint64_t kSampleMin = 1024;
/// Docrefs of one range that a page may hold: 64 MB.
constexpr uint64_t kListMax = 1'000'000;

}  // namespace

std::string condition_text(const Condition& condition) {
    switch (condition.kind) {
        case Condition::Kind::kTerms: {
            if (condition.composite == nullptr)
                return metric_path(condition.path) + (condition.spatial ? " (spatial)" : "");
            std::string out;
            for (const auto& member : condition.composite->members)
                out += (out.empty() ? "" : ", ") + metric_path(member.steps) +
                       (member.descending ? " DESC" : " ASC");
            return out + " (composite)";
        }
        case Condition::Kind::kAll:
        case Condition::Kind::kAny: {
            std::string out = "(";
            for (const Condition& part : condition.parts) {
                if (out.size() > 1)
                    out += condition.kind == Condition::Kind::kAll ? " and " : " or ";
                out += condition_text(part);
            }
            return out + ")";
        }
    }
    return {};
}

std::string detail_of(const Access& access, const Segment& segment) {
    if (access.kind != Access::Kind::kScan) return access.detail;
    return segment.one_key ? "every item of the key" : "every item";
}

std::vector<Segment> segments_of(const PageRequest& request, const Position& position) {
    // What is left of the request's range, and where each part of it stands.
    struct Part {
        std::string_view min;
        std::string_view max;
        const Position::Piece* at;  ///< null: at its beginning
    };
    std::vector<Part> parts;
    Position::Piece current;
    std::string_view begin = request.range.min;
    if (position.order == Position::Order::kDocref || position.order == Position::Order::kTerms) {
        current = {position.segment_max, position.term, position.docref, position.item_rows};
        parts.push_back({position.segment_min, position.segment_max, &current});
        begin = position.segment_max;
        for (const Position::Piece& piece : position.pieces) {
            parts.push_back({begin, piece.max, &piece});
            begin = piece.max;
        }
    }
    parts.push_back({begin, request.range.max, nullptr});

    std::vector<Segment> out;
    for (size_t i = 0; i < request.partitions.size(); ++i) {
        const auto& identity = request.partitions[i]->identity();
        for (const Part& part : parts) {
            const std::string_view min =
                std::max<std::string_view>({part.min, request.range.min, identity.range.min});
            const std::string_view max =
                std::min<std::string_view>({part.max, request.range.max, identity.range.max});
            if (min >= max) continue;
            Segment& segment = out.emplace_back();
            const partition::EpkRange& range = segment.range;
            segment.partition = i;
            segment.range.min = min;
            segment.range.max = max;
            if (part.at != nullptr) {
                segment.resumed = !part.at->docref.empty();
                segment.resume_term = part.at->term;
                segment.resume_docref = part.at->docref;
                segment.resume_rows = part.at->item_rows;
            }
            segment.whole_partition = range == identity.range;
            segment.scope.view = request.view.get();
            segment.scope.partition = identity.id;
            segment.scope.docref_bytes = 8 * (request.settings->key.level_count() + 1);
            segment.one_key = range.is_of_key();
            if (segment.one_key && request.full_epk && request.settings->key.level_count() == 1)
                segment.scope.runs = std::make_shared<index::KeyRuns>();
            if (!segment.whole_partition) {
                const auto bounds = partition::docref_bounds(request.settings->key, range);
                segment.scope.docref_begin = bounds.begin;
                segment.scope.docref_end = bounds.end;
            }
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

Status SegmentFacts::count() {
    if (count_) return {};
    const partition::Partition& part = *request_->partitions[segment_->partition];
    TRY(count_, request_->full_epk ? part.logical_totals(*request_->view, *request_->full_epk)
                                   : part.totals(*request_->view));
    return {};
}

Result<uint64_t> SegmentFacts::items() {
    TRY_STATUS(count());
    return static_cast<uint64_t>(std::max<int64_t>(0, count_->items));
}

Result<uint64_t> SegmentFacts::bytes() {
    TRY_STATUS(count());
    return static_cast<uint64_t>(std::max<int64_t>(0, count_->bytes));
}

namespace {

/// Inside one key only the entries of single values are one run; between the values of a range lie
/// those of all other keys.
bool is_narrow(const Condition& condition, const Segment& segment) {
    if (!segment.one_key || condition.within_key) return true;
    if (condition.kind != Condition::Kind::kTerms)
        return std::all_of(condition.parts.begin(), condition.parts.end(),
                           [&](const Condition& part) { return is_narrow(part, segment); });
    return condition.test == nullptr &&
           std::all_of(condition.ranges.begin(), condition.ranges.end(),
                       [](const index::TermRange& range) { return range.single; });
}

/// A page that leaves in term order has a term in its position, and positions travel in headers.
bool has_short_terms(const Condition& condition) {
    constexpr size_t kMembersMax = 2;
    return condition.composite == nullptr || condition.composite->members.size() <= kMembersMax;
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
        access.detail += (access.detail.empty() ? "" : " and ") + condition_text(*condition);
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
    bool enforces_all = true;
    const auto conditions = filter.conditions(
        [&](const Condition& condition) { return is_narrow(condition, segment); }, enforces_all);
    std::vector<ConditionProbe> probes;
    probes.reserve(conditions.size());
    for (const Condition* condition : conditions)
        // A page that goes on in docref order.
        probes.emplace_back(reader, *condition,
                            segment.resume_term.empty() ? std::string_view(segment.resume_docref)
                                                        : std::string_view());
    if (conditions.empty()) return scan;
    const bool tests = conditions[0]->test != nullptr;
    uint64_t cap_max = count_cap;
    uint64_t worthwhile = UINT64_MAX;
    size_t best = 0;
    bool may_meet = std::count_if(conditions.begin(), conditions.end(),
                                  [](const Condition* one) { return one->is_single_term(); }) > 1;
    for (uint64_t cap = std::min(may_meet ? kFirstCapToMeet : kFirstCap, count_cap);;
         cap = std::min(cap * kCapGrowth, cap_max)) {
        for (size_t i = 0; i < probes.size(); ++i) {
            // Nobody looks others up for so few.
            if (probes[best].is_known() && probes[best].count() <= kFetchedAtOnce) break;
            TRY_STATUS(probes[i].count_to(cap));
            if (probes[i].count() < probes[best].count()) best = i;
        }
        if (probes[best].is_known() || cap >= cap_max) break;
        if (may_meet) {
            // Where several values meet is found faster than how many items have each.
            may_meet = false;
            TRY(auto meeting, meet(reader, conditions));
            if (meeting.kind != Access::Kind::kScan) {
                meeting.exact = enforces_all && filter.is_exact() && meeting.exact;
                return meeting;
            }
        }
        // The items of one value, clearly few enough: how many exactly does not matter.
        if (terms_allowed && conditions.size() == 1 && conditions[0]->is_single_term() &&
            cap >= kSampleMin && probes[best].extrapolated() < worthwhile / 2)
            break;
        if (worthwhile != UINT64_MAX) continue;
        // Fewer entries than this are worth fetching items one by one.
        TRY(const uint64_t items, facts.items());
        worthwhile = items * kScanCost / (kFetchCost + kEntryCost) + 1;
        cap_max = std::min(count_cap, worthwhile);
    }
    const bool known = probes[best].is_known();
    if (!known && probes[best].count() >= worthwhile) return scan;

    Access access;
    access.estimate = probes[best].count();
    access.counted = known;
    const Condition& driver = *conditions[best];
    access.detail = condition_text(driver);
    if (driver.kind == Condition::Kind::kTerms && !driver.is_single_term() && terms_allowed &&
        driver.is_member_path() && has_short_terms(driver) && (!known || tests)) {
        access.kind = Access::Kind::kTerms;
        access.terms = &driver;
        access.exact = conditions.size() == 1 && enforces_all && filter.is_exact();
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
        const bool cheap =
            other.is_single_term() ||
            (probes[i].is_known() && probes[i].count() < 20 * (probes[best].count() + 1));
        DocrefStreamPtr more;
        if (cheap && probes[best].count() > kFetchedAtOnce) {
            TRY(const uint64_t items, facts.items());
            const bool rare = probes[i].count() * 2 < items;
            if (rare) {
                TRY(more, probes[i].take_stream(kListMax));
            }
        }
        if (more == nullptr) {
            enforces_all = false;
            continue;
        }
        access.detail += " and " + condition_text(other);
        streams.push_back(std::move(more));
    }
    access.kind = Access::Kind::kStream;
    access.stream = intersection(std::move(streams));
    access.exact = enforces_all && filter.is_exact();
    return access;
}

// --- reading ------------------------------------------------------------------------------------

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

}  // namespace orrery::query::detail
