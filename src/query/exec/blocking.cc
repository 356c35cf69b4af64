// Queries whose rows are known only at the end. A pass over the items is longer than a page may be:
// between pages it is parked, with everything it has gathered.
#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "query/exec/blocking_pass.h"
#include "query/exec/index_only.h"
#include "query/plan/cost.h"

namespace orrery::query {

namespace {

/// One page of such a query. Owned by one thread.
class Blocking {
public:
    Blocking(const PageRequest& request, Page& page) : request_(request), page_(page) {}
    Status run();

private:
    std::unique_ptr<BlockingPass> begin_pass(bool several_pages) const;
    bool settle_order(BlockingPass& pass) const;
    bool needs_no_body(const IndexPlan& index) const;
    Status gather(std::unique_ptr<BlockingPass>& pass, bool may_park, RowCounts& before);
    void show(BlockingPass& pass);
    /// An earlier page has shown rows of the result.
    bool has_rows_out() const {
        return page_.resume.order == Position::Order::kWhole && page_.resume.emitted > 0;
    }
    Status advance(BlockingPass& pass);
    Status feed(BlockingPass& pass, const Segment& segment, const Candidate& candidate);
    void leave_segment(BlockingPass& pass);
    void tell_access(BlockingPass& pass);
    void note_flow(const BlockingPass& pass, const RowCounts& before);

