#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace orrery::detail {

void check_failed(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "CHECK failed: %s at %s:%d\n", condition, file, line);
    std::fflush(stderr);
    std::abort();
}

}  // namespace orrery::detail
