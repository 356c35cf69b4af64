#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/keyed_hash.h"
#include "query/bind/nodes.h"
#include "query/compile.h"
#include "query/functions/functions.h"
#include "query/parse/diagnostics.h"

/// Private to the compiler (compile.h).
namespace orrery::query {

/// What a name of FROM stands for; decides what ORDER BY may do with it.
enum class Origin : uint8_t {
    kItem,        ///< the item itself
    kItemPath,    ///< a path of the item
    kCorrelated,  ///< an array element, or any other JOIN
    kSubquery,
};

struct Binding {
    std::string_view name;
    std::string_view source;  ///< the name that FROM gives it to; empty: a path or a subquery
    uint32_t slot = kNoSlot;
    Origin origin = Origin::kItem;
    uint64_t weight = 1;   ///< see Bound
    bool is_item = false;  ///< computed properties are members of it
};

/// The names of one level, inside those of the levels around it.
struct Scope {
    const Scope* outer = nullptr;
    std::vector<Binding> bindings;
    bool any_name_is_item = false;  ///< in the first source of the outermost FROM
    /// Binding the SELECT clause of a grouped level: names are only valid inside aggregates or as
    /// (prefixes of) group keys.
    bool grouped_select = false;
    std::span<const ast::Expr* const> group_by;
    std::unordered_multimap<uint64_t, uint32_t> group_index;  ///< by fingerprint; each key once
    /// The group key that is the same; nullopt if there is none.
    std::optional<uint32_t> group_key(uint64_t fingerprint, const ast::Expr& e) const;
    uint32_t group_slot = 0;
    std::vector<BoundAggregate>* aggregates = nullptr;
};

/// A compiled expression and how often it can repeat its input: the JSON size of its value is at
/// most about weight times the item's.
struct Bound {
    const Node* node = nullptr;
    uint64_t weight = 1;
    const SlotPathNode* path = nullptr;  ///< when the node is one
    bool is_constant() const { return node->constant() != nullptr; }
};

/// Turns one syntax tree into levels and nodes. A method that finds a mistake records it and
/// returns something harmless, so that one pass reports them all.
class Binder {
public:
    Binder(CompiledQuery& query, index::GeometrySpace space);
    Status run(std::unique_ptr<Syntax> syntax, index::ComputedPropertiesPtr computed);

private:
    enum class Place : uint8_t { kTop, kFirstSource, kSubquery };

    // binder.cc: clauses
    const Level* query(const ast::Query& q, const Scope* outer, Place place, bool root_driven,
                       uint64_t& weight);
    void refuse_in_subquery(const ast::Query& q);
    BoundSource source(const ast::Source& s, size_t index, Scope& scope, bool root_driven);
    void add_alias(const ast::Source& s, Scope& scope, Binding binding);
    void group_by(const ast::Query& q, Scope& scope, Level& level);
    Bound projection(const ast::Query& q, Scope& scope);
    Bound star(const ast::Query& q, const Scope& scope);
    Bound select_list(const ast::Query& q, Scope& scope);
    void order_by(const ast::Query& q, Scope& scope, Level& level);
    BoundOrderKey order_key(const ast::OrderItem& item, Scope& scope);
    void order_by_rank(const ast::Query& q, Scope& scope);
    BoundCount count(const ast::Expr* e, const CountClause& clause);
    void note_properties(const ast::Query& q, const Level& level);

    // binder_expr.cc: expressions
    Bound expr(const ast::Expr& e, Scope& scope);
    Bound reference(const ast::Expr& e, Scope& scope);
    Bound grouped_reference(const ast::Expr& e, const Scope& owner, Scope& scope);
    Bound path(const ast::Expr& e, Scope& scope);
    std::span<const PathStep> steps(std::span<const ast::Step> steps, Scope& scope);
    Bound item_path(const Binding& binding, std::span<const PathStep> steps);
    const CompiledQuery::Computed* computed(std::string_view name);
    Bound constructor(const ast::Expr& e, Scope& scope);
    Bound unary(const ast::Expr& e, Scope& scope);
    Bound binary(const ast::Expr& e, Scope& scope);
    Bound comparison(ast::Op op, const Bound& left, const Bound& right);
    Bound in(const ast::Expr& e, Scope& scope);
    Bound like(const ast::Expr& e, Scope& scope);
    Bound call(const ast::Expr& e, Scope& scope);
    Bound aggregate(const ast::Expr& e, const FunctionSpec& spec, Scope& scope);
    bool check_count(const ast::Expr& e, const FunctionSpec& spec);
    Bound refused_function(const ast::Expr& e, const FunctionSpec& spec, Scope& scope);
    Bound spatial(const ast::Expr& e, const FunctionSpec& spec, std::span<const Node* const> nodes);
    SpatialNode::Argument spatial_argument(const ast::Expr& e, const Node* node);
    Bound subquery(const ast::Expr& e, Scope& scope);

    /// The operands, their weights added to `weight`; `constant` tells whether all are constant.
    std::span<const Node* const> operands(std::span<const ast::Expr* const> args, Scope& scope,
                                          uint64_t& weight, bool& constant);
    /// Replaces a node over constants by its value, if that is small.
    Bound folded(Bound bound, bool constant);
    Bound nothing() { return {make<ConstantNode>(json::Value()), 1, nullptr}; }
    uint32_t parameter(std::string_view name);
    static const Binding* find(std::string_view name, const Scope& scope, const Scope*& owner);
    void unknown_name(const ast::Expr& base, bool bare, const Scope& scope);
    void plain_error(Error error) {
        if (!plain_error_) plain_error_ = std::move(error);
    }

    void refuse(Error error) {
        if (!query_.refusal_) query_.refusal_ = std::move(error);
    }

    template <typename T, typename... Args>
    const T* make(Args... args) {
        return new (arena().allocate(sizeof(T), alignof(T))) T(args...);
    }
    template <typename T>
    std::span<const T> keep(const std::vector<T>& items) {
        if (items.empty()) return {};
        auto* out = reinterpret_cast<T*>(arena().allocate(items.size() * sizeof(T), alignof(T)));
        std::uninitialized_copy(items.begin(), items.end(), out);
        return {out, items.size()};
    }
    json::Arena& arena() { return query_.syntax_->arena; }

    CompiledQuery& query_;
    std::optional<Diagnostics> diagnostics_;
    std::optional<Error> plain_error_;
    json::Arena scratch_;                     // for folding
    std::vector<ItemNeeds> computed_needs_;   // as CompiledQuery::computed_
    std::vector<uint64_t> computed_weights_;  // likewise
};

bool contains_subquery(const ast::Expr& e);

}  // namespace orrery::query
