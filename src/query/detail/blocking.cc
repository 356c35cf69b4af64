// Queries whose rows are known only at the end. A pass over the items is longer than a page may be:
// between pages it is parked, with everything it has gathered.
#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "query/detail/blocking_pass.h"
#include "query/detail/page_run.h"

namespace orrery::query::detail {

/// A window that one page shows is filled by the first rows that come. The rows of a longer one
/// must be chosen again by every page that finds the pass lost: from all of them, by their order.
std::unique_ptr<BlockingPass> PageRun::begin_pass(uint64_t skip, bool choose_from_all) const {
    auto pass = std::make_unique<BlockingPass>(request_, filter_);
    const Level& root = request_.query.root();
    if (!root.has_window() || !root.order_by.empty()) return pass;
    pass->choose_from_all =
        choose_from_all || skip > 0 || pass->run.window().count > request_.rows_max;
    if (pass->choose_from_all) pass->window = pass->run.take_window();
    return pass;
}

/// Rows leave as they came if they are one page. Otherwise the rest of them must be found again,
/// even after the pass was lost and other partitions bring them in another order: then their texts
/// decide, unless the query does. False: they are more than a page and were not chosen from all.
bool PageRun::settle_order(BlockingPass& pass, uint64_t skip) {
    pass.texts.reserve(pass.ends.size());
    for (size_t begin = 0; const size_t end : pass.ends) {
        pass.texts.push_back(std::string_view(pass.text).substr(begin, end - begin));
        begin = end;
    }
    pass.settled = true;
    const bool one_page = skip == 0 && pass.texts.size() <= request_.rows_max &&
                          pass.text.size() <= request_.bytes_max;
    const Level& root = request_.query.root();
    const bool by_text = root.order_by.empty() && (!one_page || pass.choose_from_all);
    if (by_text && root.has_window() && !pass.choose_from_all) return false;
    if (by_text) std::sort(pass.texts.begin(), pass.texts.end());
    const auto rows = static_cast<uint64_t>(pass.texts.size());
    const uint64_t first = std::min(pass.window.skip, rows);
    pass.texts.erase(pass.texts.begin(), pass.texts.begin() + static_cast<ptrdiff_t>(first));
    pass.texts.resize(std::min(pass.window.count, rows - first));
    pass.emitted = std::min<uint64_t>(skip, pass.texts.size());
    return true;
}

Status PageRun::run_blocking() {
    const uint64_t skip = resume_.order == Position::Order::kWhole ? resume_.emitted : 0;
    std::unique_ptr<BlockingPass> pass;
    if (request_.parked != nullptr && *request_.parked != nullptr) {
        pass.reset(static_cast<BlockingPass*>(request_.parked->release()));
    } else {
        pass = begin_pass(skip, false);
    }
    // A pass that was lost is made up for in one go: it could be lost again.
    const bool may_park =
        request_.owner != nullptr && (resume_.order == Position::Order::kStart || pass->settled ||
                                      pass->segment > 0 || pass->reader);
    pass->run.watch(&request_.cancelled);
    flow_.known = !pass->settled;
    RowCounts before = pass->run.counts();
    rows_.emplace(pass->request, pass->filter);
    position_ = Position();
    position_.order = Position::Order::kWhole;
    for (;;) {
        while (!pass->finished) {
            if (cancelled()) return {};
            if (may_park && out_of_time()) break;
            TRY_STATUS(advance(*pass));
        }
        if (!pass->finished || pass->settled || settle_order(*pass, skip)) break;
        pass = begin_pass(skip, true);
        before = {};
        pass->run.watch(&request_.cancelled);
        rows_.emplace(pass->request, pass->filter);
    }
    for (; pass->settled && pass->emitted < pass->texts.size(); ++pass->emitted) {
        const std::string_view text = pass->texts[pass->emitted];
        if (page_full(text.size())) break;
        answer_.output_bytes += text.size();
        answer_.returned_bytes += text.size();
        answer_.rows.add(text);
    }
    more_ = !pass->settled || pass->emitted < pass->texts.size();
    position_.emitted = pass->settled ? pass->emitted : skip;
    answer_.whole_range = more_;
    if (answer_.work.empty() && !request_.partitions.empty()) work_of(0);
    if (pass->reader != nullptr && flow_.known) tell_access(*pass);
    if (request_.explain) note_flow(*pass, before);
    pass->run.watch(nullptr);
    if (more_ && request_.owner != nullptr) answer_.parked = std::move(pass);
    return {};
}

/// Adds what the reader has done since it was asked last to the page's account.
void PageRun::tell_access(BlockingPass& pass) {
    const CandidateReader& reader = *pass.reader;
    const Segment& segment = pass.segments[pass.segment];
    AccessReport report;
    report.partition = segment.partition;
    report.access = reader.access().kind == Access::Kind::kScan ? "scan" : "index";
    report.detail = detail_of(reader.access(), segment);
    report.candidates = reader.seen() - pass.told.candidates;
    report.loaded = std::exchange(pass.loaded, 0);
    report.matched = std::exchange(pass.matched, 0);
    answer_.index_us += reader.index_us() - pass.told.index_us;
    answer_.load_us += reader.load_us() - pass.told.load_us;
    pass.told = {reader.seen(), reader.index_us(), reader.load_us()};
    answer_.accesses.push_back(std::move(report));
}

/// Rows between the clauses since `before`. TOP, OFFSET and LIMIT are met by the run, or by all of
/// its rows together.
void PageRun::note_flow(const BlockingPass& pass, const RowCounts& before) {
    const RowCounts now = pass.run.counts();
    flow_.counts = {
        .joined = now.joined - before.joined,
        .passed = now.passed - before.passed,
        .groups = now.groups - before.groups,
        .projected = now.projected - before.projected,
        .distinct = now.distinct - before.distinct,
        .sorted = now.sorted - before.sorted,
        .offered = pass.choose_from_all ? pass.ends.size() : now.offered - before.offered,
        .emitted = pass.choose_from_all ? pass.texts.size() : now.emitted - before.emitted};
    const bool grouped = request_.query.root().grouped;
    flow_.to_project = grouped ? flow_.counts.groups : flow_.counts.passed;
    flow_.finished = pass.finished;
}

/// Feeds a batch, or what an index alone can say of a segment, or ends the pass.
Status PageRun::advance(BlockingPass& pass) {
    if (!pass.request.query.reads_items() || pass.segment == pass.segments.size() ||
        pass.run.is_done()) {
        pass.finished = true;
        return pass.run.finish([&](const json::Value& row) { return pass.keep(row); });
    }
    const Segment& segment = pass.segments[pass.segment];
    const auto next_segment = [&] {
        if (pass.reader != nullptr) {
            work_of(segment.partition).index_entries += pass.reader->tested_terms();
            tell_access(pass);
        }
        pass.reader.reset();
        pass.told = {};
        ++pass.segment;
    };
    work_of(segment.partition);
    if (pass.reader == nullptr) {
        TRY(SegmentFacts facts, facts_of(pass.request, segment));
        TRY(const bool answered, feed_from_index(segment, facts, pass));
        if (answered) {
            next_segment();
            return {};
        }
        constexpr uint64_t kCountMax = 65'536;
        TRY(Access access,
            choose_access(pass.request, segment, facts, pass.filter, true, kCountMax));
        pass.reader = std::make_unique<CandidateReader>(pass.request, segment, std::move(access),
                                                        CandidateReader::Start());
    }
    PartitionWork& work = work_of(segment.partition);
    TRY(const bool any,
        pass.reader->each(pass.batch, [&](const Candidate& candidate) -> Result<bool> {
            TRY_STATUS(item_.load(pass.request, candidate.decoded, candidate.docref));
            TRY(const bool served, rows_->passes_served(item_));
            ++pass.loaded;
            if (!served) return true;
            ++answer_.retrieved_items;
            answer_.retrieved_bytes += item_.document().text.size();
            ++work.loaded_items;
            const uint64_t tuples = pass.run.tuples();
            TRY_STATUS(pass.run.feed(item_.value(), item_.arena(), pass.rows));
            if (pass.run.tuples() > tuples) {
                ++pass.matched;
                ++answer_.matched_items;
                work.join_tuples += pass.run.tuples() - tuples - 1;
            }
            TRY_STATUS(pass.keep_rows());
            return !pass.run.is_done();
        }));
    if (!any) next_segment();
    return {};
}

}  // namespace orrery::query::detail
