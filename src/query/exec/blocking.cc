// Queries whose rows are known only at the end. A pass over the items is longer than a page may be:
// between pages it is parked, with everything it has gathered.
#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "query/exec/blocking_pass.h"
#include "query/exec/page_run.h"

namespace orrery::query {

/// Whether the index has all that the query asks for: then items are counted as entries, however
/// they are read.
bool PageRun::needs_no_body() const {
    const CompiledQuery& query = request_.query;
    const Level& root = query.root();
    const ItemNeeds& output = query.output_needs();
    if ((!root.grouped && !root.distinct) || root.sources.size() != 1 ||
        query.item_alias().empty() || query.has_udf() || output.whole)
        return false;
    const auto is_looked_up = [](const Conjunct& conjunct) {
        return conjunct.condition && conjunct.condition->walks() == 0;
    };
    if (!filter_.conjuncts.empty() &&
        (!filter_.is_exact() ||
         !std::all_of(filter_.conjuncts.begin(), filter_.conjuncts.end(), is_looked_up)))
        return false;
    return std::all_of(output.paths.begin(), output.paths.end(), [&](const json::MemberPath& path) {
        IndexPathSteps steps;
        for (const std::string& name : path) steps.push_back({false, name});
        return !query.is_hidden(path[0]) && request_.settings->path_usable(steps);
    });
}

/// A window that one page shows is filled by the first rows that come. The rows of a longer one
/// must be chosen again by every page that finds the pass lost: from all of them, by their order.
/// `several_pages`: that there will be more than one is known.
std::unique_ptr<BlockingPass> PageRun::begin_pass(bool several_pages) const {
    // Keys are kept from the start where a page has few rows; a result of more than one long page
    // is computed a second time with them.
    constexpr uint64_t kFewRows = 10'000;
    const bool resumed = has_rows_out();
    auto pass = std::make_unique<BlockingPass>(
        request_, filter_, several_pages || resumed || request_.rows_max <= kFewRows);
    pass->needs_keys = several_pages || resumed;
    pass->needs_no_body = needs_no_body();
    const Level& root = request_.query.root();
    if (!root.has_window()) return pass;
    // The query's own order chooses the same rows every time.
    const bool in_order = !root.order_by.empty();
    pass->choose_from_all =
        resumed || (!in_order && (several_pages || pass->run.window().count > request_.rows_max));
    if (pass->choose_from_all) pass->window = pass->run.take_window();
    return pass;
}

/// Rows leave as they came if they are one page. Otherwise the rest of them must be found again,
/// even after the pass was lost and other partitions bring them in another order: then their keys
/// decide, unless the query does. False: they are more than a page and were gathered for one.
bool PageRun::settle_order(BlockingPass& pass) const {
    WholeRows& result = pass.result;
    const bool one_page = !has_rows_out() && result.count() <= request_.rows_max &&
                          result.text_bytes() <= request_.bytes_max;
    const Level& root = request_.query.root();
    const bool by_key = root.order_by.empty() && (!one_page || pass.choose_from_all);
    if (by_key && root.has_window() && !pass.choose_from_all) return false;
    if ((by_key || !one_page) && !result.has_keys()) return false;
    result.settle(by_key);
    pass.emitted = resume_.emitted;
    pass.next = has_rows_out()
                    ? result.find(resume_)
                    : static_cast<size_t>(std::min<uint64_t>(pass.window.skip, result.count()));
    const uint64_t left = pass.window.count - std::min(pass.window.count, pass.emitted);
    pass.end = pass.next + std::min<uint64_t>(left, result.count() - pass.next);
    return true;
}

Status PageRun::run_blocking() {
    std::unique_ptr<BlockingPass> pass;
    if (request_.parked != nullptr && *request_.parked != nullptr) {
        pass.reset(static_cast<BlockingPass*>(request_.parked->release()));
    } else {
        pass = begin_pass(false);
    }
    // A pass that was lost is made up for in one go: it could be lost again.
    const bool may_park =
        request_.owner != nullptr && (resume_.order == Position::Order::kStart ||
                                      pass->result.settled() || pass->segment > 0 || pass->reader);
    pass->run.watch(&request_.cancelled);
    flow_.known = !pass->result.settled();
    RowCounts before = pass->run.counts();
    rows_.emplace(pass->request, pass->filter);
    position_ = resume_;
    position_.order = Position::Order::kWhole;
    for (;;) {
        while (!pass->finished) {
            if (cancelled()) return {};
            if (may_park && out_of_time()) break;
            TRY_STATUS(advance(*pass));
        }
        if (!pass->finished || pass->result.settled() || settle_order(*pass)) break;
        pass = begin_pass(true);
        before = {};
        pass->run.watch(&request_.cancelled);
        rows_.emplace(pass->request, pass->filter);
    }
    for (; pass->next < pass->end; ++pass->next, ++pass->emitted) {
        const std::string_view text = pass->result.text(pass->next);
        if (page_full(text.size())) break;
        answer_.output_bytes += text.size();
        answer_.returned_bytes += text.size();
        answer_.rows.add(text);
    }
    more_ = !pass->result.settled() || pass->next < pass->end;
    if (more_ && pass->next > 0 && pass->emitted > 0) {
        pass->result.note(pass->next, position_);
        position_.emitted = pass->emitted;
    }
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
    report.detail = detail_of(request_, reader.access(), segment);
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
        .offered = pass.choose_from_all ? pass.result.count() : now.offered - before.offered,
        // Those of the window, on this page and on later ones.
        .emitted = pass.choose_from_all ? pass.end - pass.next + answer_.rows.size()
                                        : now.emitted - before.emitted};
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
        TRY(Access access, choose_access(pass.request, segment, facts, pass.filter,
                                         {.terms_allowed = true, .count_cap = kCountMax}));
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
            if (pass.needs_no_body) {
                ++work.index_entries;
            } else {
                ++answer_.retrieved_items;
                answer_.retrieved_bytes += item_.document().text_bytes();
                ++work.loaded_items;
            }
            const uint64_t tuples = pass.run.tuples();
            TRY_STATUS(pass.run.feed(item_.value(), item_.arena(), pass.rows));
            if (pass.run.tuples() > tuples) {
                ++pass.matched;
                if (!pass.needs_no_body) ++answer_.matched_items;
                work.join_tuples += pass.run.tuples() - tuples - 1;
            }
            TRY_STATUS(pass.keep_rows());
            return !pass.run.is_done();
        }));
    if (!any) next_segment();
    return {};
}

}  // namespace orrery::query
