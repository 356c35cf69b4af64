#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "catalog/container_definition.h"
#include "catalog/records.h"
#include "catalog/stored_json.h"

/// How definitions are kept on disk (docs/formats/catalog.md). Texts begin with a version of their
/// own; equal definitions have equal texts.
namespace orrery::catalog {

std::string encode_definition(const ContainerDefinition& definition);
/// An error says that it is damaged or of a newer format.
Result<ContainerDefinition> decode_definition(std::string_view bytes);

std::string encode_policy(const index::IndexingPolicy& policy);
Result<StoredPolicy> decode_policy(std::string_view bytes);

/// What the records keep of the index besides the definition: out of the settings, and into
/// settings that were made of a definition.
records::IndexState index_state(const partition::ContainerSettings& settings);
Status apply_index_state(const records::IndexState& state, partition::ContainerSettings& settings,
                         const index::ComputedCompiler& compiler = {});

}  // namespace orrery::catalog
