#pragma once

// Three tools, no more. CHECK: continuing would corrupt data; on in every build. DCHECK: our own
// mistakes; on in debug and sanitizer builds. Anything a client, a disk or a peer can cause is a
// Status (status.h), never a check.

namespace orrery::detail {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) [[unlikely]]                                      \
            ::orrery::detail::check_failed(#condition, __FILE__, __LINE__); \
    } while (false)

#ifdef ORRERY_DCHECKS
#define DCHECK(condition) CHECK(condition)
#else
#define DCHECK(condition)             \
    do {                              \
        if (false) (void)(condition); \
    } while (false)
#endif
