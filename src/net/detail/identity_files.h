#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

/// The few small files of a TLS identity.
namespace orrery::net::detail {

enum class FileAccess { kPublic, kOwnerOnly };

/// Creates the folder, for the owner only, if it is missing.
Status ensure_folder(const std::string& folder);
/// The whole file; nullopt when there is none.
Result<std::optional<std::string>> read_small_file(const std::string& path);
/// After a crash the file holds either the old text or the new one.
Status write_file_atomically(const std::string& path, std::string_view text, FileAccess access);
/// No error when there is none.
Status remove_file(const std::string& path);
/// Takes reading rights from everybody but the owner, if they have them.
void restrict_to_owner(const std::string& path);

}  // namespace orrery::net::detail
