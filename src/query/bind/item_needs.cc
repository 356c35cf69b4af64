#include "query/bind/item_needs.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/limits.h"
#include "json/item.h"

namespace orrery::query {
namespace {

using ast::Expr;
using ast::ExprKind;

/// Follows every name that stands for the item. A name that a subquery binds to something else is
/// followed too, which selects too much at worst.
class Collector {
public:
    Collector(ItemNeeds& needs, const ComputedNeeds& computed)
        : needs_(needs), computed_(computed) {}

    void bind_items(const ast::Query& q) {
        if (q.sources.empty()) return;
        const ast::Source& first = q.sources[0];
        if (first.query != nullptr) return bind_items(*first.query);
        if (first.collection->kind == ExprKind::kIdentifier && !first.iterate)
            names_.push_back(first.alias.empty() ? first.collection->name : first.alias);
    }

    void query(const ast::Query& q, bool from_item, bool copies_item) {
        for (size_t i = 0; i < q.sources.size(); ++i) {
            const ast::Source& s = q.sources[i];
            if (s.query != nullptr) {
                query(*s.query, from_item && i == 0, false);
            } else if (!from_item || i > 0) {
                expr(*s.collection);
            } else if (s.collection->kind == ExprKind::kPath) {
                add(*s.collection);
            } else if (s.collection->kind != ExprKind::kIdentifier || s.iterate) {
                needs_.whole = true;
            }
        }
        if (!copies_item) projection(q, from_item);
        if (q.where != nullptr) expr(*q.where);
        for (const Expr* key : q.group_by) expr(*key);
        for (const ast::OrderItem& item : q.order_by) expr(*item.expr);
    }

private:
    void projection(const ast::Query& q, bool from_item) {
        if (q.value != nullptr) expr(*q.value);
        for (const ast::SelectItem& item : q.items) expr(*item.expr);
        if (q.select_kind == ast::SelectKind::kStar && from_item && !q.sources.empty() &&
            q.sources[0].collection != nullptr &&
            q.sources[0].collection->kind == ExprKind::kIdentifier)
            needs_.whole = true;
    }

    bool is_item(const Expr& e) const {
        return e.kind == ExprKind::kIdentifier &&
               std::find(names_.begin(), names_.end(), e.name) != names_.end();
    }

    /// The names that lead from the item to a value.
    void add(const Expr& path) {
        json::MemberPath names;
        for (const ast::Step& step : path.steps) {
            // Items end before that, and what is selected is walked by recursion.
            if (!step.is_name() || names.size() > orrery::limits::kNestingDepthMax) break;
            names.emplace_back(step.name);
        }
        if (names.empty()) {
            needs_.whole = true;
            return;
        }
        if (const ItemNeeds* more = computed_ ? computed_(names[0]) : nullptr) {
            needs_.whole |= more->whole;
            needs_.system |= more->system;
            for (const json::MemberPath& path_names : more->paths) add_names(path_names);
            return;
        }
        needs_.system |= json::is_system_property(names[0]);
        add_names(std::move(names));
    }

    void add_names(json::MemberPath names) {
        if (known_.insert(names).second) needs_.paths.push_back(std::move(names));
    }

    void expr(const Expr& e) {
        if (is_item(e)) {
            needs_.whole = true;
            return;
        }
        if (e.query != nullptr) query(*e.query, false, false);
        if (e.kind == ExprKind::kPath) {
            is_item(*e.args[0]) ? add(e) : expr(*e.args[0]);
            for (const ast::Step& step : e.steps)
                if (step.expr != nullptr) expr(*step.expr);
            return;
        }
        for (const Expr* part : e.args) expr(*part);
    }

    ItemNeeds& needs_;
    const ComputedNeeds& computed_;
    std::set<json::MemberPath> known_;
    std::vector<std::string_view> names_;
};

}  // namespace

ItemNeeds item_needs(const ast::Query& query, bool copies_item, const ComputedNeeds& computed) {
    ItemNeeds needs;
    Collector collector(needs, computed);
    collector.bind_items(query);
    collector.query(query, true, copies_item);
    return needs;
}

}  // namespace orrery::query