    const PageRequest& request_;
    Page& page_;
};

/// Whether the index has all that the query asks for: then items are counted as entries, however
/// they are read.
bool Blocking::needs_no_body(const IndexPlan& index) const {
    const CompiledQuery& query = request_.query;
    const Level& root = query.root();
    const ItemNeeds& output = query.output_needs();
    if ((!root.grouped && !root.distinct) || root.sources.size() != 1 ||
        query.item_alias().empty() || query.has_udf() || output.whole)
        return false;
    const auto is_looked_up = [](const Conjunct& conjunct) {
        return conjunct.condition && conjunct.condition->walks() == 0;
    };
    if (!index.filter.conjuncts.empty() &&
        (!index.filter.is_exact() ||
         !std::all_of(index.filter.conjuncts.begin(), index.filter.conjuncts.end(), is_looked_up)))
        return false;
    return std::all_of(output.paths.begin(), output.paths.end(), [&](const json::MemberPath& path) {
        IndexPathSteps steps;
        for (const std::string& name : path) steps.push_back({false, name});
        return !query.is_hidden(path[0]) && index.settings->path_usable(steps);
    });
}

/// If one page shows the whole window, the first rows fill it. A longer window must be found again
/// by a page that has lost the pass, so all rows are needed, in a fixed order. `several_pages`:
/// that there will be more than one is known.
std::unique_ptr<BlockingPass> Blocking::begin_pass(bool several_pages) const {
    // For short pages keys are kept from the start. A result of several long pages is computed a
    // second time, with keys.
    constexpr uint64_t kFewRows = 10'000;
    const bool resumed = has_rows_out();
    auto pass = std::make_unique<BlockingPass>(
        request_, page_.plan, several_pages || resumed || page_.scope.rows_max <= kFewRows);
    pass->needs_keys = several_pages || resumed;
    const auto& indexes = page_.plan.indexes;
    pass->needs_no_body = std::all_of(indexes.begin(), indexes.end(),
                                      [&](const IndexPlan& index) { return needs_no_body(index); });
    const Level& root = request_.query.root();
    if (!root.has_window()) return pass;
    // The query's own order chooses the same rows every time.
    const bool in_order = !root.order_by.empty();
    pass->choose_from_all =
        resumed ||
        (!in_order && (several_pages || pass->run.window().count > page_.scope.rows_max));
    if (pass->choose_from_all) pass->window = pass->run.take_window();
    return pass;
}

/// Rows leave as they came if they are one page. Otherwise the rest of them must be found again,
/// even after the pass was lost and other partitions bring them in another order: then their keys
/// decide, unless the query does. False: they are more than a page and were gathered for one.
bool Blocking::settle_order(BlockingPass& pass) const {
    WholeRows& result = pass.result;
    const bool one_page = !has_rows_out() && result.count() <= page_.scope.rows_max &&
                          result.text_bytes() <= page_.scope.bytes_max;
    const Level& root = request_.query.root();
    const bool by_key = root.order_by.empty() && (!one_page || pass.choose_from_all);
    if (by_key && root.has_window() && !pass.choose_from_all) return false;
    if ((by_key || !one_page) && !result.has_keys()) return false;
    result.settle(by_key);
    pass.emitted = page_.resume.emitted;
    pass.next = has_rows_out()
                    ? result.find(page_.resume)
                    : static_cast<size_t>(std::min<uint64_t>(pass.window.skip, result.count()));
    const uint64_t left = pass.window.count - std::min(pass.window.count, pass.emitted);
    pass.end = pass.next + std::min<uint64_t>(left, result.count() - pass.next);
    return true;
}

/// Until all rows are gathered and in their order, or the page must end.
Status Blocking::gather(std::unique_ptr<BlockingPass>& pass, bool may_park, RowCounts& before) {
    for (;;) {
        while (!pass->finished) {
            if (page_.cancelled()) return {};
            if (may_park && page_.out_of_time()) return {};
            TRY_STATUS(advance(*pass));
        }
        if (pass->result.settled() || settle_order(*pass)) return {};
        pass = begin_pass(true);
        before = {};
        pass->run.watch(&request_.scope.cancelled);
    }
}

void Blocking::show(BlockingPass& pass) {
    for (; pass.next < pass.end; ++pass.next, ++pass.emitted) {
        const std::string_view text = pass.result.text(pass.next);
        if (page_.full(text.size())) break;
        page_.add_text(text);
    }
    page_.more = !pass.result.settled() || pass.next < pass.end;
    if (page_.more && pass.next > 0 && pass.emitted > 0) {
        pass.result.note(pass.next, page_.position);
        page_.position.emitted = pass.emitted;
    }
    page_.answer.whole_range = page_.more;
}

Status Blocking::run() {
    std::unique_ptr<BlockingPass> pass;
    if (request_.parked != nullptr && *request_.parked != nullptr) {
        pass.reset(static_cast<BlockingPass*>(request_.parked->release()));
    } else {
        pass = begin_pass(false);
    }
    // A lost pass is repeated in one go, because it could be lost again.
    const bool may_park =
        request_.owner != nullptr && (page_.resume.order == Position::Order::kStart ||
                                      pass->result.settled() || pass->segment > 0 || pass->reader);
    pass->run.watch(&request_.scope.cancelled);
    page_.flow.known = !pass->result.settled();
    RowCounts before = pass->run.counts();
    page_.position = page_.resume;
    page_.position.order = Position::Order::kWhole;
    TRY_STATUS(gather(pass, may_park, before));
    if (page_.cancelled()) return {};
    show(*pass);
    page_.touch_one();
    if (pass->reader != nullptr && page_.flow.known) tell_access(*pass);
    if (page_.scope.explain) note_flow(*pass, before);
    pass->run.watch(nullptr);
    if (page_.more && request_.owner != nullptr) page_.answer.parked = std::move(pass);
    return {};
}

/// Adds what the reader has done since it was asked last to the page's account.
void Blocking::tell_access(BlockingPass& pass) {
    const CandidateReader& reader = *pass.reader;
    const Segment& segment = pass.segments[pass.segment];
    AccessReport report;
    report.partition = segment.partition;
    report.access = reader.access().kind == Access::Kind::kScan ? "scan" : "index";
    report.detail = reader.access().detail;
    report.candidates = reader.seen() - pass.told.candidates;
    report.loaded = std::exchange(pass.loaded, 0);
    report.matched = std::exchange(pass.matched, 0);
    page_.answer.index_us += reader.index_us() - pass.told.index_us;
    page_.answer.load_us += reader.load_us() - pass.told.load_us;
    pass.told = {reader.seen(), reader.index_us(), reader.load_us()};
    page_.answer.accesses.push_back(std::move(report));
}

/// Rows between the clauses since `before`. TOP, OFFSET and LIMIT are met by the run, or by all of
/// its rows together.
void Blocking::note_flow(const BlockingPass& pass, const RowCounts& before) {
    const RowCounts now = pass.run.counts();
    page_.flow.counts = {
        .joined = now.joined - before.joined,
        .passed = now.passed - before.passed,
        .groups = now.groups - before.groups,
        .projected = now.projected - before.projected,
        .distinct = now.distinct - before.distinct,
        .sorted = now.sorted - before.sorted,
        .offered = pass.choose_from_all ? pass.result.count() : now.offered - before.offered,
        // Those of the window, on this page and on later ones.
        .emitted = pass.choose_from_all ? pass.end - pass.next + page_.answer.row_count
                                        : now.emitted - before.emitted};
    const bool grouped = request_.query.root().grouped;
    page_.flow.to_project = grouped ? page_.flow.counts.groups : page_.flow.counts.passed;
    page_.flow.finished = pass.finished;
}

void Blocking::leave_segment(BlockingPass& pass) {
    if (pass.reader != nullptr) {
        page_.work_of(pass.segments[pass.segment].partition).index_entries +=
            pass.reader->tested_terms();
        tell_access(pass);
    }
    pass.reader.reset();
    pass.told = {};
    ++pass.segment;
}

Status Blocking::feed(BlockingPass& pass, const Segment& segment, const Candidate& candidate) {
    PartitionWork& work = page_.work_of(segment.partition);
    SqlRows& item = pass.rows_of(segment);
    TRY_STATUS(item.load(candidate.decoded, candidate.docref));
    TRY(const bool served, item.passes_served());
    ++pass.loaded;
    if (!served) return {};
    if (pass.needs_no_body) {
        ++work.index_entries;
    } else {
        ++page_.answer.retrieved_items;
        page_.answer.retrieved_bytes += item.document().text_bytes();
        ++work.loaded_items;
    }
    const uint64_t tuples = pass.run.tuples();
    TRY_STATUS(pass.run.feed(item.value(), item.arena(), pass.rows));
    if (pass.run.tuples() > tuples) {
        ++pass.matched;
        if (!pass.needs_no_body) ++page_.answer.matched_items;
        work.join_tuples += pass.run.tuples() - tuples - 1;
    }
    return pass.keep_rows();
}

/// Feeds a batch, or what an index alone can say of a segment, or ends the pass.
Status Blocking::advance(BlockingPass& pass) {
    if (!pass.request.query.reads_items() || pass.segment == pass.segments.size() ||
        pass.run.is_done()) {
        pass.finished = true;
        return pass.run.finish([&](const json::Value& row) { return pass.keep(row); });
    }
    const Segment& segment = pass.segments[pass.segment];
    page_.work_of(segment.partition);
    if (pass.reader == nullptr) {
        TRY(SegmentFacts facts,
            SegmentFacts::find(pass.request.scope, pass.producer, pass.index_of(segment), segment));
        TRY(const bool answered, IndexOnly(page_, pass, facts).feed());
        if (answered) {
            leave_segment(pass);
            return {};
        }
        TRY(Access access,
            choose_access(facts, {.terms_allowed = true, .count_cap = cost::kCountMax}));
        pass.reader =
            std::make_unique<CandidateReader>(pass.request.scope, pass.producer, segment,
                                              std::move(access), CandidateReader::Start());
    }
    do {
        TRY(const Candidate* candidate, pass.reader->next(pass.batch));
        if (candidate == nullptr) {
            leave_segment(pass);
            return {};
        }
        TRY_STATUS(feed(pass, segment, *candidate));
    } while (!pass.reader->is_between_batches() && !pass.run.is_done());
    return {};
}

}  // namespace

Status run_blocking(const PageRequest& request, Page& page) {
    return Blocking(request, page).run();
}

}  // namespace orrery::query
