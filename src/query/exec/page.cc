#include "query/exec/page.h"

#include <utility>

namespace orrery::query {

Page::Page(const PageScope& the_scope, const PagePlan& the_plan, const Producer& the_producer,
           Position from)
    : scope(the_scope),
      plan(the_plan),
      producer(the_producer),
      resume(std::move(from)),
      position(resume),
      window(plan.skip, plan.limit, resume),
      makers_(plan.indexes.size()) {}

PartitionWork& Page::work_of(size_t source) {
    for (PartitionWork& work : answer.work)
        if (work.partition == source) return work;
    PartitionWork work;
    work.partition = source;
    work.seeks = plan.of(source).filter.seeks();
    // A key that only the header gives is one look-up, too.
    if (scope.full_epk && work.seeks == 0) work.seeks = 1;
    answer.work.push_back(work);
    return answer.work.back();
}

RowMaker& Page::rows_of(size_t source) {
    auto& maker = makers_[plan.index_of[source]];
    if (maker == nullptr) maker = producer.row_maker(plan.of(source));
    return *maker;
}

void Page::add_text(std::string_view row) {
    const size_t bytes = scope.rows.add_text(row);
    answer.output_bytes += bytes;
    answer.returned_bytes += bytes;
    ++answer.row_count;
}

/// Turns one item into rows.
Result<Taken> Page::take(const FoundItem& item, uint64_t& rows_done) {
    const size_t row_bytes = least_row_bytes(item.stored_bytes);
    if (full(row_bytes)) return Taken::kPageFull;
    const json::Document& document = item.document;
    RowMaker::Tuples tuples{1, 1, 1};
    RowMaker& maker = rows_of(item.source);
    if (item.known == Known::kPerhaps || !plan.copies_items()) {
        TRY_STATUS(maker.load(document, item.docref));
        if (item.known == Known::kPerhaps) {
            TRY(const bool served, maker.passes_served());
            if (!served) {
                rows_done = 0;
                return Taken::kWhole;
            }
        }
        TRY(tuples, maker.make_rows());
    }
    flow.to_project += tuples.passed;
    flow.counts.projected += tuples.rows;
    if (item.known != Known::kMatched) {
        flow.counts.joined += tuples.joined;
        flow.counts.passed += tuples.passed;
    }
    if (rows_done == 0 && item.known != Known::kMatched) {
        ++answer.retrieved_items;
        if (tuples.passed > 0 || item.known == Known::kCertain) ++answer.matched_items;
        answer.retrieved_bytes += document.text_bytes();
        PartitionWork& work = work_of(item.source);
        ++work.loaded_items;
        if (tuples.rows > 1) work.join_tuples += tuples.rows - 1;
    }
    for (uint64_t i = rows_done; i < tuples.rows; ++i) {
        if (window.closed()) return Taken::kClosed;
        if (full(row_bytes)) {
            rows_done = i;
            return Taken::kPageFull;
        }
        if (!window.take()) continue;
        size_t bytes = 0;
        if (plan.shows_items) {
            bytes = scope.rows.add_item({document, item.docref, *plan.of(item.source).settings});
            answer.returned_bytes += document.text_bytes();
        } else {
            bytes = maker.show(i, scope.rows);
            answer.returned_bytes += bytes;
        }
        answer.output_bytes += bytes;
        ++answer.row_count;
    }
    rows_done = 0;
    return window.closed() ? Taken::kClosed : Taken::kWhole;
}

Status Page::fill(ItemSource& source) {
    for (;;) {
        TRY(const FoundItem* item, source.next(*this));
        if (item == nullptr) break;
        uint64_t rows_done = item->rows_done;
        TRY(const Taken taken, take(*item, rows_done));
        source.note(*this, taken, rows_done);
        more |= taken == Taken::kPageFull;
        if (taken != Taken::kWhole) break;
    }
    source.tell(*this);
    touch_one();
    return {};
}

PageAnswer Page::finish(bool by_window) {
    if (!more || (by_window && window.closed())) return std::move(answer);
    if (by_window) {
        position.skipped = window.skipped();
        position.emitted = window.emitted();
        answer.whole_range = window.to_skip() > 0;
    }
    answer.position = position.encode();
    // Leave the key out: an unchanged item gives its own place.
    if (answer.position.size() > scope.position_bytes_max &&
        position.order == Position::Order::kSorted) {
        position.term.clear();
        position.key.clear();
        answer.position = position.encode();
    }
    return std::move(answer);
}

}  // namespace orrery::query
