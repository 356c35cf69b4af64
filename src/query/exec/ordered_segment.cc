// ORDER BY in one segment: the index in its order, or a sort.
#include "query/exec/ordered_segment.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "index/terms.h"
#include "query/exec/key_runs.h"

namespace orrery::query {

using storage::Docref;

namespace {

constexpr uint64_t kScanCost = 10;
constexpr uint64_t kEntryCost = 3;
constexpr uint64_t kFetchCost = 60;
constexpr uint64_t kListMax = 1'000'000;
constexpr uint64_t kCountMax = 65'536;
/// Sorted items whose documents are kept; of more, those that are shown are read again.
constexpr uint64_t kDocumentsMax = 2'000;

/// The index whose order is walked, for people.
std::string walk_text(const SortOrder& order) {
    std::string out;
    if (order.composite == nullptr) {
        out = metric_path(order.steps);
    } else {
        for (const auto& member : order.composite->members)
            out += (out.empty() ? "" : ", ") + metric_path(member.steps) +
                   (member.descending ? " DESC" : " ASC");
        out += " (composite)";
    }
    return order.backward ? out + ", from its end" : out;
}

}  // namespace

bool OrderedSegment::after_position(const Placed& item) const {
    const Position& position = run_.resume_;
    if (position.order != Position::Order::kSorted) return true;
    const auto docref = Docref::from_bytes(position.docref);
    if (!docref) return true;
    const int order =
        Before(run_.order_).compare(item.key, item.docref, run_.position_key_, *docref);
    return position.item_rows > 0 ? order >= 0 : order > 0;
}

/// Whether the index-served part of the filter holds; the item is silent if the rest does not.
Result<bool> OrderedSegment::matches(std::string_view document, Placed& placed) {
    TRY_STATUS(item_.load(request(), document, placed.docref));
    ++run_.flow_.tested;
    placed.bytes = item_.document().text_bytes();
    TRY(const bool served, run_.rows_->passes_served(item_));
    if (!served) return false;
    rows_.clear();
    TRY(const RowMaker::Tuples tuples, run_.rows_->rows(item_, rows_));
    run_.flow_.counts.joined += tuples.joined;
    run_.flow_.counts.passed += tuples.passed;
    placed.row_count = rows_.size();
    placed.silent = rows_.empty();
    placed.passed = tuples.passed > 0;
    return true;
}

/// Inside one key: whether a query of this form can walk the path that is sorted by as a run, with
/// items enough.
bool OrderedSegment::may_walk_run() const {
    if (!order().from_index || order().composite != nullptr ||
        request().query.root().sources.size() != 1 ||
        !may_have_run(request(), segment_, order().steps))
        return false;
    return std::all_of(
        run_.filter_.conjuncts.begin(), run_.filter_.conjuncts.end(),
        [&](const Conjunct& conjunct) {
            if (!conjunct.condition) return false;
            const Condition& condition = *conjunct.condition;
            return (condition.is_of_values(order().steps) && condition.tests.empty()) ||
                   names_the_key(request(), condition);
        });
}

/// Whether it is walked as a run. It is where the page shows a small part of the key's items and
/// nothing but that path says which; reading most of them one by one takes longer than sorting all.
Result<bool> OrderedSegment::walks_run(SegmentFacts& facts, uint64_t rows_wanted) {
    if (!facts.index_complete || !may_walk_run()) return false;
    const auto is_small = [&](uint64_t rows, uint64_t items) {
        return rows < kListMax && rows * kFetchCost <= 2 * items * kScanCost;
    };
    uint64_t items = 0;
    const bool there = use_key_run_in_memory(request(), segment_, order().steps);
    if (there) {
        items = key_run_of(segment_, order().path)->size();
    } else {
        TRY(items, facts.items());
    }
    const index::TermRange all = index::term_ranges::defined();
    const bool ranged = std::none_of(order().ranges.begin(), order().ranges.end(),
                                     [&](const index::TermRange& range) {
                                         return range.begin == all.begin && range.end == all.end;
                                     });
    if (!is_small(rows_wanted, items) && !ranged) return false;
    TRY(const bool usable, use_key_runs(request(), segment_, facts, {order().steps}));
    if (!usable) return false;
    ranges_ = order().ranges;
    // A run has entries for items that lack the path.
    if (order().needs_undefined) ranges_.insert(ranges_.begin(), index::term_ranges::undefined());
    const index::KeyRunPtr run = key_run_of(segment_, order().path);
    uint64_t entries = 0;
    for (const index::TermRange& range : ranges_)
        entries += run->first_entry(run->column()->lower_bound(range.end)) -
                   run->first_entry(run->column()->lower_bound(range.begin));
    return is_small(std::min(rows_wanted, entries), items);
}

Status OrderedSegment::open(uint64_t rows_wanted, uint64_t share) {
    run_.work_of(segment_.partition);
    const int64_t began = request().clock.monotonic_us();
    const Position& position = run_.resume_;
    TRY(SegmentFacts facts, facts_of(request(), segment_));
    bool narrows = false;  // other paths say something
    walk_decides_ = run_.filter_.is_exact() && request().query.returns_whole_item() &&
                    request().query.root().sources.size() == 1;
    for (const Conjunct& conjunct : run_.filter_.conjuncts) {
        const bool own = order().composite == nullptr
                             ? conjunct.condition && conjunct.condition->is_of_values(order().steps)
                             : std::find(order().in_ranges.begin(), order().in_ranges.end(),
                                         &conjunct) != order().in_ranges.end();
        narrows |= conjunct.condition && !own;
        walk_decides_ &= own && conjunct.condition->tests.empty();
    }
    // What is read is shown.
    if (walk_decides_) batch_ = std::clamp<size_t>(share, batch_, kWalkedAtOnce);
    // Between the entries of one key lie those of all others: its run is walked, or its items are
    // sorted.
    const bool may_walk = order().from_index && (!segment_.one_key || order().within_key);
    const bool walkable = may_walk && facts.index_complete;
    run_.order_may_walk_ |= may_walk || may_walk_run();
    ranges_ = order().ranges;
    needs_undefined_ = order().needs_undefined;
    bool by_run = false;
    if (!walkable) {
        TRY(by_run, walks_run(facts, rows_wanted));
    }
    if (by_run) {
        narrows = false;
        needs_undefined_ = false;
    } else if (!walkable) {
        TRY(Access access,
            choose_access(request(), segment_, facts, run_.filter_, {.count_cap = kCountMax}));
        run_.answer_.plan_us += request().clock.monotonic_us() - began;
        return sort_all(std::move(access), rows_wanted);
    }
    if (narrows) {
        // The walk looks at wanted/selectivity entries; the sort fetches every match. Counting
        // stops where what it costs is what the walk would cost at most.
        TRY(const uint64_t items, facts.items());
        const double balance =
            20.0 * static_cast<double>(std::min(rows_wanted, items)) * static_cast<double>(items);
        const auto cap =
            std::clamp<uint64_t>(static_cast<uint64_t>(std::sqrt(balance)), 256, kCountMax);
        TRY(Access access, choose_access(request(), segment_, facts, run_.filter_,
                                         {.count_cap = cap, .only_counted = true}));
        if (access.kind == Access::Kind::kStream && access.counted) {
            const uint64_t matches = std::max<uint64_t>(1, access.estimate);
            const uint64_t wanted = std::min(rows_wanted, matches);
            const uint64_t visited = std::min(items, wanted * (items / matches + 1));
            const uint64_t sort_cost = matches * (kFetchCost + kEntryCost);
            const uint64_t walk_cost = visited * (kFetchCost + kEntryCost);
            const uint64_t members_cost =
                matches * kEntryCost + visited * kEntryCost + wanted * kFetchCost;
            if (sort_cost <= walk_cost && sort_cost <= members_cost) {
                run_.answer_.plan_us += request().clock.monotonic_us() - began;
                return sort_all(std::move(access), rows_wanted);
            }
            if (members_cost < walk_cost) {
                members_.emplace();
                for (; access.stream->valid() && members_->size() < kListMax; access.stream->next())
                    members_->emplace(access.stream->docref());
                TRY_STATUS(access.stream->status());
                if (access.stream->valid()) members_.reset();
            }
        }
    }
    run_.answer_.plan_us += request().clock.monotonic_us() - began;
    report_.access = "index order";
    if (request().explain) report_.detail = walk_text(order());
    const bool undefined_first = needs_undefined_ && !order().backward;
    const bool past_undefined = position.order == Position::Order::kSorted &&
                                position.term != index::term_ranges::undefined().begin;
    stage_ = undefined_first && !past_undefined ? Stage::kUndefined : Stage::kWalk;
    if (needs_undefined_ && order().backward && position.order == Position::Order::kSorted &&
        !past_undefined)
        stage_ = Stage::kUndefined;
    range_ = 0;
    return {};
}

/// Everything that matches, sorted; of a long result no more than the page can show.
Status OrderedSegment::sort_all(Access access, uint64_t rows_wanted) {
    sorted_ = true;
    report_.access = "sort";
    report_.detail = detail_of(request(), access, segment_);
    CandidateReader reader(request(), segment_, std::move(access), {});
    const Before before(order());
    std::vector<Placed> kept;  // a heap: the last one on top
    std::vector<Placed> silent;
    const uint64_t keep = std::min<uint64_t>(rows_wanted, kListMax) + 1;
    const auto sort_in = [&](const Candidate& candidate) -> Result<bool> {
        Placed placed;
        placed.docref = candidate.docref;
        TRY(const bool match, matches(candidate.document, placed));
        ++report_.loaded;
        if (!match) return true;
        report_.matched += placed.passed ? 1 : 0;
        placed.key = run_.sort_key(item_, false);
        if (!after_position(placed)) return true;
        if (placed.silent) {
            if (silent.size() >= kListMax) return true;
            TRY_STATUS(hold(placed));
            silent.push_back(std::move(placed));
            return true;
        }
        if (kept.size() >= keep && !before(placed, kept.front())) return true;
        placed.term = run_.sort_key(item_, true);
        if (keep <= kDocumentsMax && may_keep(candidate.document.size()))
            placed.document = std::make_shared<const std::string>(candidate.document);
        TRY_STATUS(hold(placed));
        kept.push_back(std::move(placed));
        std::push_heap(kept.begin(), kept.end(), before);
        if (kept.size() > keep) {
            std::pop_heap(kept.begin(), kept.end(), before);
            let_go(kept.back());
            kept.pop_back();
        }
        return true;
    };
    while (true) {
        TRY(const bool any, reader.each(kScannedAtOnce, sort_in));
        if (!any) break;
        if (run_.cancelled()) return {};
    }
    report_.candidates = reader.seen();
    index_us_ += reader.index_us();
    load_us_ += reader.load_us();
    run_.flow_.sorted_out += kept.size();
    // Those among the kept ones count as read, wherever the sort would have met them.
    const bool all = kept.size() < keep;
    for (Placed& placed : silent)
        if (all || before(placed, kept.front())) kept.push_back(std::move(placed));
    std::sort(kept.begin(), kept.end(), before);
    ready_.assign(std::make_move_iterator(kept.begin()), std::make_move_iterator(kept.end()));
    return {};
}

bool OrderedSegment::may_keep(size_t document_bytes) const {
    return document_bytes_ + document_bytes <= limits::kSortedDocumentBytesMax;
}

/// Counts an item that waits to be shown.
Status OrderedSegment::hold(const Placed& placed) {
    if (placed.document != nullptr) document_bytes_ += placed.document->size();
    placed_bytes_ += placed.memory();
    return retained_.hold(placed_bytes_);
}

void OrderedSegment::let_go(const Placed& placed) {
    if (placed.document != nullptr) document_bytes_ -= placed.document->size();
    placed_bytes_ -= placed.memory();
}

Result<bool> OrderedSegment::advance() {
    while (ready_.empty() && !sorted_ && stage_ != Stage::kEnd) {
        document_bytes_ = placed_bytes_ = 0;
        if (run_.cancelled()) return false;
        if (stage_ == Stage::kUndefined) {
            TRY_STATUS(scan_undefined());
        } else {
            TRY_STATUS(walk());
        }
        if (ready_.empty() && stage_ != Stage::kEnd && run_.out_of_time()) return false;
    }
    return !ready_.empty();
}

void OrderedSegment::tell() {
    PageAnswer& answer = run_.answer_;
    if (scan_ != nullptr) {
        undefined_report_.candidates = scan_->seen();
        load_us_ += scan_->load_us();
    }
    answer.index_us += index_us_;
    answer.load_us += load_us_;
    if (sorted_) run_.flow_.sorted_in = run_.flow_.sorted_in.value_or(0) + report_.matched;
    // One that was not opened when the time was up has done nothing.
    if (!report_.access.empty()) answer.accesses.push_back(std::move(report_));
    if (scan_ != nullptr) answer.accesses.push_back(std::move(undefined_report_));
}

Result<DocumentPtr> OrderedSegment::document_of_head() {
    Placed& placed = ready_.front();
    if (placed.document != nullptr) return std::move(placed.document);
    const int64_t began = request().clock.monotonic_us();
    TRY(auto found,
        load_documents(request(), *request().partitions[segment_.partition], {placed.docref}));
    load_us_ += request().clock.monotonic_us() - began;
    if (!found[0]) return errors::internal("An item has gone from the view that showed it.");
    return std::move(found[0]);
}

}  // namespace orrery::query
