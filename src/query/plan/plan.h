#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "query/plan/conditions.h"
#include "query/selection.h"

/// What a page is to do, as data. Made once per page; nothing in it changes while the page is made.
namespace orrery::query {

/// How an order of the index is served.
struct SortOrder {
    bool backward = false;        ///< the index is walked from its end
    bool by_rid = false;          ///< ties in `_rid` order, as clients expect who resume by it …
    bool rid_descending = false;  ///< … in this direction
    uint64_t path = 0;            ///< hash of the index path or composite
    IndexPathSteps steps;         ///< single key
    const index::CompositeIndex* composite = nullptr;
    std::vector<bool> descending;          ///< of each key
    std::vector<index::TermRange> ranges;  ///< entries that can match, ascending
    bool needs_undefined =
        false;                ///< items without the key belong to the result, but have no entry
    bool from_index = false;  ///< entries of the path (or composite) can be walked at all
    /// The ranges hold entries of one partition key alone.
    bool within_key = false;
    std::vector<size_t> in_ranges;  ///< conjuncts of the filter that the ranges say already

    /// Whether sort terms of this key stand inverted in a key of several.
    bool inverts(size_t key) const {
        return descending.size() > 1 &&
               (composite != nullptr ? composite->members[key].descending : descending[key]);
    }
};

/// What the index can do under one set of settings.
struct IndexPlan {
    partition::ContainerSettingsPtr settings;
    Filter filter;
    SortOrder order;  ///< PagePlan::Order::kIndex

    bool is_hidden(std::string_view name) const {
        return settings->indexing.computed != nullptr &&
               settings->indexing.computed->find(name) != nullptr;
    }
};

struct PagePlan {
    enum class Order : uint8_t { kNone, kIndex, kPrimary };
    Order order = Order::kNone;
    std::vector<IndexPlan> indexes;              ///< one per set of settings; at least one
    std::vector<size_t> index_of;                ///< of PageScope::sources, which of `indexes`
    std::optional<std::vector<ItemKey>> points;  ///< the only items that can match
    uint64_t skip = 0;                           ///< rows that are left out at first …
    uint64_t limit = UINT64_MAX;                 ///< … and that are wanted then
    bool shows_items = false;                    ///< every row is an unchanged item
    bool one_source = true;                      ///< an item has one row at most
    bool heavy = false;                          ///< one item may take long
    bool backward = false;                       ///< kPrimary
    IdBounds ids;                                ///< kPrimary

    const IndexPlan& of(size_t source) const { return indexes[index_of[source]]; }
    /// An item that has passed is its own only row.
    bool copies_items() const { return shows_items && one_source; }
};

/// Tries Condition::tests on the values of its path. Owned by one thread.
class ValueTester {
public:
    virtual ~ValueTester() = default;
    virtual bool passes(const json::Value& value, json::Arena& arena) = 0;
};

/// Decides about items and makes rows of them, one item after the other. Owned by one thread.
class RowMaker {
public:
    virtual ~RowMaker() = default;
    /// Takes an item in hand; all other calls are about it. Its bytes outlive them.
    virtual Status load(const json::Document& document, const storage::Docref& docref) = 0;
    /// Whether what the filter's conditions say holds.
    virtual Result<bool> passes_served() = 0;
    struct Tuples {
        uint64_t joined = 0;  ///< what FROM made of the item
        uint64_t passed = 0;  ///< what the rest of the filter let pass
        uint64_t rows = 0;
    };
    /// Of an item that has passed.
    virtual Result<Tuples> make_rows() = 0;
    /// Gives one of the rows that were made to a sink; its size there.
    virtual size_t show(size_t row, RowSink& sink) = 0;
    /// The value that a key of the order sorts by.
    virtual json::Value sort_value(size_t key) = 0;
};

/// Whoever makes plans: what they leave open.
class Producer {
public:
    virtual ~Producer() = default;
    virtual std::unique_ptr<ValueTester> value_tester(const Condition& condition) const = 0;
    /// For items of ranges with these settings; `index` outlives it.
    virtual std::unique_ptr<RowMaker> row_maker(const IndexPlan& index) const = 0;
};

/// Fills PagePlan::indexes and index_of. `make_index` completes a plan that has its settings.
template <typename MakeIndex>
Status plan_indexes(const PageScope& scope, PagePlan& plan, const MakeIndex& make_index) {
    for (const SourceRange& source : scope.sources) {
        size_t at = 0;
        while (at < plan.indexes.size() && plan.indexes[at].settings != source.settings) ++at;
        if (at == plan.indexes.size()) {
            IndexPlan& index = plan.indexes.emplace_back();
            index.settings = source.settings;
            TRY_STATUS(make_index(index));
        }
        plan.index_of.push_back(at);
    }
    return {};
}

/// Sort keys of all ranges must compare: where the index of one orders otherwise than that of the
/// first, its items are sorted.
void align_orders(PagePlan& plan);

}  // namespace orrery::query
