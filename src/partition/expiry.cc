#include "partition/expiry.h"

#include <cmath>

#include "base/errors.h"
#include "base/limits.h"
#include "json/write.h"

namespace orrery::partition {

Result<int32_t> own_ttl_of(const json::Value& ttl, std::optional<int64_t> default_ttl) {
    if (ttl.is_undefined()) return 0;
    if (ttl.is_number()) {
        const double v = ttl.as_double();
        const bool whole = v == std::floor(v);
        if (whole && (v == -1 || (v >= 1 && v <= static_cast<double>(limits::kTtlSecondsMax))))
            return static_cast<int32_t>(v);
    }
    if (!default_ttl) return 0;
    return errors::invalid_ttl(json::to_text(ttl));
}

}  // namespace orrery::partition
