// ORDER BY: the segments' items, each in order, merged.
#include <algorithm>
#include <deque>

#include "base/errors.h"
#include "query/exec/ordered_segment.h"

namespace orrery::query {

using storage::Docref;

/// The whole key of the position's item. A cut term stands for several keys: the item itself knows,
/// if it is as it was; else the key's first bytes. What agrees with those is then returned again
/// rather than lost.
Status PageRun::find_position_key() {
    position_key_ = resume_.term;
    if (!resume_.key.empty()) {
        position_key_ = resume_.key;
        if (order_.backward) position_key_.append(16, '\xFF');
    }
    const auto docref = Docref::from_bytes(resume_.docref);
    if (resume_.order != Position::Order::kSorted || !docref) return {};
    if (!resume_.term.empty() && resume_.key.empty()) return {};
    for (const partition::Partition* partition : request_.partitions) {
        TRY(auto found, load_documents(request_, *partition, {*docref}));
        if (!found[0]) continue;
        TRY_STATUS(item_.load(request_, *found[0], *docref));
        const std::string term = sort_key(item_, true);
        const std::string key = sort_key(item_, false);
        if (resume_.term.empty()) resume_.term = position_.term = term;
        if (term == resume_.term && key.starts_with(resume_.key)) position_key_ = key;
        return {};
    }
    if (!resume_.term.empty()) return {};
    return Status(errors::continuation_cut());
}

Status PageRun::run_ordered() {
    TRY(order_, sort_order());
    if (window_->closed()) return {};
    TRY_STATUS(find_position_key());
    const uint64_t rows_wanted =
        std::min(window_->wanted(), request_.rows_max + window_->to_skip());
    std::deque<OrderedSegment> segments;
    for (Segment& segment : segments_of(request_, position_))
        segments.emplace_back(*this, std::move(segment));
    const Before before(order_);
    const auto later = [&](const OrderedSegment* a, const OrderedSegment* b) {
        return before(b->head(), a->head());
    };
    std::vector<OrderedSegment*> heap;
    const Position& resume = resume_;
    const auto place = [&](std::string_view term, std::string_view key, std::string_view docref,
                           uint64_t item_rows) {
        constexpr size_t kKeyBytesMax = 1024;
        position_.order = Position::Order::kSorted;
        position_.term = term;
        position_.key = key == term ? std::string_view() : key.substr(0, kKeyBytesMax);
        position_.docref = docref;
        position_.item_rows = item_rows;
    };
    OrderedSegment* late = nullptr;  // ran out of time: what comes next in it is unknown
    for (OrderedSegment& segment : segments) {
        TRY_STATUS(segment.open(rows_wanted, rows_wanted / segments.size()));
        TRY(const bool any, segment.advance());
        if (any) {
            heap.push_back(&segment);
            std::push_heap(heap.begin(), heap.end(), later);
        } else if (!segment.at_end()) {
            late = &segment;
            break;
        }
    }
    while (!heap.empty() && late == nullptr && !cancelled()) {
        if (page_full(least_row_bytes(heap.front()->head().bytes))) {
            more_ = true;
            break;
        }
        std::pop_heap(heap.begin(), heap.end(), later);
        OrderedSegment& segment = *heap.back();
        const Placed& head = segment.head();
        ++answer_.retrieved_items;
        if (head.passed) ++answer_.matched_items;
        if (!head.silent) ++flow_.merged_out;
        answer_.retrieved_bytes += head.bytes;
        PartitionWork& work = work_of(segment.partition());
        ++work.loaded_items;
        if (head.row_count > 1) work.join_tuples += head.row_count - 1;
        const bool same = resume.order == Position::Order::kSorted &&
                          head.docref.bytes() == resume.docref && head.term == resume.term;
        uint64_t rows_done = same ? resume.item_rows : 0;
        Step step = Step::kGoOn;
        if (!head.silent && rows_done == 0 && head.row_count <= window_->to_skip()) {
            window_->skip(head.row_count);
        } else if (!head.silent) {
            TRY(const DocumentPtr document, segment.document_of_head());
            TRY(step,
                take_item(*document, head.docref, Found::kMatched, segment.partition(), rows_done));
        }
        if (step == Step::kPageFull) {
            if (rows_done > 0) place(head.term, head.key, head.docref.bytes(), rows_done);
            more_ = true;
            break;
        }
        if (step == Step::kClosed) break;
        place(head.term, head.key, head.docref.bytes(), 0);
        segment.pop();
        TRY(const bool any, segment.advance());
        if (any) {
            std::push_heap(heap.begin(), heap.end(), later);
        } else {
            heap.pop_back();
            if (!segment.at_end()) late = &segment;
        }
    }
    if (late != nullptr) {
        // The next page starts where this segment stands; the others look there again.
        if (!late->frontier().term.empty())
            place(late->frontier().term, late->frontier().key, late->frontier().docref, 0);
        more_ = true;
    }
    for (OrderedSegment& segment : segments) segment.tell();
    flow_.merged = segments.size() > 1;
    if (answer_.work.empty() && !request_.partitions.empty()) work_of(0);
    return {};
}

}  // namespace orrery::query
