// ORDER BY in one segment: the index in its order, or a sort.
#include "query/exec/ordered_segment.h"

#include <algorithm>

#include "base/errors.h"
#include "index/sort_terms.h"
#include "index/terms.h"
#include "query/exec/key_runs.h"
#include "query/plan/cost.h"

namespace orrery::query {

using storage::Docref;

namespace {

/// The index whose order is walked, for people.
std::string walk_text(const SortOrder& order) {
    std::string out =
        order.composite == nullptr ? metric_path(order.steps) : composite_text(*order.composite);
    return order.backward ? out + ", from its end" : out;
}

}  // namespace

std::string sort_key(RowMaker& rows, const SortOrder& order, bool cut) {
    std::string out;
    for (size_t i = 0; i < order.descending.size(); ++i) {
        const json::Value value = rows.sort_value(i);
        const size_t from = out.size();
        if (cut) {
            index::append_term(out, value);
        } else {
            index::append_uncut_term(out, value);
        }
        if (order.inverts(i)) index::invert_term(out, from);
    }
    return out;
}

bool OrderedSegment::after_position(const Placed& item) const {
    if (!start_.resumes()) return true;
    const auto docref = Docref::from_bytes(start_.position.docref);
    if (!docref) return true;
    const int order = Before(this->order()).compare(item.key, item.docref, start_.key, *docref);
    return start_.position.item_rows > 0 ? order >= 0 : order > 0;
}

/// Whether the index-served part of the filter holds; the item is silent if the rest does not.
Result<bool> OrderedSegment::matches(const json::Document& document, Placed& placed) {
    TRY_STATUS(rows_.load(document, placed.docref));
    ++page_.flow.tested;
    placed.bytes = document.text_bytes();
    TRY(const bool served, rows_.passes_served());
    if (!served) return false;
    TRY(const RowMaker::Tuples tuples, rows_.make_rows());
    page_.flow.counts.joined += tuples.joined;
    page_.flow.counts.passed += tuples.passed;
    placed.row_count = tuples.rows;
    placed.silent = tuples.rows == 0;
    placed.passed = tuples.passed > 0;
    return true;
}

/// Inside one key: whether a query of this form can walk the path that is sorted by as a run, with
/// items enough.
bool OrderedSegment::may_walk_run(const SegmentFacts& facts) const {
    if (!order().from_index || order().composite != nullptr || !page_.plan.one_source ||
        !may_have_run(facts, order().steps))
        return false;
    const auto& conjuncts = index_.filter.conjuncts;
    return std::all_of(conjuncts.begin(), conjuncts.end(), [&](const Conjunct& conjunct) {
        if (!conjunct.condition) return false;
        const Condition& condition = *conjunct.condition;
        return (condition.is_of_values(order().steps) && condition.tests.empty()) ||
               names_the_key(facts, condition);
    });
}

/// Whether it is walked as a run. It is where the page shows a small part of the key's items and
/// nothing but that path says which.
Result<bool> OrderedSegment::walks_run(SegmentFacts& facts, uint64_t rows_wanted) {
    if (!facts.index_complete || !may_walk_run(facts)) return false;
    uint64_t items = 0;
    if (use_key_run_in_memory(facts, order().steps)) {
        items = key_run_of(segment_, order().path)->size();
    } else {
        TRY(items, facts.items());
    }
    const index::TermRange all = index::term_ranges::defined();
    const bool ranged = std::none_of(order().ranges.begin(), order().ranges.end(),
                                     [&](const index::TermRange& range) {
                                         return range.begin == all.begin && range.end == all.end;
                                     });
    if (!cost::is_small_part(rows_wanted, items) && !ranged) return false;
    TRY(const bool usable, use_key_runs(facts, {order().steps}));
    if (!usable) return false;
    ranges_ = order().ranges;
    // A run has entries for items that lack the path.
    if (order().needs_undefined) ranges_.insert(ranges_.begin(), index::term_ranges::undefined());
    const index::KeyRunPtr run = key_run_of(segment_, order().path);
    uint64_t entries = 0;
    for (const index::TermRange& range : ranges_)
        entries += run->first_entry(run->column()->lower_bound(range.end)) -
                   run->first_entry(run->column()->lower_bound(range.begin));
    return cost::is_small_part(std::min(rows_wanted, entries), items);
}

/// Sets walk_decides_; true: other paths than the order's say something.
bool OrderedSegment::look_at_filter() {
    bool narrows = false;
    const Filter& filter = index_.filter;
    walk_decides_ = filter.is_exact() && page_.plan.copies_items();
    for (size_t i = 0; i < filter.conjuncts.size(); ++i) {
        const auto& condition = filter.conjuncts[i].condition;
        const auto& said = order().in_ranges;
        const bool own = order().composite == nullptr
                             ? condition && condition->is_of_values(order().steps)
                             : std::find(said.begin(), said.end(), i) != said.end();
        narrows |= condition && !own;
        walk_decides_ &= own && condition->tests.empty();
    }
    return narrows;
}

/// The access whose items are sorted, where that costs less than the walk. Otherwise the walk may
/// know what it is looking for.
Result<std::optional<Access>> OrderedSegment::sorts_instead(SegmentFacts& facts,
                                                            uint64_t rows_wanted) {
    std::optional<Access> none;
    TRY(const uint64_t items, facts.items());
    TRY(Access access,
        choose_access(facts, {.count_cap = cost::count_cap_beside_walk(rows_wanted, items),
                              .only_counted = true}));
    if (access.kind != Access::Kind::kStream || !access.counted) return none;
    const cost::InOrder best = cost::cheapest_order(rows_wanted, access.estimate, items);
    if (best == cost::InOrder::kSort) return std::optional(std::move(access));
    if (best == cost::InOrder::kWalk) return none;
    members_.emplace();
    for (; access.stream->valid() && members_->size() < cost::kListMax; access.stream->next())
        members_->emplace(access.stream->docref());
    TRY_STATUS(access.stream->status());
    if (access.stream->valid()) members_.reset();
    return none;
}

Status OrderedSegment::open(uint64_t rows_wanted, uint64_t share) {
    page_.work_of(segment_.partition);
    const Clock& clock = page_.scope.clock;
    const int64_t began = clock.monotonic_us();
    TRY(SegmentFacts facts, SegmentFacts::find(page_.scope, page_.producer, index_, segment_));
    bool narrows = look_at_filter();
    // All items that are read are shown.
    if (walk_decides_) batch_ = std::clamp<size_t>(share, batch_, kWalkedAtOnce);
    // Between the entries of one key lie those of all others: its run is walked, or its items are
    // sorted.
    const bool may_walk = order().from_index && (!segment_.one_key || order().within_key);
    const bool walkable = may_walk && facts.index_complete;
    page_.flow.order_may_walk |= may_walk || may_walk_run(facts);
    ranges_ = order().ranges;
    needs_undefined_ = order().needs_undefined;
    std::optional<Access> sorted;
    bool by_run = false;
    if (!walkable) {
        TRY(by_run, walks_run(facts, rows_wanted));
    }
    if (by_run) {
        needs_undefined_ = false;
    } else if (!walkable) {
        TRY(sorted, choose_access(facts, {.count_cap = cost::kCountMax}));
    } else if (narrows) {
        TRY(sorted, sorts_instead(facts, rows_wanted));
    }
    page_.answer.plan_us += clock.monotonic_us() - began;
    if (sorted) return sort_all(std::move(*sorted), rows_wanted);
    begin_walk();
    return {};
}

void OrderedSegment::begin_walk() {
    report_.access = "index order";
    if (page_.scope.explain) report_.detail = walk_text(order());
    const bool at_undefined =
        start_.resumes() && start_.position.term == index::term_ranges::undefined().begin;
    const bool undefined_now = order().backward ? at_undefined : !start_.resumes() || at_undefined;
    stage_ = needs_undefined_ && undefined_now ? Stage::kUndefined : Stage::kWalk;
    range_ = 0;
}

/// Everything that matches, sorted; of a long result no more than the page can show.
Status OrderedSegment::sort_all(Access access, uint64_t rows_wanted) {
    sorted_ = true;
    report_.access = "sort";
    report_.detail = access.detail;
    CandidateReader reader(page_.scope, page_.producer, segment_, std::move(access), {});
    const Before before(order());
    std::vector<Placed> kept;  // a heap: the last one on top
    std::vector<Placed> silent;
    const uint64_t keep = std::min<uint64_t>(rows_wanted, cost::kListMax) + 1;
    const auto sort_in = [&](const Candidate& candidate) -> Status {
        Placed placed;
        placed.docref = candidate.docref;
        TRY(const bool match, matches(candidate.decoded, placed));
        ++report_.loaded;
        if (!match) return {};
        report_.matched += placed.passed ? 1 : 0;
        placed.key = sort_key(rows_, order(), false);
        if (!after_position(placed)) return {};
        if (placed.silent) {
            if (silent.size() >= cost::kListMax) return {};
            TRY_STATUS(hold(placed));
            silent.push_back(std::move(placed));
            return {};
        }
        if (kept.size() >= keep && !before(placed, kept.front())) return {};
        placed.term = sort_key(rows_, order(), true);
        if (keep <= cost::kSortedDocumentsMax && may_keep(candidate.document.size()))
            placed.document = std::make_shared<const std::string>(candidate.document);
        TRY_STATUS(hold(placed));
        kept.push_back(std::move(placed));
        std::push_heap(kept.begin(), kept.end(), before);
        if (kept.size() > keep) {
            std::pop_heap(kept.begin(), kept.end(), before);
            let_go(kept.back());
            kept.pop_back();
        }
        return {};
    };
    for (;;) {
        TRY(const Candidate* candidate, reader.next(kScannedAtOnce));
        if (candidate == nullptr) break;
        TRY_STATUS(sort_in(*candidate));
        if (reader.is_between_batches() && page_.cancelled()) return {};
    }
    report_.candidates = reader.seen();
    index_us_ += reader.index_us();
    load_us_ += reader.load_us();
    page_.flow.sorted_out += kept.size();
    // Silent items that sort before the last kept one count as read, whenever the sort met them.
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
        if (page_.cancelled()) return false;
        if (stage_ == Stage::kUndefined) {
            TRY_STATUS(scan_undefined());
        } else {
            TRY_STATUS(walk());
        }
        if (ready_.empty() && stage_ != Stage::kEnd && page_.out_of_time()) return false;
    }
    return !ready_.empty();
}

void OrderedSegment::tell() {
    PageAnswer& answer = page_.answer;
    if (scan_ != nullptr) {
        undefined_report_.candidates = scan_->seen();
        load_us_ += scan_->load_us();
    }
    answer.index_us += index_us_;
    answer.load_us += load_us_;
    if (sorted_) page_.flow.sorted_in = page_.flow.sorted_in.value_or(0) + report_.matched;
    // A segment that was not opened before the time was up has done no work.
    if (!report_.access.empty()) answer.accesses.push_back(std::move(report_));
    if (scan_ != nullptr) answer.accesses.push_back(std::move(undefined_report_));
}

Result<partition::DocumentPtr> OrderedSegment::document_of_head() {
    Placed& placed = ready_.front();
    if (placed.document != nullptr) return std::move(placed.document);
    const int64_t began = page_.scope.clock.monotonic_us();
    TRY(auto found,
        partition::load_documents(*segment_.source->partition, segment_.view(), {placed.docref}));
    load_us_ += page_.scope.clock.monotonic_us() - began;
    if (!found[0]) return errors::internal("An item has gone from the view that showed it.");
    return std::move(found[0]);
}

}  // namespace orrery::query
