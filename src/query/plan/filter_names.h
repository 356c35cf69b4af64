#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "json/item.h"
#include "query/compile.h"
#include "query/parse/ast.h"
#include "query/plan/filter_analysis.h"

namespace orrery::query {

/// False for paths through rows, elements and positions: an entry of such a path is some value of
/// it, not all.
bool names_one_value(const IndexPathSteps& path);

/// Whether `e` is the member of the item that `names` lead to, as the item stores it: names alone,
/// in either spelling, and no computed property.
bool is_stored_member(const CompiledQuery& query, const ast::Expr& e,
                      const json::MemberPath& names);

/// What the names of a filter stand for: paths of the item and constants. Used by one thread.
class FilterNames {
public:
    /// Both outlive this.
    FilterNames(const CompiledQuery& query, const Parameters& parameters)
        : query_(query), parameters_(parameters) {}

    /// Adds the names of FROM. `outermost`: the first source is the item.
    void bind(const ast::Query& query, bool outermost);
    /// How many names are bound; what a subquery has bound is taken back by its number from before.
    size_t size() const { return aliases_.size(); }
    void resize(size_t size) { aliases_.resize(size); }

    std::optional<IndexPathSteps> path_of(const ast::Expr& e) const;
    std::optional<json::Value> constant(const ast::Expr& e) const;
    /// The path that `e` looks at; nullopt when there are more, or other things than values.
    std::optional<IndexPathSteps> only_path(const ast::Expr& e) const;

private:
    /// A name of FROM and where its values lie in the item.
    struct Alias {
        std::string_view name;
        IndexPathSteps path;
        bool usable = false;
    };
    struct PathUse {
        std::optional<IndexPathSteps> path;
        bool simple = true;
    };

    static bool append_steps(const ast::Expr& e, IndexPathSteps& path);
    const Alias* alias_of(std::string_view name) const;
    void collect(const ast::Expr& e, PathUse& use) const;

    const CompiledQuery& query_;
    const Parameters& parameters_;
    std::vector<Alias> aliases_;
};

}  // namespace orrery::query
