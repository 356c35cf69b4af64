#include "base/system.h"

#include <cstdlib>
#include <system_error>

namespace orrery {

std::string errno_text(int code) {
    return std::generic_category().message(code);
}

std::optional<std::string> environment_variable(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): see the header
    if (value == nullptr) return std::nullopt;
    return value;
}

}  // namespace orrery
