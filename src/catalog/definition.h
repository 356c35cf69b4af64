#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "catalog/records.h"
#include "index/computed.h"
#include "json/value.h"
#include "partition/partition.h"

/// A container's definition: every property validated, defaults filled in (protocol dossier §3.1,
/// service model §8). A policy that the server does not enforce is refused by name; members that
/// the protocol does not know are dropped, as the service does.
namespace orrery::catalog {

struct Definition {
    partition::ContainerSettings settings;  ///< path_key is the caller's
    /// What follows `{"id":…,` in the container's JSON, up to and including the last brace. Equal
    /// for containers with equal settings.
    std::string tail;
    bool legacy_fixed = false;
    std::vector<std::string> encryption_keys;  ///< ids that its encryption policy names
    ViewDefinitionPtr view;                    ///< null: no materialized view
};

/// Puts another definition of the view, of the same source, into both.
void set_view(Definition& definition, ViewDefinitionPtr view);

/// `{"id":"c",` + tail.
std::string definition_json(std::string_view id, std::string_view tail);

// `compiler`: for computed properties; without one, a definition that has some is refused.

/// A create's body. `allow_missing_key`: without partition key it is a legacy fixed container.
Result<Definition> parse_definition(const json::Value& body, bool allow_missing_key,
                                    const index::ComputedCompiler& compiler = {});

/// A replace's body against what is stored: key, unique keys, encryption policy and view definition
/// may be left out and must not change; everything else that is left out goes back to its default.
Result<Definition> parse_replacement(const json::Value& body, std::string_view stored_definition,
                                     const index::ComputedCompiler& compiler = {});

/// What was stored earlier.
Result<Definition> parse_stored_tail(std::string_view tail,
                                     const index::ComputedCompiler& compiler = {});

/// A list of computed properties, or its absence; null: none.
Result<index::ComputedPropertiesPtr> read_computed_properties(
    const json::Value& list, const index::ComputedCompiler& compiler);

/// What the records keep of the index besides the definition: out of the settings, and into
/// settings that were parsed from a definition.
records::IndexState index_state(const partition::ContainerSettings& settings);
Status apply_index_state(const records::IndexState& state, partition::ContainerSettings& settings,
                         const index::ComputedCompiler& compiler = {});

/// True when the same items get the same index entries under both.
bool same_indexing(const index::IndexingPolicy& a, const index::IndexingPolicy& b);

}  // namespace orrery::catalog
