#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/keyed_hash.h"
#include "base/status.h"
#include "index/computed.h"
#include "index/geometry.h"
#include "json/select.h"
#include "query/bind/item_needs.h"
#include "query/bind/level.h"
#include "query/functions/like.h"
#include "query/functions/spatial.h"
#include "query/functions/values.h"
#include "query/parse/parser.h"

namespace orrery::query {

/// A query text, bound and compiled. Immutable: shared between threads and requests. Parameters are
/// known by name and get their values per run.
class CompiledQuery {
public:
    CompiledQuery() = default;
    CompiledQuery(const CompiledQuery&) = delete;
    CompiledQuery& operator=(const CompiledQuery&) = delete;

    std::string_view text() const { return syntax_->text; }
    const ast::Query& syntax() const { return *syntax_->query; }
    const Level& root() const { return *root_; }
    /// Names with '@', in order of first use.
    const std::vector<std::string_view>& parameters() const { return parameters_; }
    /// Which of parameters() it is; nullopt: the query does not use it.
    std::optional<uint32_t> find_parameter(std::string_view name) const {
        const auto found = parameter_places_.find(name);
        if (found == parameter_places_.end()) return std::nullopt;
        return found->second;
    }
    /// Indexes of parameters that are used as geometries.
    const std::vector<uint32_t>& geometry_parameters() const { return geometry_parameters_; }
    /// How a call that relates an item to a constant geometry was compiled; null for other calls.
    const SpatialNode* spatial_call(const ast::Expr& call) const {
        const auto found = spatial_calls_.find(&call);
        return found == spatial_calls_.end() ? nullptr : found->second;
    }
    uint32_t slot_count() const { return slot_count_; }

    /// A computed property of the container that the query uses. It is evaluated once per item,
    /// over what the item stores.
    struct Computed {
        std::string_view name;
        uint32_t slot = 0;
        const Node* value = nullptr;
    };
    const std::vector<Computed>& computed() const { return computed_; }
    /// The one that a path from the item begins with; null: it leads to what items store.
    const Computed* find_computed(std::string_view name) const {
        for (const Computed& use : computed_)
            if (use.name == name) return &use;
        return nullptr;
    }
    /// Whether index entries under this name are those of a computed property of the container.
    bool is_hidden(std::string_view name) const {
        return container_computed_ != nullptr && container_computed_->find(name) != nullptr;
    }
    /// All that the container defines; null: nothing.
    const index::ComputedPropertiesPtr& container_computed() const { return container_computed_; }

    /// What coordinates mean in the container.
    index::GeometrySpace space() const { return space_; }

    /// Each item yields its rows by itself: run_item() does everything. False with ORDER BY, GROUP
    /// BY, aggregates, DISTINCT, TOP, OFFSET LIMIT and without FROM: use QueryRun.
    bool is_streaming() const { return root_->reads_items && root_->is_streaming(); }
    /// False without FROM: the answer does not depend on the container's items.
    bool reads_items() const { return root_->reads_items; }
    /// Every row is an unchanged item (SELECT *, SELECT VALUE c), whose bytes can be copied.
    bool returns_whole_item() const { return returns_whole_item_; }
    bool has_udf() const { return has_udf_; }
    /// A single item may take long: the query calls functions of the container, or may go through
    /// arrays as often as they have elements. Others look at each item once.
    bool is_heavy() const { return has_udf_ || has_subquery_ || root_->sources.size() != 1; }
    /// Valid, but it uses a feature that this server lacks: running it is a bad request.
    Status check_runnable() const { return refusal_ ? Status(*refusal_) : Status(); }
    /// An aggregate inside a larger expression of the SELECT clause: `SUM(c.a) / 2`.
    bool composes_aggregates() const { return composes_aggregates_; }
    /// The name under which WHERE and SELECT see the item itself; empty when they do not.
    std::string_view item_alias() const { return item_alias_; }
    /// What evaluation looks at; where returns_whole_item(), the rows themselves not counted.
    const ItemNeeds& needs() const { return needs_; }
    /// What everything but WHERE looks at.
    const ItemNeeds& output_needs() const { return output_needs_; }
    /// The same as needs() for json::parse_selected.
    const json::Selection& selection() const { return selection_; }

private:
    friend class Binder;

    std::unique_ptr<Syntax> syntax_;
    const Level* root_ = nullptr;
    std::vector<std::string_view> parameters_;
    std::unordered_map<std::string_view, uint32_t, KeyedHash> parameter_places_;
    uint32_t slot_count_ = 1;
    bool returns_whole_item_ = false;
    bool has_udf_ = false;
    bool has_subquery_ = false;
    bool composes_aggregates_ = false;
    std::optional<Error> refusal_;
    std::string_view item_alias_;
    ItemNeeds needs_;
    ItemNeeds output_needs_;
    json::Selection selection_;
    // What nodes point to and an arena cannot destroy.
    std::vector<std::unique_ptr<const LikePattern>> patterns_;
    std::vector<std::unique_ptr<const ValueSet>> sets_;
    std::vector<std::unique_ptr<const index::Geometry>> geometries_;
    std::vector<uint32_t> geometry_parameters_;
    std::unordered_map<const ast::Expr*, const SpatialNode*> spatial_calls_;
    index::GeometrySpace space_ = index::GeometrySpace::kEarth;
    index::ComputedPropertiesPtr container_computed_;
    std::vector<Computed> computed_;
    std::vector<std::unique_ptr<Syntax>> definitions_;  ///< as computed_
};

/// The aggregate calls in `e`, not counting those inside subqueries.
size_t count_aggregates(const ast::Expr& e);
/// The output name of an unaliased SELECT item; empty if it has none.
std::string_view natural_name(const ast::Expr& e);
/// The name under which a source of FROM is known; empty if it has none.
std::string_view source_name(const ast::Source& s);

/// Binds names and compiles; reports every mistake it finds, as the service words it.
/// `computed`: what the container defines; null: nothing.
Result<std::shared_ptr<const CompiledQuery>> compile_syntax(
    std::unique_ptr<Syntax> syntax, index::ComputedPropertiesPtr computed = nullptr,
    index::GeometrySpace space = index::GeometrySpace::kEarth);

}  // namespace orrery::query
