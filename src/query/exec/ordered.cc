// Orders of the index: the segments' items, each in order, merged.
#include <algorithm>
#include <deque>
#include <utility>

#include "base/errors.h"
#include "query/exec/ordered_segment.h"

namespace orrery::query {
namespace {

using storage::Docref;

/// The whole key of the position's item. A cut term stands for several keys, so the key comes from
/// the item if it is unchanged, else from its first bytes in the position. Rows that agree in those
/// bytes may then come twice, but none is lost.
Result<OrderedStart> find_start(Page& page) {
    OrderedStart start{page.resume, page.resume.term};
    Position& position = start.position;
    const SortOrder& order = page.plan.indexes[0].order;
    if (!position.key.empty()) {
        start.key = position.key;
        if (order.backward) start.key.append(16, '\xFF');
    }
    const auto docref = Docref::from_bytes(position.docref);
    if (!start.resumes() || !docref) return start;
    if (!position.term.empty() && position.key.empty()) return start;
    for (size_t i = 0; i < page.scope.sources.size(); ++i) {
        TRY(auto found, partition::load_documents(*page.scope.sources[i].partition,
                                                  *page.scope.sources[i].view, {*docref}));
        if (!found[0]) continue;
        RowMaker& rows = page.rows_of(i);
        TRY(const auto document, json::decode_document(*found[0]));
        TRY_STATUS(rows.load(document, *docref));
        const std::string term = sort_key(rows, page.plan.of(i).order, true);
        const std::string key = sort_key(rows, page.plan.of(i).order, false);
        if (position.term.empty()) position.term = page.position.term = term;
        if (term == position.term && key.starts_with(position.key)) start.key = key;
        return start;
    }
    if (!position.term.empty()) return start;
    return errors::continuation_cut();
}

class Merge final : public ItemSource {
public:
    Merge(Page& page, OrderedStart start)
        : start_(std::move(start)), before_(page.plan.indexes[0].order) {
        for (Segment& segment : segments_of(page.scope, page.position))
            segments_.emplace_back(page, start_, std::move(segment));
    }
    Status open(Page& page);
    Result<const FoundItem*> next(Page& page) override;
    void note(Page& page, Taken taken, uint64_t rows_done) override;
    void tell(Page& page) override;

private:
    Status go_on();
    bool later(const OrderedSegment* a, const OrderedSegment* b) const {
        return before_(b->head(), a->head());
    }
    auto by_later() const {
        return [this](const OrderedSegment* a, const OrderedSegment* b) { return later(a, b); };
    }
    void count(Page& page, const Placed& head) const;
    static void place(Page& page, std::string_view term, std::string_view key,
                      std::string_view docref, uint64_t item_rows);
    static void place(Page& page, const Placed& head, uint64_t item_rows) {
        place(page, head.term, head.key, head.docref.bytes(), item_rows);
    }

    const OrderedStart start_;
    const Before before_;
    std::deque<OrderedSegment> segments_;
    std::vector<OrderedSegment*> heap_;  ///< those with a head, the first of all on top
    OrderedSegment* front_ = nullptr;    ///< whose head is in hand; taken from the heap
    OrderedSegment* late_ = nullptr;     ///< ran out of time: what comes next in it is unknown
    partition::DocumentPtr document_;
    FoundItem item_;
};

Status Merge::open(Page& page) {
    const Window& window = page.window;
    const uint64_t rows_wanted = std::min(window.wanted(), page.scope.rows_max + window.to_skip());
    for (OrderedSegment& segment : segments_) {
        TRY_STATUS(segment.open(rows_wanted, rows_wanted / segments_.size()));
        front_ = &segment;
        TRY_STATUS(go_on());
        if (late_ != nullptr) break;
    }
    return {};
}

/// Takes the segment that was in hand on to its next head.
Status Merge::go_on() {
    OrderedSegment* const segment = std::exchange(front_, nullptr);
    TRY(const bool any, segment->advance());
    if (any) {
        heap_.push_back(segment);
        std::push_heap(heap_.begin(), heap_.end(), by_later());
    } else if (!segment->at_end()) {
        late_ = segment;
    }
    return {};
}

void Merge::place(Page& page, std::string_view term, std::string_view key, std::string_view docref,
                  uint64_t item_rows) {
    constexpr size_t kKeyBytesMax = 1024;
    Position& position = page.position;
    position.order = Position::Order::kSorted;
    position.term = term;
    position.key = key == term ? std::string_view() : key.substr(0, kKeyBytesMax);
    position.docref = docref;
    position.item_rows = item_rows;
}

void Merge::count(Page& page, const Placed& head) const {
    ++page.answer.retrieved_items;
    if (head.passed) ++page.answer.matched_items;
    if (!head.silent) ++page.flow.merged_out;
    page.answer.retrieved_bytes += head.bytes;
    PartitionWork& work = page.work_of(front_->partition());
    ++work.loaded_items;
    if (head.row_count > 1) work.join_tuples += head.row_count - 1;
}

Result<const FoundItem*> Merge::next(Page& page) {
    for (;;) {
        if (front_ != nullptr) {
            front_->pop();
            TRY_STATUS(go_on());
        }
        if (heap_.empty() || late_ != nullptr || page.cancelled()) break;
        if (page.full(page.least_row_bytes(heap_.front()->head().bytes))) {
            page.more = true;
            return nullptr;
        }
        std::pop_heap(heap_.begin(), heap_.end(), by_later());
        front_ = heap_.back();
        heap_.pop_back();
        const Placed& head = front_->head();
        count(page, head);
        const bool same = start_.resumes() && head.docref.bytes() == start_.position.docref &&
                          head.term == start_.position.term;
        item_.rows_done = same ? start_.position.item_rows : 0;
        const bool skipped =
            !head.silent && item_.rows_done == 0 && head.row_count <= page.window.to_skip();
        if (skipped) page.window.skip(head.row_count);
        if (head.silent || skipped) {
            place(page, head, 0);
            continue;
        }
        TRY(document_, front_->document_of_head());
        TRY(item_.document, json::decode_document(*document_));
        item_.stored_bytes = document_->size();
        item_.docref = head.docref;
        item_.known = Known::kMatched;
        item_.source = front_->partition();
        return &item_;
    }
    if (late_ != nullptr) {
        // The next page starts where this segment stands; the others look there again.
        const auto& frontier = late_->frontier();
        if (!frontier.term.empty()) place(page, frontier.term, frontier.key, frontier.docref, 0);
        page.more = true;
    }
    return nullptr;
}

void Merge::note(Page& page, Taken taken, uint64_t rows_done) {
    if (taken == Taken::kWhole || (taken == Taken::kPageFull && rows_done > 0))
        place(page, front_->head(), rows_done);
}

void Merge::tell(Page& page) {
    for (OrderedSegment& segment : segments_) segment.tell();
    page.flow.merged = segments_.size() > 1;
}

}  // namespace

Result<std::unique_ptr<ItemSource>> read_in_order(Page& page) {
    TRY(OrderedStart start, find_start(page));
    auto merge = std::make_unique<Merge>(page, std::move(start));
    TRY_STATUS(merge->open(page));
    return std::unique_ptr<ItemSource>(std::move(merge));
}

}  // namespace orrery::query
