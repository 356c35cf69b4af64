#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/document.h"
#include "json/value.h"

namespace orrery::index {

/// A computed property as a container's definition has it.
struct ComputedProperty {
    std::string name;
    std::string query;
    friend bool operator==(const ComputedProperty&, const ComputedProperty&) = default;
};

/// A container's computed properties: names that stand for the value of an expression over the
/// item instead of what the item stores under them. Immutable; shared between threads.
class ComputedProperties {
public:
    struct Definition : ComputedProperty {
        /// The stored text alone decides the value. Others cannot be indexed: entries are made
        /// before the system properties are known.
        bool indexable = true;
    };

    virtual ~ComputedProperties() = default;
    ComputedProperties(const ComputedProperties&) = delete;
    ComputedProperties& operator=(const ComputedProperties&) = delete;

    const std::vector<Definition>& definitions() const { return definitions_; }
    /// Null: no computed property of that name.
    const Definition* find(std::string_view name) const;
    /// What clients get back. Equal for equal definitions in the same order.
    const std::string& json() const { return json_; }

    /// The values of some definitions (`wanted` has their places in the list) for an item, in that
    /// order; undefined where it has none. They borrow from `document` and `arena`.
    virtual Status evaluate(const json::Document& document, std::span<const size_t> wanted,
                            json::Arena& arena, std::vector<json::Value>& values) const = 0;
    /// Refuses definitions whose value can never be known. A stored container may have one, so that
    /// it can be opened; a new one may not.
    virtual Status check_new() const { return {}; }

protected:
    explicit ComputedProperties(std::vector<Definition> definitions);

private:
    std::vector<Definition> definitions_;
    std::string json_;
};
using ComputedPropertiesPtr = std::shared_ptr<const ComputedProperties>;

/// Checks and compiles the computed properties of a container's definition; null for an empty list.
/// Callers that load containers get one.
using ComputedCompiler =
    std::function<Result<ComputedPropertiesPtr>(const std::vector<ComputedProperty>& list)>;

/// Same names with the same meaning, in any order. Either may be null.
bool same_computed(const ComputedProperties* a, const ComputedProperties* b);

}  // namespace orrery::index
