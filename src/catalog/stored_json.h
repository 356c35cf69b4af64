#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "catalog/container_definition.h"
#include "catalog/resources.h"

/// What records before version 3 keep as JSON texts (docs/formats/catalog.md). They were checked
/// when they were written: anything unexpected is damage.
namespace orrery::catalog {

/// A container's JSON without `{"id":…,` at the front and without system properties.
Result<ContainerDefinition> definition_of_json(std::string_view tail);

/// An indexing policy with the computed properties that go with it.
struct StoredPolicy {
    index::IndexingPolicy policy;
    std::vector<index::ComputedProperty> computed;
};
Result<StoredPolicy> policy_of_json(std::string_view text);

/// The members of a client encryption key behind its id; false: they are damaged.
bool read_json_key(std::string_view members, WrappedKey& key);

}  // namespace orrery::catalog
