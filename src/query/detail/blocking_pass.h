#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "query/detail/position.h"
#include "query/detail/segments.h"
#include "query/page.h"

namespace orrery::query::detail {

/// Owns what outlives a page. Its own request is the one of the first page.
class BlockingPass final : public ParkedPass {
public:
    BlockingPass(const PageRequest& first, Filter the_filter)
        : request(first),
          filter(std::move(the_filter)),
          run(request.query, request.parameters),
          segments(segments_of(request, Position())) {
        request.cancelled = nullptr;
        request.parked = nullptr;
    }

    PageRequest request;
    const Filter filter;
    QueryRun run;
    bool choose_from_all = false;  ///< the run gives all rows, `window` says which leave
    RowWindow window;
    const std::vector<Segment> segments;
    size_t segment = 0;  ///< the one in progress
    std::unique_ptr<CandidateReader> reader;
    uint64_t loaded = 0;            ///< items of the segment in progress …
    uint64_t fed = 0;               ///< … and those of them that went on
    json::Arena arena;              ///< of the rows
    std::vector<json::Value> rows;  ///< as they come
    size_t kept_rows = 0;           ///< of them: copied into `arena`
    bool finished = false;
    bool settled = false;  ///< all rows are in `texts`, in the order in which they leave
    std::vector<std::string_view> texts;
    std::string text_bytes;  ///< that they lie in
    uint64_t emitted = 0;    ///< rows returned so far

    /// Rows borrow from the item that made them, which goes with the next one.
    void keep_rows() {
        for (; kept_rows < rows.size(); ++kept_rows)
            rows[kept_rows] = json::copy_value(rows[kept_rows], arena);
    }
};

}  // namespace orrery::query::detail
