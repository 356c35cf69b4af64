// Items in the order in which each segment's access finds them, one segment after the other.
#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "query/exec/candidate_reader.h"
#include "query/exec/page.h"
#include "query/plan/cost.h"

namespace orrery::query {
namespace {

class Segments final : public ItemSource {
public:
    explicit Segments(const Page& page) : segments_(segments_of(page.scope, page.resume)) {}
    Result<const FoundItem*> next(Page& page) override;
    void note(Page& page, Taken taken, uint64_t rows_done) override;
    void tell(Page& page) override;

private:
    Status open(Page& page);
    Result<Access> access_left_by(const Page& page, const SegmentFacts& facts) const;
    void note_start(Page& page, const Access& access) const;
    bool close(Page& page);
    size_t batch_max(const Page& page);
    const Segment& segment() const { return segments_[at_]; }

    const std::vector<Segment> segments_;
    size_t at_ = 0;  ///< the segment in progress
    std::optional<CandidateReader> reader_;
    const Candidate* candidate_ = nullptr;
    FoundItem item_;
    AccessReport report_;
    bool exact_ = false;  ///< the access decides
    uint64_t expected_ = 0;
    size_t batch_size_ = 0;  ///< of access that does not decide
    size_t batch_ = 0;
    bool began_ = false;  ///< the segment has given something
    uint64_t matched_before_ = 0;
};

/// The page before left in the order of one condition's entries.
Result<Access> Segments::access_left_by(const Page& page, const SegmentFacts& facts) const {
    const Filter& filter = facts.index.filter;
    Access access;
    const auto left_by = [&](const Condition& condition, size_t conjuncts) {
        if (condition.kind != Condition::Kind::kTerms ||
            condition.entries_hash(segment().settings().path_key) != page.resume.path)
            return;
        access.kind = Access::Kind::kTerms;
        access.terms = &condition;
        if (page.scope.explain) access.detail = condition_text(condition);
        access.exact = filter.conjuncts.size() == conjuncts && filter.is_exact();
    };
    for (const Conjunct& conjunct : filter.conjuncts)
        if (conjunct.condition) left_by(*conjunct.condition, 1);
    for (const CompositeCondition& one : filter.composites)
        left_by(one.condition, one.conjuncts.size());
    if (access.terms == nullptr || !facts.index_complete)
        return errors::bad_request(
            "The continuation token does not fit the container any more: its indexing policy has "
            "changed. Start the query again.");
    return access;
}

/// The position before the segment has given anything.
void Segments::note_start(Page& page, const Access& access) const {
    Position& position = page.position;
    const bool by_terms = access.kind == Access::Kind::kTerms;
    position.order = by_terms                             ? Position::Order::kTerms
                     : access.kind == Access::Kind::kScan ? Position::Order::kScan
                                                          : Position::Order::kDocref;
    position.path = by_terms ? access.terms->entries_hash(segment().settings().path_key) : 0;
    position.segment_min = segment().range.min;
    position.segment_max = segment().range.max;
    position.term = segment().resume_term;
    position.docref = segment().resume_docref;
    position.item_rows = segment().resume_rows;
    position.pieces.clear();
    for (size_t i = at_ + 1; i < segments_.size() && segments_[i].resumed; ++i)
        position.pieces.push_back({segments_[i].range.max, segments_[i].resume_term,
                                   segments_[i].resume_docref, segments_[i].resume_rows});
}

Status Segments::open(Page& page) {
    const PageScope& scope = page.scope;
    const int64_t began = scope.clock.monotonic_us();
    const Segment& segment = this->segment();
    TRY(SegmentFacts facts,
        SegmentFacts::find(scope, page.producer, page.plan.of(segment.partition), segment));
    Access access;
    if (segment.resumed && page.position.order == Position::Order::kTerms) {
        TRY(access, access_left_by(page, facts));
    } else if (segment.scanned) {
        if (scope.explain) access.detail = segment.one_key ? "every item of the key" : "every item";
    } else {
        const uint64_t wanted = page.window.wanted();
        TRY(access, choose_access(facts, {.terms_allowed = !segment.resumed,
                                          .count_cap = cost::count_cap(wanted),
                                          .rows = wanted,
                                          .page_rows = scope.rows_max}));
    }
    page.answer.plan_us += scope.clock.monotonic_us() - began;
    report_ = {};
    report_.partition = segment.partition;
    report_.access = access.kind == Access::Kind::kScan ? "scan" : "index";
    report_.detail = access.detail;
    exact_ = access.exact;
    expected_ = exact_ && access.counted && page.plan.shows_items
                    ? std::min<uint64_t>(access.estimate, scope.rows_max)
                    : 0;
    note_start(page, access);
    CandidateReader::Start start;
    if (segment.resumed)
        start = {segment.resume_term, segment.resume_docref, segment.resume_rows > 0};
    reader_.emplace(scope, page.producer, segment, std::move(access), start);
    page.work_of(segment.partition);
    item_.source = segment.partition;
    batch_size_ = 0;
    began_ = false;
    matched_before_ = page.answer.matched_items;
    return {};
}

/// Ends the segment; true: the page may go on with the next one.
bool Segments::close(Page& page) {
    // The next segment starts at its beginning.
    Position& position = page.position;
    position.docref.clear();
    position.term.clear();
    position.item_rows = 0;
    position.segment_min = position.segment_max = segment().range.max;
    tell(page);
    ++at_;
    if (at_ == segments_.size()) return false;
    page.more = page.full(0);
    return !page.more;
}

/// Items that are fetched together: where all of them are shown, no more than there is room for.
size_t Segments::batch_max(const Page& page) {
    constexpr size_t kFirst = 16;
    constexpr size_t kMost = 256;
    batch_size_ = batch_size_ == 0 ? kFirst : std::min(batch_size_ * 2, kMost);
    if (!exact_) return batch_size_;
    const uint64_t left =
        page.scope.rows_max - std::min<uint64_t>(page.scope.rows_max, page.answer.row_count);
    return std::clamp<size_t>(std::min(left + 1, page.window.wanted()), 1, kMost);
}

Result<const FoundItem*> Segments::next(Page& page) {
    // Where one item may take long, each is worth a look at the clock.
    const bool look = began_ && (page.plan.heavy || reader_->is_between_batches());
    if (look && (page.out_of_time() || (reader_->is_between_batches() && page.cancelled()))) {
        page.more = true;
        return nullptr;
    }
    while (at_ < segments_.size()) {
        if (!reader_) TRY_STATUS(open(page));
        if (reader_->is_between_batches()) batch_ = batch_max(page);
        TRY(candidate_, reader_->next(batch_));
        if (candidate_ == nullptr) {
            if (!close(page)) return nullptr;
            continue;
        }
        began_ = true;
        item_.document = candidate_->decoded;
        item_.stored_bytes = candidate_->document.size();
        item_.docref = candidate_->docref;
        item_.known = exact_ && candidate_->certain ? Known::kCertain : Known::kPerhaps;
        const bool same = segment().resumed &&
                          candidate_->docref.bytes() == segment().resume_docref &&
                          candidate_->term == segment().resume_term;
        item_.rows_done = same ? segment().resume_rows : 0;
        if (const uint64_t rows = std::exchange(expected_, 0); rows > 1)
            page.scope.rows.expect(rows, candidate_->document.size());
        return &item_;
    }
    return nullptr;
}

void Segments::note(Page& page, Taken taken, uint64_t rows_done) {
    // The next page begins with what did not fit.
    if (taken != Taken::kPageFull || rows_done > 0) ++report_.loaded;
    // A page that is full before the item has given a row goes on behind the one before it.
    if (taken == Taken::kClosed || (taken == Taken::kPageFull && rows_done == 0)) return;
    page.position.docref.assign(candidate_->docref.bytes());
    page.position.term.assign(candidate_->term);
    page.position.item_rows = rows_done;
}

void Segments::tell(Page& page) {
    if (!reader_) return;
    report_.candidates = reader_->seen();
    report_.matched = page.answer.matched_items - matched_before_;
    page.answer.index_us += reader_->index_us();
    page.answer.load_us += reader_->load_us();
    page.work_of(segment().partition).index_entries += reader_->tested_terms();
    page.answer.accesses.push_back(std::move(report_));
    reader_.reset();
}

}  // namespace

std::unique_ptr<ItemSource> read_segments(const Page& page) {
    return std::make_unique<Segments>(page);
}

}  // namespace orrery::query
