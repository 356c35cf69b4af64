// For tests that repeat attempts or make up work: how often, and how much.
#pragma once

#include <cstddef>

namespace orrery {

/// Whether the build has a sanitizer (or is a debug build), and takes ten to fifty times as long
/// for everything.
#ifdef ORRERY_DCHECKS
inline constexpr bool kInstrumented = true;
#else
inline constexpr bool kInstrumented = false;
#endif

/// `in_release`, and `instrumented` in builds with a sanitizer. What the test is about must be in
/// both.
template <typename Number>
constexpr Number sized(Number in_release, Number instrumented) {
    return kInstrumented ? instrumented : in_release;
}

/// `in_release`, and a part of it in builds with a sanitizer: what they look for shows early. Never
/// none.
template <typename Number>
constexpr Number rounds(Number in_release) {
    constexpr Number kPart = 4;
    return sized(in_release, in_release < kPart ? Number{1} : in_release / kPart);
}

/// For cases that are run in several ways, numbered from 0: whether this way runs this case. In
/// release every way runs every case; in builds with a sanitizer they take turns, so that each case
/// is run once and each way runs its share of all kinds of cases.
constexpr bool takes_turn(size_t one_case, size_t way, size_t ways) {
    return !kInstrumented || one_case % ways == way;
}

}  // namespace orrery
