#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/resources.h"

/// The catalog's resources as REST clients see them.
namespace orrery::rest {

std::string database_json(const catalog::Database& database);
std::string container_json(const catalog::Container& container);
/// A container's definition with all defaults, without system properties. The definition of a
/// materialized view is its last member.
std::string definition_json(std::string_view id, const catalog::ContainerDefinition& definition);
/// The feed of some ranges of the container's map.
std::string ranges_json(const catalog::Container& container,
                        const std::vector<const catalog::PartitionRange*>& some);
/// `current`: what autoscale has scaled to; without it, a tenth of the maximum.
std::string offer_json(const catalog::Offer& offer, std::optional<int64_t> current = std::nullopt);
std::string user_json(const catalog::User& user);
/// `token`: the resource token; empty: without `_token`.
std::string permission_json(const catalog::Permission& permission, std::string_view token);
std::string script_json(const catalog::Script& script);
std::string encryption_key_json(const catalog::EncryptionKey& key);

}  // namespace orrery::rest
