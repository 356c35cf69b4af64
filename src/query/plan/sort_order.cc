// What ORDER BY asks for, and which entries of the index can serve it.
#include <algorithm>

#include "base/errors.h"
#include "index/terms.h"
#include "query/bind/nodes.h"
#include "query/exec/page_run.h"
#include "query/parse/hints.h"
#include "query/plan/composite_filter.h"
#include "query/plan/sort_terms.h"

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

/// The path of an ORDER BY key from the item, as index paths name it; nullopt: it is none.
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

}  // namespace

Result<SortOrder> PageRun::sort_order() const {
    const Level& root = request_.query.root();
    const ast::Query& q = request_.query.syntax();
    SortOrder order;
    order.by_rid = is_rewritten_for_merge(q);
    order.rid_descending = root.order_by[0].descending;
    order.backward = root.order_by[0].descending;
    if (root.order_by.size() > 1) {
        TRY(SortOrder composite, composite_order());
        composite.by_rid = order.by_rid;
        composite.rid_descending = order.rid_descending;
        return composite;
    }
    bool through_array = false;
    const auto path = key_path(q, *q.order_by[0].expr, through_array);
    if (!path) return order;  // sorted
    const partition::ContainerSettings& settings = *request_.settings;
    const bool indexed = index::path_is_indexed(settings.indexing, *path);
    // Computed properties are not indexed unless named: they are sorted.
    if (!indexed && request_.query.is_hidden((*path)[0].name)) return order;
    if (request_.use_index && !indexed)
        return errors::bad_request(
            "The index path corresponding to the specified order-by item is excluded. " +
            hints::excluded_path(settings.indexing, {*path, metric_path(*path)}));
    if (through_array) return order;  // sorted: the index does not tell elements apart
    order.steps = *path;
    order.path = index::path_hash(settings.path_key, *path);
    if (!request_.use_index || !settings.path_usable(*path)) return order;
    order.from_index = true;
    std::vector<index::TermRange> ranges{index::term_ranges::undefined(),
                                         index::term_ranges::defined()};
    for (const Conjunct& conjunct : filter_.conjuncts) {
        if (!conjunct.condition || !conjunct.condition->is_of_values(*path)) continue;
        ranges = index::term_ranges::intersect(ranges, conjunct.condition->ranges);
    }
    const bool undefined_wanted =
        !ranges.empty() && ranges[0].begin == index::term_ranges::undefined().begin;
    // Every item has an id and a time.
    const bool always_there =
        path->size() == 1 && ((*path)[0].name == "id" || (*path)[0].name == "_ts");
    order.needs_undefined = undefined_wanted && !always_there && !settings.undefined_usable(*path);
    if (order.needs_undefined) ranges.erase(ranges.begin());
    order.ranges = std::move(ranges);
    return order;
}

Result<SortOrder> PageRun::composite_order() const {
    const Level& root = request_.query.root();
    const ast::Query& q = request_.query.syntax();
    const partition::ContainerSettings& settings = *request_.settings;
    SortOrder order;
    std::vector<IndexPathSteps> keys;
    for (const ast::OrderItem& item : q.order_by) {
        bool through_array = false;
        auto path = key_path(q, *item.expr, through_array);
        if (!path || through_array) path.emplace();
        keys.push_back(std::move(*path));
    }
    for (const index::CompositeIndex& composite : settings.indexing.composites) {
        if (composite.members.size() != keys.size()) continue;
        bool same = true;
        bool reversed = true;
        for (size_t i = 0; i < keys.size(); ++i) {
            const auto& member = composite.members[i];
            const bool path = member.steps == keys[i];
            same &= path && member.descending == root.order_by[i].descending;
            reversed &= path && member.descending != root.order_by[i].descending;
        }
        if (!same && !reversed) continue;
        order.composite = &composite;
        order.backward = reversed;
        order.path = index::composite_hash(settings.path_key, composite);
        order.from_index = request_.use_index && settings.composite_usable(composite);
        narrow_walk(order);
        return order;
    }
    if (!request_.use_index) {
        // Compared in the directions of the query itself.
        return order;
    }
    return no_composite(keys);
}

/// Says which index would do, unless a key is no path that one could have.
Error PageRun::no_composite(const std::vector<IndexPathSteps>& paths) const {
    std::string text =
        "The order by query does not have a corresponding composite index that it can be served "
        "from.";
    std::vector<hints::OrderKey> keys;
    for (size_t i = 0; i < paths.size(); ++i) {
        if (paths[i].empty()) return errors::bad_request(std::move(text));
        keys.push_back(
            {paths[i], metric_path(paths[i]), request_.query.root().order_by[i].descending});
    }
    return errors::bad_request(text + " " +
                               hints::composite_index(request_.settings->indexing, keys));
}

/// Leading members that the filter fixes narrow the walk, and so does a range of the next one.
void PageRun::narrow_walk(SortOrder& order) const {
    CompositeReach reach = reach_of(filter_, *order.composite, *request_.settings);
    for (const size_t i : reach.conjuncts) order.in_ranges.push_back(&filter_.conjuncts[i]);
    order.ranges = std::move(reach.ranges);
    order.within_key = reach.within_key;
}

/// The place of an item; `cut`: as its index entry says it.
std::string PageRun::sort_key(LoadedItem& item, bool cut) {
    const Level& root = request_.query.root();
    std::string out;
    for (size_t i = 0; i < root.order_by.size(); ++i) {
        const Value value = rows_->key(item, i);
        const bool several = root.order_by.size() > 1;
        const size_t from = out.size();
        if (cut) {
            index::append_term(out, value);
        } else {
            append_uncut_term(out, value);
        }
        if (!several) continue;
        const bool descending = order_.composite != nullptr
                                    ? order_.composite->members[i].descending
                                    : root.order_by[i].descending;
        if (descending) invert_term(out, from);
    }
    return out;
}

}  // namespace orrery::query
