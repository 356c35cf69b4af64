#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/status.h"

namespace orrery::cli {

/// Where a long transfer stands, in a small JSON file beside the data. The values are texts; what
/// they mean is the transfer's own business.
struct Checkpoint {
    std::map<std::string, std::string> values;

    std::string text(const std::string& name) const;
    uint64_t number(const std::string& name) const;  ///< 0 when absent
    void set(const std::string& name, std::string value) { values[name] = std::move(value); }
    void set(const std::string& name, uint64_t value) { values[name] = std::to_string(value); }
};

/// nullopt when there is none; damage is an error that says what to do.
Result<std::optional<Checkpoint>> load_checkpoint(const std::string& path);
/// Replaces the file at once: a crash leaves the old or the new one.
Status save_checkpoint(const std::string& path, const Checkpoint& checkpoint);
void remove_checkpoint(const std::string& path);

/// Reads a small file whole; replaces one at once.
Result<std::string> read_text_file(const std::string& path);
Status replace_text_file(const std::string& path, std::string_view text);

}  // namespace orrery::cli
