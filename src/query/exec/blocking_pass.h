#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "query/exec/segments.h"
#include "query/exec/whole_rows.h"
#include "query/page.h"
#include "query/plan/position.h"

namespace orrery::query {

/// Owns what outlives a page. Its own request is the one of the first page.
class BlockingPass final : public ParkedPass {
public:
    BlockingPass(const PageRequest& first, Filter the_filter, bool keyed)
        : request(first),
          filter(std::move(the_filter)),
          run(request.query, request.parameters),
          segments(segments_of(request, Position())),
          batch(request.query.is_heavy() ? 4 : 256),
          result(request.query.root(), keyed) {
        request.cancelled = nullptr;
        request.parked = nullptr;
    }

    PageRequest request;
    const Filter filter;
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

    /// Rows borrow from the item that made them, which goes with the next one.
    Status keep_rows() {
        for (const json::Value& row : rows) TRY_STATUS(keep(row));
        rows.clear();
        return {};
    }
    Status keep(const json::Value& row) { return result.add(row, run.row_keys()); }
    size_t bytes() const override { return run.retained_bytes() + result.bytes(); }
};

}  // namespace orrery::query
