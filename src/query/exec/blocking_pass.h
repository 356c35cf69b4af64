#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "query/exec/candidate_reader.h"
#include "query/exec/page.h"
#include "query/exec/sql_rows.h"
#include "query/exec/whole_rows.h"
#include "query/plan/sql_plan.h"

namespace orrery::query {

/// Owns what outlives a page of a query whose rows are known only at the end. Its own request is
/// the one of the first page.
class BlockingPass final : public ParkedPass {
public:
    BlockingPass(const PageRequest& first, PagePlan the_plan, bool keyed)
        : request(first),
          plan(std::move(the_plan)),
          producer(request.query, request.parameters, request.scope.cancelled),
          run(request.query, request.parameters),
          segments(segments_of(request.scope, Position())),
          batch(request.query.is_heavy() ? 4 : 256),
          result(request.query.root(), keyed),
          makers(plan.indexes.size()) {
        request.scope.cancelled = nullptr;
        request.parked = nullptr;
    }

    PageRequest request;  ///< its sink is the first page's
    const PagePlan plan;
    const SqlProducer producer;
    QueryRun run;
    bool needs_keys = false;       ///< the result is known to be more than one page
    bool needs_no_body = false;    ///< items are counted as entries of the index
    bool choose_from_all = false;  ///< the run gives all rows, `window` says which leave
    RowWindow window;
    const std::vector<Segment> segments;
    const size_t batch;  ///< items between two looks at the clock
    size_t segment = 0;  ///< the one in progress
    std::unique_ptr<CandidateReader> reader;
    uint64_t loaded = 0;   ///< items of the segment in progress …
    uint64_t matched = 0;  ///< … and those of them that the filter let pass; untold yet
    struct Told {
        uint64_t candidates = 0;
        int64_t index_us = 0;
        int64_t load_us = 0;
    };
    Told told;                      ///< what earlier pages said of the reader's work
    std::vector<json::Value> rows;  ///< as they come, until keep_rows()
    WholeRows result;
    bool finished = false;
    size_t next = 0;       ///< of the result's rows, the one that leaves next …
    size_t end = 0;        ///< … and the first that does not leave any more
    uint64_t emitted = 0;  ///< rows returned so far, by all pages
    std::vector<std::unique_ptr<SqlRows>> makers;  ///< as the plan's indexes, when needed

    const IndexPlan& index_of(const Segment& one) const { return plan.of(one.partition); }
    SqlRows& rows_of(const Segment& one) {
        auto& maker = makers[plan.index_of[one.partition]];
        if (maker == nullptr)
            maker = std::make_unique<SqlRows>(request.query, request.parameters, index_of(one),
                                              request.scope.cancelled);
        return *maker;
    }

    /// Rows borrow from the item that made them, which goes with the next one.
    Status keep_rows() {
        for (const json::Value& row : rows) TRY_STATUS(keep(row));
        rows.clear();
        return {};
    }
    Status keep(const json::Value& row) { return result.add(row, run.row_keys()); }
    size_t bytes() const override { return run.retained_bytes() + result.bytes(); }
};

/// A page of a query whose rows are known only at the end.
Status run_blocking(const PageRequest& request, Page& page);

}  // namespace orrery::query
