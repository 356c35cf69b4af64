#include <algorithm>

#include "base/check.h"
#include "query/bind/binder.h"

/// Computed properties of the container: each is compiled into the queries that use it.
namespace orrery::query {

/// A path from an item that has computed properties.
Bound Binder::item_path(const Binding& binding, std::span<const PathStep> path_steps) {
    using Kind = PathStep::Kind;
    if (!path_steps.empty() && path_steps[0].kind == Kind::kParameter) {
        // The request says which member it is.
        std::vector<std::string_view> names;
        std::vector<uint32_t> slots;
        uint64_t weight = binding.weight;
        for (const auto& definition : query_.container_computed_->definitions()) {
            const CompiledQuery::Computed* use = computed(definition.name);
            names.push_back(use->name);
            slots.push_back(use->slot);
            weight = std::max(
                weight, computed_weights_[static_cast<size_t>(use - query_.computed_.data())]);
        }
        const auto* member = make<NamedMemberNode>(
            binding.slot, static_cast<uint32_t>(path_steps[0].index), keep(names), keep(slots));
        return {make<PathNode>(member, path_steps.subspan(1)), weight, nullptr};
    }
    if (!path_steps.empty() && path_steps[0].kind == Kind::kName) {
        if (const CompiledQuery::Computed* use = computed(path_steps[0].name)) {
            const auto* node = make<SlotPathNode>(use->slot, path_steps.subspan(1));
            return {node, computed_weights_[static_cast<size_t>(use - query_.computed_.data())],
                    node};
        }
    }
    const auto* node = make<SlotPathNode>(binding.slot, path_steps);
    return {node, binding.weight, node};
}

/// The computed property of that name, compiled at its first use; null: there is none.
const CompiledQuery::Computed* Binder::computed(std::string_view name) {
    if (const CompiledQuery::Computed* known = query_.find_computed(name)) return known;
    const auto* definition = query_.container_computed_->find(name);
    if (definition == nullptr) return nullptr;
    auto syntax = parse_query(definition->query);
    CHECK(syntax.ok());  // was checked when the container took it
    const ast::Query& q = *(*syntax)->query;
    Scope scope;
    Binding item;
    item.name = source_name(q.sources[0]);
    item.slot = kItemSlot;
    scope.bindings.push_back(item);
    const Bound value = expr(*q.value, scope);
    computed_needs_.push_back(item_needs(q, false));
    computed_weights_.push_back(value.weight);
    query_.definitions_.push_back(std::move(*syntax));
    query_.computed_.push_back({definition->name, query_.slot_count_++, value.node});
    return &query_.computed_.back();
}

}  // namespace orrery::query
