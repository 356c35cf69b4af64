#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "query/exec/row_maker.h"
#include "query/exec/segments.h"
#include "query/page.h"
#include "query/plan/position.h"

namespace orrery::query {

/// OFFSET, LIMIT and TOP over a stream of rows that is read page by page.
class Window {
public:
    Window(const PageRequest& request, const Position& position);
    /// Counts one row; true when it is to be returned.
    bool take();
    /// No further row can be returned.
    bool closed() const { return emitted_ >= limit_; }
    uint64_t skipped() const { return skipped_; }
    uint64_t emitted() const { return emitted_; }
    uint64_t to_skip() const { return offset_ - skipped_; }
    void skip(uint64_t rows) { skipped_ += rows; }  ///< at most to_skip()
    /// Rows until nobody wants more, those to be skipped included.
    uint64_t wanted() const;

private:
    uint64_t offset_ = 0;
    uint64_t limit_ = UINT64_MAX;
    uint64_t skipped_ = 0;
    uint64_t emitted_ = 0;
};

/// How ORDER BY is served.
struct SortOrder {
    bool backward = false;        ///< the index is walked from its end
    bool by_rid = false;          ///< ties in `_rid` order, as clients expect who resume by it …
    bool rid_descending = false;  ///< … in this direction
    uint64_t path = 0;            ///< hash of the index path or composite
    IndexPathSteps steps;         ///< single key
    const index::CompositeIndex* composite = nullptr;
    std::vector<index::TermRange> ranges;  ///< entries that can match, ascending
    bool needs_undefined =
        false;                ///< items without the key belong to the result, but have no entry
    bool from_index = false;  ///< entries of the path (or composite) can be walked at all
    /// The ranges hold entries of one partition key alone.
    bool within_key = false;
    std::vector<const Conjunct*> in_ranges;  ///< what of the filter the ranges say already
};

/// A path as people write it in a policy: quoted where it must be, without ending.
std::string metric_path(const IndexPathSteps& path);

class BlockingPass;

/// One page in the making.
class PageRun {
public:
    explicit PageRun(const PageRequest& request);
    Result<PageAnswer> run();

private:
    friend class OrderedSegment;

    // page_run.cc
    Result<bool> run_points();
    Status run_unordered();
    Result<bool> run_segment(const Segment& segment, bool last);
    enum class Step : uint8_t { kGoOn, kPageFull, kClosed };
    /// What is known of an item before it is looked at.
    enum class Found : uint8_t {
        kPerhaps,  ///< the WHERE clause is still to be tested
        kCertain,  ///< the index has decided it
        kMatched,  ///< it was tested and counted
    };
    Result<Step> take_item(std::string_view document, const storage::Docref& docref, Found found,
                           size_t partition, uint64_t& rows_done);

    // operators.cc
    void note_operators();
    std::string written(ast::Range range) const;
    void note_sources();
    void note_rest();

    // index_use.cc
    void note_index_use();
    void note_potential_composite();

    // ordered.cc
    Status run_ordered();
    Result<SortOrder> sort_order() const;
    Result<SortOrder> composite_order() const;
    void narrow_walk(SortOrder& order) const;
    Error no_composite(const std::vector<IndexPathSteps>& paths) const;
    std::string sort_key(LoadedItem& item, bool cut);
    Status find_position_key();

    // blocking.cc
    Status run_blocking();
    std::unique_ptr<BlockingPass> begin_pass(bool several_pages) const;
    bool settle_order(BlockingPass& pass) const;
    bool needs_no_body() const;
    /// An earlier page has shown rows of a result that is computed whole.
    bool has_rows_out() const {
        return resume_.order == Position::Order::kWhole && resume_.emitted > 0;
    }
    Status advance(BlockingPass& pass);
    void tell_access(BlockingPass& pass);
    void note_flow(const BlockingPass& pass, const RowCounts& before);

    // index_only.cc
    struct IndexOnly;
    Result<bool> feed_from_index(const Segment& segment, SegmentFacts& facts, BlockingPass& pass);
    Result<bool> feed_count(IndexOnly& only);
    Result<bool> feed_values(IndexOnly& only);
    Result<bool> feed_counted(IndexOnly& only, const Condition& condition);
    Result<bool> prepare_index_only(IndexOnly& only);
    static std::string text_of(const IndexOnly& only);
    static Result<bool> prepare_in_key(IndexOnly& only);
    static bool is_one_run(const IndexOnly& only);
    Status feed_item_at(IndexOnly& only, std::string_view docref);

    /// Whether the page has no room for a row of so many bytes. A row alone may be any size.
    bool page_full(size_t row_bytes) const {
        if (answer_.rows.empty()) return request_.rows_max == 0;
        return answer_.rows.size() >= request_.rows_max ||
               answer_.output_bytes >= request_.bytes_max ||
               row_bytes > request_.bytes_max - answer_.output_bytes;
    }
    /// What is known of the size of an item's rows before they are made.
    size_t least_row_bytes(size_t item_bytes) const {
        return request_.query.returns_whole_item() ? item_bytes : 0;
    }
    bool out_of_time() const {
        return request_.deadline_us != INT64_MAX &&
               request_.clock.monotonic_us() > request_.deadline_us;
    }
    bool cancelled() const { return request_.cancelled && request_.cancelled(); }
    PartitionWork& work_of(size_t partition);
    void add_row(const json::Value& row, const storage::Docref& docref, std::string_view document);

    const PageRequest& request_;
    Position resume_;    ///< where the page starts
    Position position_;  ///< where it ends
    Filter filter_;
    std::optional<RowMaker> rows_;
    std::optional<Window> window_;
    partition::ItemWriter writer_;
    LoadedItem item_;
    std::vector<json::Value> row_values_;
    SortOrder order_;
    /// Rows between the clauses, in this page. Without GROUP BY, aggregates and DISTINCT a clause
    /// is met item by item.
    struct Flow {
        RowCounts counts;
        uint64_t to_project = 0;  ///< what came to SELECT
        uint64_t tested = 0;      ///< ORDER BY: items that came to WHERE
        std::optional<uint64_t> sorted_in;
        uint64_t sorted_out = 0;
        bool merged = false;
        uint64_t merged_out = 0;
        bool finished = true;  ///< all rows were gathered
        bool known = true;     ///< false: an earlier page gathered them
    };
    Flow flow_;
    bool order_may_walk_ = false;  ///< in a large enough container ORDER BY would walk its index
    std::string position_key_;     ///< ORDER BY: uncut key of the position's item
    bool more_ = false;
    PageAnswer answer_;
};

}  // namespace orrery::query
