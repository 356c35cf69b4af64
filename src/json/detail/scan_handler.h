#pragma once

#include <cstdint>

#include "json/detail/lexer.h"
#include "json/value.h"

namespace orrery::json::detail {

/// Deepest nesting that the scanner can be asked for.
inline constexpr uint32_t kScanDepthCap = 1024;

struct ScanOptions {
    uint32_t depth_max = 0;
    bool refuse_duplicate_names = true;
    bool check_utf8 = true;
};

/// What a scan reports, in text order. `at` points into the text. All calls are resolved at compile
/// time; a handler derives from this and replaces what it needs.
struct ScanHandler {
    void begin(Type, const char* /*at*/) {}
    void end(Type, const char* /*behind*/) {}
    void name(const StringToken&, const char* /*at*/) {}  ///< before a member's value
    void element() {}                                     ///< before an array element
    void scalar(const Value&) {}
    /// Called after every value, the outermost included.
    void after_value(const char* /*behind*/) {}
    /// Called after every value. True ends the scan early, with success.
    bool finished() const { return false; }
    void space(const char* /*from*/, const char* /*to*/) {}
    /// A string (value or name) with escapes, from its opening quote on.
    void escaped(const StringToken&, const char* /*at*/) {}
};

}  // namespace orrery::json::detail
