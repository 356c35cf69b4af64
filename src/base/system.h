#pragma once

#include <optional>
#include <string>

/// What the operating system says, to any thread.
namespace orrery {

/// The text of an errno.
std::string errno_text(int code);

/// A variable of the environment; nullopt when it is not set. Reading is safe because nothing here
/// changes the environment.
std::optional<std::string> environment_variable(const char* name);

}  // namespace orrery
