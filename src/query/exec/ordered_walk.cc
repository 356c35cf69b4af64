// ORDER BY in one segment by a walk of the index in its order.
#include <algorithm>

#include "index/terms.h"
#include "query/exec/ordered_segment.h"

namespace orrery::query {

using storage::Docref;

namespace {

/// Items that are read together.
constexpr size_t kLoadedAtOnce = 128;

}  // namespace

/// Items that lack the key have no entry: they are found by reading all.
void OrderedSegment::open_undefined() {
    page_.answer.wants_sorted_path = order().steps;
    CandidateReader::Start from;
    const Position& position = start_.position;
    const bool resumes = start_.resumes() && position.term == index::term_ranges::undefined().begin;
    // Backward walks reverse the docrefs, too; they start over and skip.
    if (resumes && !order().backward && !order().by_rid) {
        from.docref = position.docref;
        from.inclusive = position.item_rows > 0;
    }
    scan_ =
        std::make_unique<CandidateReader>(page_.scope, page_.producer, segment_, Access(), from);
    undefined_report_.partition = segment_.partition;
    undefined_report_.access = "scan";
    if (page_.scope.explain)
        undefined_report_.detail = "items without " + metric_path(order().steps) +
                                   ", which have no entry in its index yet";
}

Status OrderedSegment::scan_undefined() {
    if (scan_ == nullptr) open_undefined();
    std::vector<Placed> found;
    const bool whole = order().backward || order().by_rid;  // the order needs all of them
    const std::string undefined = index::term_ranges::undefined().begin;
    for (;;) {
        TRY(const Candidate* candidate, scan_->next(kScannedAtOnce));
        if (candidate == nullptr) {
            stage_ = order().backward ? Stage::kEnd : Stage::kWalk;
            break;
        }
        TRY_STATUS(rows_.load(candidate->decoded, candidate->docref));
        ++undefined_report_.loaded;
        Placed placed;
        placed.key = placed.term = undefined;
        placed.docref = candidate->docref;
        if (rows_.sort_value(0).is_undefined() && after_position(placed)) {
            TRY(const bool match, matches(candidate->decoded, placed));
            if (match) {
                if (!placed.silent && may_keep(candidate->document.size()))
                    placed.document = std::make_shared<const std::string>(candidate->document);
                TRY_STATUS(hold(placed));
                undefined_report_.matched += placed.passed ? 1 : 0;
                found.push_back(std::move(placed));
            }
        }
        if (!scan_->is_between_batches()) continue;
        if (!whole) frontier_ = {undefined, undefined, std::string(candidate->docref.bytes())};
        if (!whole && (!found.empty() || page_.out_of_time())) break;
        if (page_.cancelled()) break;
    }
    if (whole) std::sort(found.begin(), found.end(), Before(order()));
    for (Placed& placed : found) ready_.push_back(std::move(placed));
    return {};
}

namespace {

/// These bytes sort behind every entry with the same beginning, because no term contains them.
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
    const Position& position = start_.position;
    const bool resumes = start_.resumes();
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
    const int64_t began = page_.scope.clock.monotonic_us();
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
            if (candidates.size() % kWalkedAtOnce == 0)  // a group may be any number
                TRY_STATUS(retained_.hold(placed_bytes_ + candidates.size() * placed.memory()));
            candidates.push_back(std::move(placed));
        }
        if (group.empty()) {
            frontier_.term.assign(term);
            frontier_.key.assign(term);
            frontier_.docref.assign(postings_->docref());
        }
        postings_->next();
        if (report_.candidates % 1024 == 0 && (page_.out_of_time() || page_.cancelled())) {
            if (group.empty()) break;
        }
    }
    batch_ = std::min(batch_ * 2, kWalkedAtOnce);
    index_us_ += page_.scope.clock.monotonic_us() - began;
    return keep_matching(std::move(candidates), sort);
}

Status OrderedSegment::keep_matching(std::vector<Placed> candidates, bool sort) {
    const size_t before = ready_.size();
    for (size_t i = 0; i < candidates.size(); i += kLoadedAtOnce) {
        if (page_.cancelled()) return {};
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
    const int64_t now = page_.scope.clock.wall_seconds();
    std::vector<Docref> docrefs;
    docrefs.reserve(candidates.size());
    for (const Placed& placed : candidates) docrefs.push_back(placed.docref);
    const int64_t began = page_.scope.clock.monotonic_us();
    TRY(auto documents,
        partition::load_documents(*segment_.source->partition, segment_.view(), docrefs));
    load_us_ += page_.scope.clock.monotonic_us() - began;
    for (size_t i = 0; i < candidates.size(); ++i) {
        Placed& placed = candidates[i];
        if (!documents[i]) return Status(entry_without_item());
        TRY(const auto document, json::decode_document(*documents[i]));
        if (!is_visible(segment_, now, document.header)) continue;
        if (placed.undecided) {
            TRY_STATUS(rows_.load(document, placed.docref));
            placed.key = sort_key(rows_, order(), false);
        }
        if (!after_position(placed)) continue;
        ++report_.loaded;
        if (placed.certain) {
            placed.bytes = document.text_bytes();
            placed.row_count = 1;
            ++page_.flow.tested;
        } else {
            TRY(const bool match, matches(document, placed));
            if (!match) continue;
        }
        report_.matched += placed.passed ? 1 : 0;
        if (may_keep(documents[i]->size())) placed.document = std::move(documents[i]);
        TRY_STATUS(hold(placed));
        ready_.push_back(std::move(placed));
    }
    return {};
}

}  // namespace orrery::query
