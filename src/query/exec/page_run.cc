#include "query/exec/page_run.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/errors.h"
#include "index/terms.h"
#include "json/write.h"
#include "partition/client_item.h"
#include "query/plan/composite_filter.h"
#include "storage/light_view.h"

namespace orrery::query {

using json::Value;
using storage::Docref;

namespace {

/// About what the server adds to an item.
constexpr size_t kSystemPropertiesBytes = 256;

uint64_t count_of(const BoundCount& count, const Parameters& parameters, uint64_t otherwise) {
    switch (count.kind) {
        case BoundCount::Kind::kNone:
            return otherwise;
        case BoundCount::Kind::kConstant:
            return count.value;
        case BoundCount::Kind::kParameter:
            return static_cast<uint64_t>(parameters.values()[count.parameter].as_double());
    }
    return otherwise;
}

}  // namespace

Window::Window(const PageRequest& request, const Position& position)
    : skipped_(position.skipped), emitted_(position.emitted) {
    const Level& level = request.query.root();
    offset_ = count_of(level.offset, request.parameters, 0);
    limit_ = std::min(count_of(level.limit, request.parameters, UINT64_MAX),
                      count_of(level.top, request.parameters, UINT64_MAX));
}

bool Window::take() {
    if (skipped_ < offset_) {
        ++skipped_;
        return false;
    }
    ++emitted_;
    return true;
}

uint64_t Window::wanted() const {
    const uint64_t rows = limit_ - std::min(limit_, emitted_);
    const uint64_t skips = offset_ - skipped_;
    return rows > UINT64_MAX - skips ? UINT64_MAX : rows + skips;
}

PageRun::PageRun(const PageRequest& request) : request_(request), writer_(*request.settings) {
    answer_.rows = RowTexts(request.front);
}

namespace {

/// Who wants few rows is not served by long counting.
uint64_t count_cap(uint64_t rows_wanted) {
    constexpr uint64_t kMax = 65'536;
    return rows_wanted < kMax / 32 ? 256 + 32 * rows_wanted : kMax;
}

}  // namespace

PartitionWork& PageRun::work_of(size_t partition) {
    for (PartitionWork& work : answer_.work)
        if (work.partition == partition) return work;
    PartitionWork work;
    work.partition = partition;
    work.seeks = filter_.seeks();
    // A key that only the header gives is one look-up, too.
    if (request_.full_epk && work.seeks == 0) work.seeks = 1;
    answer_.work.push_back(work);
    return answer_.work.back();
}

void PageRun::add_row(const Value& row, const Docref& docref, std::string_view bytes) {
    answer_.rows.add_with([&](std::string& text) {
        const size_t before = text.size();
        if (request_.query.returns_whole_item()) {
            const auto document = json::decode_document(bytes);
            writer_.append(text, *document, docref);
            answer_.returned_bytes += document->text_bytes();
        } else {
            json::write(text, row, json::NumberForm::kCanonical);
            answer_.returned_bytes += text.size() - before;
        }
        answer_.output_bytes += text.size() - before;
    });
}

Result<PageAnswer> PageRun::run() {
    const int64_t began = request_.clock.monotonic_us();
    if (!request_.position.empty()) {
        TRY(resume_, Position::decode(request_.position));
        position_ = resume_;
    }
    IndexFacts facts;
    facts.is_indexed = [&](const IndexPathSteps& path) {
        return request_.settings->path_usable(path);
    };
    facts.posts_undefined = [&](const IndexPathSteps& path) {
        return request_.settings->undefined_usable(path);
    };
    facts.spatial = [&](const IndexPathSteps& path) {
        return request_.settings->spatial_usable(path);
    };
    filter_ = analyze_filter(request_.query, request_.parameters, facts);
    use_composites(filter_, *request_.settings);
    const Level& root = request_.query.root();
    const bool by_row = !root.grouped && !root.distinct && root.reads_items &&
                        (root.sources[0].query == nullptr || root.sources[0].query->is_streaming());
    answer_.plan_us = request_.clock.monotonic_us() - began;
    if (!by_row) {
        // Such rows are sorted in memory, and need the index that others are read from all the
        // same.
        if (root.distinct && !root.grouped && !root.order_by.empty() && root.reads_items &&
            root.sources[0].query == nullptr)
            TRY_STATUS(sort_order().status().clone());
        TRY_STATUS(run_blocking());
    } else {
        window_.emplace(request_, position_);
        rows_.emplace(request_, filter_);
        if (!root.order_by.empty()) {
            TRY_STATUS(run_ordered());
            if (order_.by_rid) answer_.rids_fall = order_.rid_descending;
        } else if (!window_->closed()) {
            TRY(const bool done, run_points());
            if (!done) TRY_STATUS(run_unordered());
        }
    }
    if (cancelled()) return errors::request_timeout("The client has gone.");
    note_index_use();
    if (request_.explain) note_operators();
    if (more_ && !(window_ && window_->closed())) {
        if (window_) {
            position_.skipped = window_->skipped();
            position_.emitted = window_->emitted();
            answer_.whole_range = window_->to_skip() > 0;
        }
        answer_.position = position_.encode();
        // The item knows its own place, as long as it stays as it is.
        if (answer_.position.size() > request_.position_bytes_max &&
            position_.order == Position::Order::kSorted) {
            position_.term.clear();
            position_.key.clear();
            answer_.position = position_.encode();
        }
    }
    return std::move(answer_);
}

/// Turns one candidate into rows. kPageFull: the item's rows from `rows_done` on are left.
Result<PageRun::Step> PageRun::take_item(std::string_view document, const Docref& docref,
                                         Found found, size_t partition, uint64_t& rows_done) {
    const bool single = request_.query.root().sources.size() == 1;
    const size_t row_bytes = least_row_bytes(document.size());
    if (page_full(row_bytes)) return Step::kPageFull;
    uint64_t bytes = 0;
    RowMaker::Tuples tuples{1, 1};
    if (found != Found::kPerhaps && single && request_.query.returns_whole_item()) {
        TRY(const auto decoded, json::decode_document(document));
        bytes = decoded.text_bytes();
        row_values_.assign(1, Value());
    } else {
        TRY_STATUS(item_.load(request_, document, docref));
        bytes = item_.document().text_bytes();
        if (found == Found::kPerhaps) {
            TRY(const bool served, rows_->passes_served(item_));
            if (!served) return Step::kGoOn;
        }
        row_values_.clear();
        TRY(tuples, rows_->rows(item_, row_values_));
    }
    flow_.to_project += tuples.passed;
    flow_.counts.projected += row_values_.size();
    if (found != Found::kMatched) {
        flow_.counts.joined += tuples.joined;
        flow_.counts.passed += tuples.passed;
    }
    if (rows_done == 0 && found != Found::kMatched) {
        ++answer_.retrieved_items;
        if (tuples.passed > 0 || found == Found::kCertain) ++answer_.matched_items;
        answer_.retrieved_bytes += bytes;
        PartitionWork& work = work_of(partition);
        ++work.loaded_items;
        if (row_values_.size() > 1) work.join_tuples += row_values_.size() - 1;
    }
    for (uint64_t i = rows_done; i < row_values_.size(); ++i) {
        if (window_->closed()) return Step::kClosed;
        if (page_full(row_bytes)) {
            rows_done = i;
            return Step::kPageFull;
        }
        if (window_->take()) add_row(row_values_[i], docref, document);
    }
    rows_done = 0;
    return window_->closed() ? Step::kClosed : Step::kGoOn;
}

// --- items that the filter names ----------------------------------------------------------------

namespace {

/// The first few are told by name, of more the number.
void append_id(AccessReport& report, const std::string& id) {
    constexpr uint64_t kNamed = 3;
    constexpr size_t kTextBytesMax = 200;
    std::string& text = report.detail;
    const std::string more =
        (report.candidates == 1 ? "id " : ", ") + json::to_text(Value::string(id));
    if (report.candidates <= kNamed && text.size() + more.size() <= kTextBytesMax) {
        text += more;
    } else {
        text = std::to_string(report.candidates) + (report.candidates == 1 ? " id" : " ids");
    }
}

}  // namespace

Result<bool> PageRun::run_points() {
    const auto& key = request_.settings->key;
    const auto candidates = point_candidates(request_.query, request_.parameters, key.member_paths);
    if (!candidates || request_.query.root().sources.size() != 1) return false;
    std::vector<std::pair<std::string, const std::string*>> pins;  // EPK, id
    for (const auto& candidate : *candidates) {
        std::string epk;
        if (candidate.key && candidate.key->size() == key.paths.size()) {
            auto computed = partition::effective_partition_key(key, *candidate.key);
            if (!computed.ok()) continue;  // no item can have such a key
            epk = std::move(computed).value();
        } else if (request_.full_epk) {
            epk = *request_.full_epk;
        } else {
            return false;
        }
        pins.emplace_back(std::move(epk), &candidate.id);
    }
    const uint64_t skip = position_.order == Position::Order::kWhole ? position_.item_rows : 0;
    const auto report_of = [&](size_t partition) -> AccessReport& {
        for (AccessReport& report : answer_.accesses)
            if (report.partition == partition) return report;
        AccessReport& report = answer_.accesses.emplace_back();
        report.partition = partition;
        report.access = "points";
        return report;
    };
    position_.order = Position::Order::kWhole;
    for (uint64_t at = 0; at < pins.size(); ++at) {
        const auto& [epk, id] = pins[at];
        // A position counts all of them, so that it holds in every part of the range.
        if (at < skip || !request_.range.contains(epk)) continue;
        size_t index = 0;
        while (index < request_.partitions.size() &&
               !request_.partitions[index]->identity().range.contains(epk))
            ++index;
        if (index == request_.partitions.size()) continue;
        work_of(index);
        AccessReport& report = report_of(index);
        ++report.candidates;
        if (request_.explain) append_id(report, *id);
        partition::OperationResult read;
        storage::ReadBudget* const budget = storage::budget_of(*request_.view);
        if (budget == nullptr) {
            read = request_.partitions[index]->read(epk, *id, "");
        } else {
            auto cached = request_.partitions[index]->read_cached(epk, *id, "");
            budget->exceeded |= !cached;
            if (!cached) return errors::internal("An item is not in memory.");
            read = std::move(*cached);
        }
        if (!read.has_item) {
            if (!read.status.ok() && read.status.error().code != Code::kNotFound)
                return std::move(read.status);
            continue;
        }
        uint64_t rows_done = 0;
        const uint64_t matched = answer_.matched_items;
        TRY(const Step step,
            take_item(*read.item.document, read.item.docref, Found::kPerhaps, index, rows_done));
        report.loaded += step == Step::kPageFull ? 0 : 1;
        report.matched += answer_.matched_items - matched;
        if (step == Step::kClosed) break;
        if (step == Step::kPageFull) {
            position_.item_rows = at;
            more_ = true;
            break;
        }
    }
    if (answer_.work.empty()) work_of(0);
    if (answer_.accesses.empty()) report_of(0);
    for (PartitionWork& work : answer_.work) work.seeks = std::max<uint64_t>(work.seeks, 1);
    return true;
}

// --- rows in any order --------------------------------------------------------------------------

Status PageRun::run_unordered() {
    const auto segments = segments_of(request_, position_);
    for (size_t i = 0; i < segments.size(); ++i) {
        position_.pieces.clear();
        for (size_t j = i + 1; j < segments.size() && segments[j].resumed; ++j)
            position_.pieces.push_back({segments[j].range.max, segments[j].resume_term,
                                        segments[j].resume_docref, segments[j].resume_rows});
        TRY(const bool go_on, run_segment(segments[i], i + 1 == segments.size()));
        if (!go_on) break;
    }
    if (answer_.work.empty() && !request_.partitions.empty()) work_of(0);
    return {};
}

/// False when the page is done.
Result<bool> PageRun::run_segment(const Segment& segment, bool last) {
    const int64_t began = request_.clock.monotonic_us();
    const bool resumed = segment.resumed;
    const bool left_by_terms = resumed && position_.order == Position::Order::kTerms;
    TRY(SegmentFacts facts, facts_of(request_, segment));
    Access access;
    if (left_by_terms) {
        // The page before left in the order of this path.
        const auto left_by = [&](const Condition& condition, size_t conjuncts) {
            if (condition.kind != Condition::Kind::kTerms ||
                condition.entries_hash(request_.settings->path_key) != position_.path)
                return;
            access.kind = Access::Kind::kTerms;
            access.terms = &condition;
            if (request_.explain) access.detail = condition_text(condition);
            access.exact = filter_.conjuncts.size() == conjuncts && filter_.is_exact();
        };
        for (const Conjunct& conjunct : filter_.conjuncts)
            if (conjunct.condition) left_by(*conjunct.condition, 1);
        for (const CompositeCondition& one : filter_.composites)
            left_by(one.condition, one.conjuncts.size());
        if (access.terms == nullptr || !facts.index_complete)
            return errors::bad_request(
                "The continuation token does not fit the container any more: its indexing policy "
                "has "
                "changed. Start the query again.");
    } else if (!segment.scanned) {
        const uint64_t wanted = window_->wanted();
        TRY(access, choose_access(request_, segment, facts, filter_,
                                  {.terms_allowed = !resumed,
                                   .count_cap = count_cap(wanted),
                                   .rows = wanted,
                                   .page_rows = request_.rows_max}));
    }
    answer_.plan_us += request_.clock.monotonic_us() - began;

    const bool by_terms = access.kind == Access::Kind::kTerms;
    const Position::Order order = by_terms                             ? Position::Order::kTerms
                                  : access.kind == Access::Kind::kScan ? Position::Order::kScan
                                                                       : Position::Order::kDocref;
    AccessReport report;
    report.partition = segment.partition;
    report.access = access.kind == Access::Kind::kScan ? "scan" : "index";
    report.detail = detail_of(request_, access, segment);
    const bool exact = access.exact;
    uint64_t expected = exact && access.counted && request_.query.returns_whole_item()
                            ? std::min<uint64_t>(access.estimate, request_.rows_max)
                            : 0;
    const uint64_t path = by_terms ? access.terms->entries_hash(request_.settings->path_key) : 0;
    CandidateReader::Start start;
    if (resumed) start = {segment.resume_term, segment.resume_docref, segment.resume_rows > 0};
    CandidateReader reader(request_, segment, std::move(access), start);
    work_of(segment.partition);
    position_.order = order;
    position_.segment_min = segment.range.min;
    position_.segment_max = segment.range.max;
    position_.path = path;
    position_.term = segment.resume_term;
    position_.docref = segment.resume_docref;
    position_.item_rows = segment.resume_rows;
    const uint64_t matched_before = answer_.matched_items;
    const auto done = [&](bool go_on) {
        report.candidates = reader.seen();
        report.matched = answer_.matched_items - matched_before;
        answer_.index_us += reader.index_us();
        answer_.load_us += reader.load_us();
        work_of(segment.partition).index_entries += reader.tested_terms();
        answer_.accesses.push_back(std::move(report));
        return go_on;
    };
    const bool heavy = request_.query.is_heavy();
    size_t batch_size = 16;
    constexpr size_t kBatchMax = 256;
    bool ended = false;  // by the page, the window or the time
    const auto take = [&](const Candidate& candidate) -> Result<bool> {
        const bool same = resumed && candidate.docref.bytes() == segment.resume_docref &&
                          candidate.term == segment.resume_term;
        uint64_t rows_done = same ? segment.resume_rows : 0;
        const Found found = exact && candidate.certain ? Found::kCertain : Found::kPerhaps;
        if (const uint64_t rows = std::exchange(expected, 0); rows > 1)
            answer_.rows.expect(rows, candidate.document.size() + kSystemPropertiesBytes);
        TRY(const Step step,
            take_item(candidate.document, candidate.docref, found, segment.partition, rows_done));
        ended = step != Step::kGoOn;
        // What the full page had no room for is the next page's.
        if (step != Step::kPageFull || rows_done > 0) ++report.loaded;
        more_ |= step == Step::kPageFull;
        // A page that is full before the item has given a row goes on behind the one before it.
        if (step == Step::kClosed || (step == Step::kPageFull && rows_done == 0)) return false;
        position_.docref.assign(candidate.docref.bytes());
        position_.term.assign(candidate.term);
        position_.item_rows = rows_done;
        // Others are not worth a look at the clock each.
        if (step == Step::kGoOn && heavy && out_of_time()) ended = more_ = true;
        return !ended;
    };
    while (true) {
        const uint64_t left =
            request_.rows_max - std::min<uint64_t>(request_.rows_max, answer_.rows.size());
        const size_t size =
            exact ? std::clamp<size_t>(std::min(left + 1, window_->wanted()), 1, kBatchMax)
                  : batch_size;
        TRY(const bool any, reader.each(size, std::cref(take)));
        if (ended) return done(false);
        if (!any) break;
        batch_size = std::min(batch_size * 2, kBatchMax);
        if (out_of_time() || cancelled()) {
            more_ = true;
            return done(false);
        }
    }
    // The next segment starts afresh.
    position_.docref.clear();
    position_.term.clear();
    position_.item_rows = 0;
    position_.segment_min = segment.range.max;
    position_.segment_max = segment.range.max;
    if (page_full(0) && !last) {
        more_ = true;
        return done(false);
    }
    return done(true);
}

}  // namespace orrery::query

namespace orrery::query {

Result<PageAnswer> execute_page(const PageRequest& request) {
    return PageRun(request).run();
}

}  // namespace orrery::query
