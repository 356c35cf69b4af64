#pragma once

#include <string>

#include "base/status.h"
#include "catalog/requests.h"
#include "json/value.h"

/// Bodies of REST clients that create or replace databases, users, permissions, scripts and client
/// encryption keys. Their form is checked here, what they mean in the catalog.
namespace orrery::rest {

/// The id of a database's body, which has nothing else.
Result<std::string> read_database_body(const json::Value& body);
/// The id of a user's body, which has nothing else.
Result<std::string> read_user_body(const json::Value& body);
Result<catalog::NewPermission> read_permission_body(const json::Value& body);
Result<catalog::NewScript> read_script_body(const json::Value& body, catalog::ChildType type);
Result<catalog::NewEncryptionKey> read_encryption_key_body(const json::Value& body);

}  // namespace orrery::rest
