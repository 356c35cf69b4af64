#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "query/exec/run.h"
#include "query/plan/plan.h"
#include "query/plan/position.h"

namespace orrery::query {

/// OFFSET, LIMIT and TOP over a stream of rows that is read page by page.
class Window {
public:
    Window(uint64_t offset, uint64_t limit, const Position& position)
        : offset_(offset), limit_(limit), skipped_(position.skipped), emitted_(position.emitted) {}
    /// Counts one row; true when it is to be returned.
    bool take() {
        const bool shown = skipped_ >= offset_;
        ++(shown ? emitted_ : skipped_);
        return shown;
    }
    /// No further row can be returned.
    bool closed() const { return emitted_ >= limit_; }
    uint64_t skipped() const { return skipped_; }
    uint64_t emitted() const { return emitted_; }
    uint64_t to_skip() const { return offset_ - skipped_; }
    void skip(uint64_t rows) { skipped_ += rows; }  ///< at most to_skip()
    /// Rows until no more are wanted, including those to be skipped.
    uint64_t wanted() const {
        const uint64_t rows = limit_ - std::min(limit_, emitted_);
        return rows > UINT64_MAX - to_skip() ? UINT64_MAX : rows + to_skip();
    }

private:
    uint64_t offset_;
    uint64_t limit_;
    uint64_t skipped_;
    uint64_t emitted_;
};

/// Rows between the clauses, in one page, for people. Without GROUP BY, aggregates and DISTINCT a
/// clause is met item by item.
struct Flow {
    RowCounts counts;
    uint64_t to_project = 0;  ///< what came to SELECT
    uint64_t tested = 0;      ///< orders: items that came to the filter
    std::optional<uint64_t> sorted_in;
    uint64_t sorted_out = 0;
    bool merged = false;
    uint64_t merged_out = 0;
    bool finished = true;         ///< all rows were gathered
    bool known = true;            ///< false: an earlier page gathered them
    bool order_may_walk = false;  ///< in a large enough container the order would walk its index
};

/// What is known of an item before it is looked at.
enum class Known : uint8_t {
    kPerhaps,  ///< the filter is still to be tested
    kCertain,  ///< the index has decided it
    kMatched,  ///< it was tested and counted
};

/// An item that a source found. Valid until the source goes on.
struct FoundItem {
    json::Document document;
    size_t stored_bytes = 0;
    storage::Docref docref;
    Known known = Known::kPerhaps;
    size_t source = 0;       ///< index in PageScope::sources
    uint64_t rows_done = 0;  ///< rows of it that an earlier page has shown
};

/// What became of an item.
enum class Taken : uint8_t {
    kWhole,     ///< all of its rows are out
    kPageFull,  ///< those behind the first `rows_done` are left
    kClosed,    ///< nobody wants more rows
};

class Page;

/// An operator that finds items, in an order in which every page can go on. It pauses between two
/// items: its place is in the page's position. Owned by one thread.
class ItemSource {
public:
    virtual ~ItemSource() = default;
    /// The next item; null: there is none, or the page must end (Page::more says so).
    virtual Result<const FoundItem*> next(Page& page) = 0;
    /// Notes what became of it.
    virtual void note(Page& page, Taken taken, uint64_t rows_done) = 0;
    /// Adds what it did to the page's account; once, at the end.
    virtual void tell(Page& page) = 0;
};

/// One page in the making: what is asked, what there is so far, what it has cost. The operators of
/// a page share it. Owned by one thread.
class Page {
public:
    /// All outlive this.
    Page(const PageScope& the_scope, const PagePlan& the_plan, const Producer& the_producer,
         Position from);

    const PageScope& scope;
    const PagePlan& plan;
    const Producer& producer;
    const Position resume;  ///< where the page starts
    Position position;      ///< where it ends
    Window window;
    PageAnswer answer;
    Flow flow;
    bool more = false;  ///< there is, or may be, more behind the position

    /// Makes rows of what a source finds until the page is full or there is no more. The window
    /// must be open.
    Status fill(ItemSource& source);
    /// The answer, once everything is told. `by_window`: the window of the plan was applied here.
    PageAnswer finish(bool by_window);

    /// Whether the page has no room for a row of so many bytes. A row alone may be any size.
    bool full(size_t row_bytes) const {
        if (answer.row_count == 0) return scope.rows_max == 0;
        return answer.row_count >= scope.rows_max || answer.output_bytes >= scope.bytes_max ||
               row_bytes > scope.bytes_max - answer.output_bytes;
    }
    /// What is known of the size of an item's rows before they are made.
    size_t least_row_bytes(size_t item_bytes) const { return plan.shows_items ? item_bytes : 0; }
    bool out_of_time() const {
        return scope.deadline_us != INT64_MAX && scope.clock.monotonic_us() > scope.deadline_us;
    }
    bool cancelled() const { return scope.cancelled && scope.cancelled(); }
    PartitionWork& work_of(size_t source);
    /// One partition is always asked and paid, even if nothing was found.
    void touch_one() {
        if (answer.work.empty()) work_of(0);
    }
    RowMaker& rows_of(size_t source);
    void add_text(std::string_view row);

private:
    Result<Taken> take(const FoundItem& item, uint64_t& rows_done);

    std::vector<std::unique_ptr<RowMaker>> makers_;  ///< as PagePlan::indexes, when needed
};

/// The operators for plans that show rows as items come.
std::unique_ptr<ItemSource> read_points();
std::unique_ptr<ItemSource> read_segments(const Page& page);
std::unique_ptr<ItemSource> read_primary(const Page& page);
Result<std::unique_ptr<ItemSource>> read_in_order(Page& page);

// index_use.cc, operators_report.cc
void note_index_use(Page& page);
void note_operators(const CompiledQuery& query, bool by_row, Page& page);

}  // namespace orrery::query
