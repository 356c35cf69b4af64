#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "query/compile.h"
#include "query/parse/ast.h"
#include "query/plan/filter_analysis.h"
#include "query/plan/filter_names.h"

namespace orrery::query {

/// nullopt: the index cannot help.
using Found = std::optional<Condition>;

/// What single comparisons and calls look up in the index; logic is not its business. Used by one
/// thread.
class IndexLookups {
public:
    /// All outlive this.
    IndexLookups(const CompiledQuery& query, const Parameters& parameters, const IndexFacts& facts)
        : query_(query), parameters_(parameters), facts_(facts), names_(query, parameters) {}

    FilterNames& names() { return names_; }
    const FilterNames& names() const { return names_; }

    /// Where `e` is true (or, with !want, false).
    Found find(const ast::Expr& e, bool want);
    /// Items with an entry of the path in the ranges.
    Found terms_at(IndexPathSteps path, std::vector<index::TermRange> wanted, LookupKind lookup,
                   uint32_t seeks);

    /// Paths, each once, in the order in which they came.
    class PathList {
    public:
        void add(const IndexPathSteps& path);
        /// Forgets those beyond the first ones.
        void resize(size_t size);
        size_t size() const { return paths_.size(); }
        const std::vector<IndexPathSteps>& paths() const { return paths_; }

    private:
        std::vector<IndexPathSteps> paths_;
        std::set<std::string> known_;  ///< their texts
    };
    /// Paths that would be looked up if they were indexed.
    struct Missing {
        PathList paths;
        PathList spatial;
        uint64_t misses = 0;  ///< how often one was asked for
    };
    const Missing& missing() const { return missing_; }
    void forget_missing(size_t paths, size_t spatial) {
        missing_.paths.resize(paths);
        missing_.spatial.resize(spatial);
    }

private:
    Found terms(const ast::Expr& e, std::vector<index::TermRange> wanted, LookupKind lookup,
                uint32_t seeks);
    void miss(const IndexPathSteps& path, PathList& paths);
    Found holding(const IndexPathSteps& path, const ast::Expr& value);
    Found comparison(const ast::Expr& e, bool want);
    Found compare(const ast::Expr& path, ast::Op op, const json::Value& value);
    Found between(const ast::Expr& e, bool want);
    Found one_of(const ast::Expr& path, const std::vector<json::Value>& list, bool want);
    Found in(const ast::Expr& e, bool want);
    Found like(const ast::Expr& e, bool want);
    Found call(const ast::Expr& e, bool want);
    Found string_match(const ast::Expr& e, std::string_view name);
    Found array_contains(const ast::Expr& e);
    Found array_contains_values(const ast::Expr& e, bool any);
    Found contained_in(const ast::Expr& e);
    Found distance(const ast::Expr& call, ast::Op op, const json::Value& value);
    Found near(const ast::Expr& call, double metres);

    const CompiledQuery& query_;
    const Parameters& parameters_;
    const IndexFacts& facts_;
    FilterNames names_;
    Missing missing_;
};

}  // namespace orrery::query
