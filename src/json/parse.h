#pragma once

#include <string_view>

#include "base/limits.h"
#include "base/status.h"
#include "json/value.h"

namespace orrery::json {

struct ParseOptions {
    uint32_t depth_max = limits::kNestingDepthMax;
    /// Two members of one object with the same name: refused, or the last one wins.
    bool refuse_duplicate_names = true;
    /// `{"$t":n,"$v":…}` is a value that JSON lacks (typed_text.h); one that is wrong is refused.
    bool typed_values = false;
};

/// Parses exactly one JSON text (RFC 8259, strict: UTF-8 only, no lone surrogates, no NaN, no
/// trailing bytes; a number beyond the double range is refused). Everything the value needs is
/// copied into `arena`. Errors (Code::kBadJson) name what is wrong and the byte offset.
Result<Value> parse(std::string_view text, Arena& arena, const ParseOptions& options = {});

}  // namespace orrery::json
