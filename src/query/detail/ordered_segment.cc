// ORDER BY in one segment: the index in its order, or a sort.
#include "query/detail/ordered_segment.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "base/errors.h"
#include "index/terms.h"
#include "query/detail/key_runs.h"

namespace orrery::query::detail {

using storage::Docref;

namespace {

constexpr uint64_t kScanCost = 10;
constexpr uint64_t kEntryCost = 3;
constexpr uint64_t kFetchCost = 60;
constexpr uint64_t kListMax = 1'000'000;
constexpr uint64_t kCountMax = 65'536;
/// Sorted items whose documents are kept; of more, those that are shown are read again.
constexpr uint64_t kDocumentsMax = 2'000;
/// Items that are read together.
constexpr size_t kLoadedAtOnce = 128;
constexpr size_t kBatchMax = 128;
/// Items between two looks at the clock.
constexpr size_t kSortedAtOnce = 256;

/// In memory, without the document.
size_t bytes_of(const Placed& placed) {
    return sizeof(Placed) + placed.key.size() + placed.term.size();
}

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
    placed.bytes = item_.document().text.size();
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
            return (condition.is_of_values(order().steps) && condition.test == nullptr) ||
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
        walk_decides_ &= own && conjunct.condition->test == nullptr;
    }
    // What is read is shown.
    if (walk_decides_) batch_ = std::clamp<size_t>(share, batch_, kBatchMax);
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
            choose_access(request(), segment_, facts, run_.filter_, false, kCountMax));
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
        TRY(Access access, choose_access(request(), segment_, facts, run_.filter_, false, cap));
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
        TRY(const bool any, reader.each(kSortedAtOnce, sort_in));
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
    placed_bytes_ += bytes_of(placed);
    return retained_.hold(placed_bytes_);
}

