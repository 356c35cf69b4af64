// Queries whose rows are known only at the end: computed whole, the page cut out of the result.
#include "base/errors.h"
#include "index/terms.h"
#include "json/write.h"
#include "query/detail/page_run.h"

namespace orrery::query::detail {

using json::Value;

Status PageRun::run_blocking() {
    QueryRun run(request_.query, request_.parameters);
    const uint64_t skip = position_.order == Position::Order::kWhole ? position_.emitted : 0;
    uint64_t index = 0;
    json::Arena arena;
    std::vector<Value> rows;
    const auto take = [&] {
        for (const Value& row : rows) {
            if (index++ < skip) continue;
            if (page_full()) {
                more_ = true;
                break;
            }
            const std::string text = json::to_text(row, json::NumberForm::kCanonical);
            answer_.output_bytes += text.size();
            answer_.returned_bytes += text.size();
            answer_.rows.push_back(text);
            position_.emitted = index;
        }
        rows.clear();
    };
    position_.order = Position::Order::kWhole;
    position_.emitted = skip;
    if (request_.query.reads_items()) {
        rows_.emplace(request_, filter_);
        for (const Segment& segment : segments_of(request_, Position())) {
            TRY_STATUS(feed_segment(segment, run, rows, take));
            if (run.is_done() || more_ || cancelled()) break;
        }
    }
    if (!more_ && !cancelled()) {
        TRY_STATUS(run.finish(arena, rows));
        take();
    }
    if (answer_.work.empty() && !request_.partitions.empty()) work_of(0);
    return {};
}

Status PageRun::feed_segment(const Segment& segment, QueryRun& run, std::vector<Value>& rows,
                             const std::function<void()>& take) {
    PartitionWork& work = work_of(segment.partition);
    TRY(SegmentFacts facts, facts_of(request_, segment));
    TRY(const bool answered, feed_from_index(segment, facts, run, rows, take));
    if (answered) return {};
    constexpr uint64_t kCountMax = 65'536;
    TRY(Access access, choose_access(request_, segment, facts, filter_, true, kCountMax));
    AccessReport report;
    report.partition = segment.partition;
    report.access = access.kind == Access::Kind::kScan ? "scan" : "index";
    report.detail = access.detail;
    CandidateReader reader(request_, segment, std::move(access), nullptr);
    std::vector<Candidate> batch;
    while (!run.is_done() && !more_ && !cancelled()) {
        TRY(const bool any, reader.next(256, batch));
        if (!any) break;
        for (const Candidate& candidate : batch) {
            TRY_STATUS(item_.load(request_, candidate.document, candidate.docref));
            TRY(const bool served, rows_->passes_served(item_));
            if (!served) continue;
            ++answer_.retrieved_items;
            ++report.loaded;
            answer_.retrieved_bytes += item_.document().text.size();
            ++work.loaded_items;
            TRY_STATUS(run.feed(item_.value(), item_.arena(), rows));
            take();
            if (run.is_done() || more_) break;
        }
    }
    report.candidates = reader.seen();
    work_of(segment.partition).index_entries += reader.tested_terms();
    answer_.index_us += reader.index_us();
    answer_.load_us += reader.load_us();
    answer_.accesses.push_back(std::move(report));
    return {};
}

}  // namespace orrery::query::detail
