// What ORDER BY asks for, and which entries of the index can serve it.
#include <algorithm>

#include "base/errors.h"
#include "index/terms.h"
#include "query/bind/nodes.h"
#include "query/parse/hints.h"
#include "query/plan/composite_filter.h"
#include "query/plan/sql_plan.h"

namespace orrery::query {

using json::Value;

namespace {

bool is_rewritten_for_merge(const ast::Query& q) {
    bool rid = false;
    bool items = false;
    for (const ast::SelectItem& item : q.items) {
        items |= item.alias == "orderByItems";
        rid |= item.alias.empty() && item.expr->kind == ast::ExprKind::kPath &&
               item.expr->steps.back().is_name() && item.expr->steps.back().name == "_rid";
    }
    return rid && items;
}

/// The path of an ORDER BY key from the item, as index paths name it; nullopt: it is no path.
std::optional<IndexPathSteps> key_path(const ast::Query& q, const ast::Expr& e,
                                       bool& through_array) {
    IndexPathSteps steps;
    through_array = false;
    const auto append = [&](std::span<const ast::Step> more) {
        for (const ast::Step& step : more) {
            if (step.is_name()) {
                steps.push_back({false, std::string(step.name)});
            } else {
                through_array = true;
                steps.push_back({true, {}});
            }
        }
    };
    // A key names the item's alias, or a source that is a path of the item.
    const ast::Expr* source = q.sources[0].collection;
    if (source == nullptr) return std::nullopt;
    if (source->kind == ast::ExprKind::kPath) append(source->steps);
    if (e.kind == ast::ExprKind::kPath) append(e.steps);
    if (steps.empty()) return std::nullopt;
    return steps;
}

/// Names the index that would serve, unless a key is no path.
Error no_composite(const CompiledQuery& query, const IndexPlan& index,
                   const std::vector<IndexPathSteps>& paths) {
    std::string text =
        "The order by query does not have a corresponding composite index that it can be served "
        "from.";
    std::vector<hints::OrderKey> keys;
    for (size_t i = 0; i < paths.size(); ++i) {
        if (paths[i].empty()) return errors::bad_request(std::move(text));
        keys.push_back({paths[i], metric_path(paths[i]), query.root().order_by[i].descending});
    }
    return errors::bad_request(text + " " + hints::composite_index(index.settings->indexing, keys));
}

}  // namespace

bool composite_order(const std::vector<IndexPathSteps>& keys, bool use_index,
                     const IndexPlan& index, SortOrder& order) {
    const partition::ContainerSettings& settings = *index.settings;
    for (const index::CompositeIndex& composite : settings.indexing.composites) {
        if (composite.members.size() != keys.size()) continue;
        bool same = true;
        bool reversed = true;
        for (size_t i = 0; i < keys.size(); ++i) {
            const auto& member = composite.members[i];
            const bool path = member.steps == keys[i];
            same &= path && member.descending == order.descending[i];
            reversed &= path && member.descending != order.descending[i];
        }
        if (!same && !reversed) continue;
        order.composite = &composite;
        order.backward = reversed;
        order.path = index::composite_hash(settings.path_key, composite);
        order.from_index = use_index && settings.composite_usable(composite);
        // Leading members that the filter fixes narrow the walk, and so does a range of the next.
        CompositeReach reach = reach_of(index.filter, composite, settings);
        order.in_ranges = std::move(reach.conjuncts);
        order.ranges = std::move(reach.ranges);
        order.within_key = reach.within_key;
        return true;
    }
    // Compared in the directions of the keys themselves.
    order.backward = false;
    return false;
}

void path_order(const IndexPathSteps& path, bool use_index, const IndexPlan& index,
                SortOrder& order) {
    const partition::ContainerSettings& settings = *index.settings;
    order.steps = path;
    order.path = index::path_hash(settings.path_key, path);
    if (!use_index || !settings.path_usable(path)) return;
    order.from_index = true;
    std::vector<index::TermRange> ranges{index::term_ranges::undefined(),
                                         index::term_ranges::defined()};
    for (const Conjunct& conjunct : index.filter.conjuncts) {
        if (!conjunct.condition || !conjunct.condition->is_of_values(path)) continue;
        ranges = index::term_ranges::intersect(ranges, conjunct.condition->ranges);
    }
    const bool undefined_wanted =
        !ranges.empty() && ranges[0].begin == index::term_ranges::undefined().begin;
    // Every item has an id and a time.
    const bool always_there = path.size() == 1 && (path[0].name == "id" || path[0].name == "_ts");
    order.needs_undefined = undefined_wanted && !always_there && !settings.undefined_usable(path);
    if (order.needs_undefined) ranges.erase(ranges.begin());
    order.ranges = std::move(ranges);
}

Result<SortOrder> sort_order(const CompiledQuery& query, bool use_index, const IndexPlan& index) {
    const Level& root = query.root();
    const ast::Query& q = query.syntax();
    SortOrder order;
    order.by_rid = is_rewritten_for_merge(q);
    order.rid_descending = root.order_by[0].descending;
    order.backward = root.order_by[0].descending;
    std::vector<IndexPathSteps> keys;
    bool through_array = false;
    for (size_t i = 0; i < q.order_by.size(); ++i) {
        order.descending.push_back(root.order_by[i].descending);
        auto path = key_path(q, *q.order_by[i].expr, through_array);
        if (!path && root.order_by.size() == 1) return order;  // sorted
        if (!path || (through_array && root.order_by.size() > 1)) path.emplace();
        keys.push_back(std::move(*path));
    }
    if (keys.size() > 1) {
        const bool found = composite_order(keys, use_index, index, order);
        if (!found && use_index) return no_composite(query, index, keys);
        return order;
    }
    const IndexPathSteps& path = keys[0];
    const bool indexed = index::path_is_indexed(index.settings->indexing, path);
    // Computed properties are not indexed unless named: they are sorted.
    if (!indexed && query.is_hidden(path[0].name)) return order;
    if (use_index && !indexed)
        return errors::bad_request(
            "The index path corresponding to the specified order-by item is excluded. " +
            hints::excluded_path(index.settings->indexing, {path, metric_path(path)}));
    // The index does not tell elements apart: they are sorted.
    if (!through_array) path_order(path, use_index, index, order);
    return order;
}

void align_orders(PagePlan& plan) {
    const SortOrder& first = plan.indexes[0].order;
    for (IndexPlan& index : plan.indexes) {
        SortOrder& order = index.order;
        bool same = order.backward == first.backward;
        for (size_t key = 0; key < first.descending.size(); ++key)
            same &= order.inverts(key) == first.inverts(key);
        if (same) continue;
        order = first;
        order.from_index = false;
        order.ranges.clear();
        order.in_ranges.clear();
    }
}

}  // namespace orrery::query