void OrderedSegment::let_go(const Placed& placed) {
    if (placed.document != nullptr) document_bytes_ -= placed.document->size();
    placed_bytes_ -= bytes_of(placed);
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

/// Items that lack the key have no entry: they are found by reading all.
Status OrderedSegment::scan_undefined() {
    if (scan_ == nullptr) {
        run_.answer_.wants_sorted_path = order().steps;
        CandidateReader::Start from;
        const Position& position = run_.resume_;
        const bool resumes = position.order == Position::Order::kSorted &&
                             position.term == index::term_ranges::undefined().begin;
        // Backward walks reverse the docrefs, too; they start over and skip.
        if (resumes && !order().backward && !order().by_rid) {
            from.docref = position.docref;
            from.inclusive = position.item_rows > 0;
        }
        scan_ = std::make_unique<CandidateReader>(request(), segment_, Access(), from);
        undefined_report_.partition = segment_.partition;
        undefined_report_.access = "scan";
        if (request().explain)
            undefined_report_.detail = "items without " + metric_path(order().steps) +
                                       ", which have no entry in its index yet";
    }
    std::vector<Placed> found;
    const bool whole = order().backward || order().by_rid;  // the order needs all of them
    Docref last;
    const auto find_in = [&](const Candidate& candidate) -> Result<bool> {
        last = candidate.docref;
        TRY_STATUS(item_.load(request(), candidate.document, candidate.docref));
        ++undefined_report_.loaded;
        if (!run_.rows_->key(item_, 0).is_undefined()) return true;
        Placed placed;
        placed.key = placed.term = index::term_ranges::undefined().begin;
        placed.docref = candidate.docref;
        if (!after_position(placed)) return true;
        TRY(const bool match, matches(candidate.document, placed));
        if (!match) return true;
        if (!placed.silent && may_keep(candidate.document.size()))
            placed.document = std::make_shared<const std::string>(candidate.document);
        TRY_STATUS(hold(placed));
        undefined_report_.matched += placed.passed ? 1 : 0;
        found.push_back(std::move(placed));
        return true;
    };
    while (true) {
        TRY(const bool any, scan_->each(kSortedAtOnce, find_in));
        if (!any) {
            stage_ = order().backward ? Stage::kEnd : Stage::kWalk;
            break;
        }
        if (!whole)
            frontier_ = {index::term_ranges::undefined().begin,
                         index::term_ranges::undefined().begin, std::string(last.bytes())};
        if (!whole && (!found.empty() || run_.out_of_time())) break;
        if (run_.cancelled()) break;
    }
    if (whole) std::sort(found.begin(), found.end(), Before(order()));
    for (Placed& placed : found) ready_.push_back(std::move(placed));
    return {};
}

namespace {

/// Behind every entry that starts with what is before it: terms have no such bytes.
constexpr std::string_view kAfterGroup =
    "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"
    "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF";

bool is_cut_term(std::string_view term) {
    constexpr char kString = 0x50;
    constexpr char kCutEnd = 0x01;
    return term[0] == kString && term.back() == kCutEnd;
}

/// How many first bytes entries must share with this one for their order to depend on more than
/// their terms; 0: their terms decide.
size_t undecided_prefix(std::string_view term, bool composite) {
    if (!composite) return is_cut_term(term) ? term.size() : 0;
    std::string_view rest = term;
    std::string member;
    while (!rest.empty() && index::take_composite_term(rest, member))
        if (is_cut_term(member)) return term.size() - rest.size();
    return 0;
}

}  // namespace

/// Opens the next range in the walk's direction, at the position if that lies in it.
void OrderedSegment::open_range() {
    postings_.reset();
    const auto& ranges = ranges_;
    const Position& position = run_.resume_;
    const bool resumes = position.order == Position::Order::kSorted;
    while (range_ < ranges.size()) {
        const index::TermRange& range =
            order().backward ? ranges[ranges.size() - 1 - range_] : ranges[range_];
        ++range_;
        if (resumes &&
            (order().backward ? range.begin > position.term : range.end <= position.term))
            continue;
        postings_.emplace(
            segment_.scope, order().path, range,
            order().backward ? storage::Direction::kBackward : storage::Direction::kForward);
        const bool inside = resumes && position.term >= range.begin && position.term < range.end;
        if (inside) {
            // A group whose order is not that of its entries is looked at again from its start.
            size_t group = undecided_prefix(position.term, order().composite != nullptr);
            if (group == 0 && order().by_rid) group = position.term.size();
            if (group == 0) {
                postings_->seek(position.term, position.docref);
            } else {
                const std::string_view shared = std::string_view(position.term).substr(0, group);
                postings_->seek(shared, order().backward ? kAfterGroup : std::string_view());
            }
        }
        return;
    }
}

/// The next entries of the walk. Where items and not terms decide the order among entries, all of
/// them are taken.
Status OrderedSegment::walk() {
    const int64_t began = request().clock.monotonic_us();
    std::vector<Placed> candidates;
    std::string group;  // what the entries of an undecided group share
    bool sort = false;
    while (true) {
        if (!postings_ || !postings_->valid()) {
            if (postings_) TRY_STATUS(postings_->status());
            if (!candidates.empty()) break;
            open_range();
            if (postings_) continue;
            stage_ = needs_undefined_ && order().backward ? Stage::kUndefined : Stage::kEnd;
            break;
        }
        const std::string_view term = postings_->term();
        const bool in_group = !group.empty() && term.starts_with(group);
        if (!in_group) {
            if (candidates.size() >= batch_) break;
            const bool partial = postings_->partial();
            size_t shared = partial ? undecided_prefix(term, order().composite != nullptr) : 0;
            if (shared == 0 && order().by_rid) shared = term.size();
            group.assign(term.substr(0, shared));
            sort |= shared > 0;
        }
        ++report_.candidates;
        if (!members_ || members_->contains(postings_->docref())) {
            Placed placed;
            placed.term.assign(term);
            placed.key = placed.term;
            placed.docref = *Docref::from_bytes(postings_->docref());
            placed.undecided = sort;
            placed.certain = walk_decides_ && !postings_->partial();
            if (candidates.size() % kBatchMax == 0)  // a group may be any number
                TRY_STATUS(retained_.hold(placed_bytes_ + candidates.size() * bytes_of(placed)));
            candidates.push_back(std::move(placed));
        }
        if (group.empty()) {
            frontier_.term.assign(term);
            frontier_.key.assign(term);
            frontier_.docref.assign(postings_->docref());
        }
        postings_->next();
        if (report_.candidates % 1024 == 0 && (run_.out_of_time() || run_.cancelled())) {
            if (group.empty()) break;
        }
    }
    batch_ = std::min(batch_ * 2, kBatchMax);
    index_us_ += request().clock.monotonic_us() - began;
    return keep_matching(std::move(candidates), sort);
}

Status OrderedSegment::keep_matching(std::vector<Placed> candidates, bool sort) {
    const size_t before = ready_.size();
    for (size_t i = 0; i < candidates.size(); i += kLoadedAtOnce) {
        if (run_.cancelled()) return {};
        TRY_STATUS(keep_matching(
            std::span(candidates).subspan(i, std::min(kLoadedAtOnce, candidates.size() - i))));
    }
    if (!sort) return {};
    const auto first = ready_.begin() + static_cast<ptrdiff_t>(before);
    std::sort(first, ready_.end(), Before(order()));
    if (first != ready_.end())
        frontier_ = {ready_.back().term, ready_.back().key,
                     std::string(ready_.back().docref.bytes())};
    return {};
}

Status OrderedSegment::keep_matching(std::span<Placed> candidates) {
    const int64_t now = request().clock.wall_seconds();
    std::vector<Docref> docrefs;
    docrefs.reserve(candidates.size());
    for (const Placed& placed : candidates) docrefs.push_back(placed.docref);
    const int64_t began = request().clock.monotonic_us();
    TRY(auto documents,
        load_documents(request(), *request().partitions[segment_.partition], docrefs));
    load_us_ += request().clock.monotonic_us() - began;
    for (size_t i = 0; i < candidates.size(); ++i) {
        Placed& placed = candidates[i];
        if (!documents[i])
            return Status(
                errors::internal("Stored data is damaged: the index names an item that is not "
                                 "there. Run `orrery check`."));
        TRY(const auto document, json::decode_document(*documents[i]));
        if (!is_visible(request(), segment_, now, document.header)) continue;
        if (placed.undecided) {
            TRY_STATUS(item_.load(request(), *documents[i], placed.docref));
            placed.key = run_.sort_key(item_, false);
        }
        if (!after_position(placed)) continue;
        ++report_.loaded;
        if (placed.certain) {
            placed.bytes = document.text.size();
            placed.row_count = 1;
            ++run_.flow_.tested;
        } else {
            TRY(const bool match, matches(*documents[i], placed));
            if (!match) continue;
        }
        report_.matched += placed.passed ? 1 : 0;
        if (may_keep(documents[i]->size())) placed.document = std::move(documents[i]);
        TRY_STATUS(hold(placed));
        ready_.push_back(std::move(placed));
    }
    return {};
}

}  // namespace orrery::query::detail
