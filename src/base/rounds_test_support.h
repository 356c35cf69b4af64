// For tests that repeat random attempts: how often.
#pragma once

namespace orrery {

/// `in_release`, and a part of it in builds with a sanitizer, which take ten to fifty times as long
/// for each: what they look for shows early. Never none.
template <typename Number>
constexpr Number rounds(Number in_release) {
#ifdef ORRERY_DCHECKS
    constexpr Number kPart = 4;
    return in_release < kPart ? Number{1} : in_release / kPart;
#else
    return in_release;
#endif
}

}  // namespace orrery
