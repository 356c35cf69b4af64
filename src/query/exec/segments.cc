#include "query/exec/segments.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "base/errors.h"
#include "index/terms.h"
#include "partition/docref_bounds.h"
#include "query/exec/page_run.h"

namespace orrery::query {

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

std::string detail_of(const PageRequest& request, const Access& access, const Segment& segment) {
    if (!request.explain) return {};
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
    if (position.order == Position::Order::kDocref || position.order == Position::Order::kTerms ||
        position.order == Position::Order::kScan) {
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
                segment.scanned = segment.resumed && part.at == &current &&
                                  position.order == Position::Order::kScan;
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
    return condition.tests.empty() &&
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
Result<Access> meet(const IndexReader& reader, const std::vector<const Condition*>& conditions,
                    bool explain) {
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
    for (size_t i = 0; explain && i < single.size(); ++i)
        access.detail += (i == 0 ? "" : " and ") + condition_text(*single[i]);
    return access;
}

/// Many walks end where they have cost half of what reading every item costs.
Status limit_walks(ConditionProbe& probe, const Condition& condition, SegmentFacts& facts) {
    if (!are_many_walks(condition.walks())) return {};
    TRY(const uint64_t items, facts.items());
    probe.limit_steps(items * kScanCost / kEntryCost / 2);
    return {};
}

/// Whether the items of an OR with tests are found for less than what reading every item costs.
/// What the probe has read is paid for; but every further page walks the paths again.
bool is_union_worth(const ConditionProbe& probe, const Condition& condition, uint64_t items,
                    const AccessWish& wish) {
    const auto all = static_cast<double>(items);
    const auto done = static_cast<double>(probe.steps());
    double walk = done;
    auto matches = static_cast<double>(probe.count());
    if (!probe.is_known()) {
        walk = std::max(walk, static_cast<double>(condition.walks()) * all);
        matches = std::min(all, matches * walk / std::max(done, 1.0));
    }
    const double rows = std::min(matches, static_cast<double>(wish.rows));
    const double pages = std::max(1.0, std::ceil(rows / static_cast<double>(wish.page_rows)));
    const double cost = (pages * walk - done) * kEntryCost + rows * kFetchCost;
    return cost < all * kScanCost * rows / std::max(matches, 1.0) || rows == 0;
}

}  // namespace

bool are_many_walks(uint64_t walks) {
    return walks * kEntryCost >= kScanCost;
}

Result<Access> choose_access(const PageRequest& request, const Segment& segment,
                             SegmentFacts& facts, const Filter& filter, const AccessWish& wish) {
    const bool terms_allowed = wish.terms_allowed;
    const uint64_t count_cap = wish.count_cap;
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
    const uint64_t walks = conditions[0]->walks();
    TRY_STATUS(limit_walks(probes[0], *conditions[0], facts));
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
        if (probes[best].has_given_up()) return scan;
        if (probes[best].is_known() || cap >= cap_max) break;
        if (may_meet) {
            // Where several values meet is found faster than how many items have each.
            may_meet = false;
            TRY(auto meeting, meet(reader, conditions, request.explain));
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
    if (!known && (probes[best].count() >= worthwhile || wish.only_counted)) return scan;

    Access access;
    access.estimate = probes[best].count();
    access.counted = known;
    const Condition& driver = *conditions[best];
    if (request.explain) access.detail = condition_text(driver);
    if (driver.kind == Condition::Kind::kTerms && !driver.is_single_term() && terms_allowed &&
        driver.is_member_path() && has_short_terms(driver) && (!known || walks > 0)) {
        access.kind = Access::Kind::kTerms;
        access.terms = &driver;
        access.exact = conditions.size() == 1 && enforces_all && filter.is_exact();
        return access;
    }
    if (walks > 0 && driver.kind != Condition::Kind::kTerms) {
        TRY(const uint64_t items, facts.items());
        if (!is_union_worth(probes[best], driver, items, wish)) {
            if (known && !segment.resumed) scan.tested_terms = probes[best].tested_terms();
            return scan;
        }
    }
    TRY(auto stream, probes[best].take_stream(kListMax));
    if (stream == nullptr) return scan;
    // Once, however many pages there are.
    if (!segment.resumed) access.tested_terms = probes[best].tested_terms();
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
        if (request.explain) access.detail += " and " + condition_text(other);
        streams.push_back(std::move(more));
    }
    access.kind = Access::Kind::kStream;
    access.stream = intersection(std::move(streams));
    access.exact = enforces_all && filter.is_exact();
    return access;
}

}  // namespace orrery::query
