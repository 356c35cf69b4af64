#include "partition/expiry.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "base/limits.h"
#include "json/write.h"

namespace orrery::partition {

std::optional<int64_t> time_of(const json::Value& value, json::Dialect dialect) {
    constexpr int64_t kMsPerSecond = 1000;
    if (value.is_array()) {
        std::optional<int64_t> earliest;
        for (const json::Value& element : value.elements())
            if (const auto time = element.is_array() ? std::nullopt : time_of(element, dialect))
                earliest = std::min(earliest.value_or(*time), *time);
        return earliest;
    }
    if (json::rules(dialect).typed_values) {
        if (value.extended_type() != json::ExtendedType::kDate) return std::nullopt;
        const int64_t ms = value.as_date();
        return ms / kMsPerSecond - (ms % kMsPerSecond < 0 ? 1 : 0);
    }
    if (!value.is_number()) return std::nullopt;
    constexpr double kExactMax = 9007199254740992.0;  // 2^53
    const double seconds = std::floor(value.as_double());
    if (!(std::abs(seconds) <= kExactMax)) return std::nullopt;
    return static_cast<int64_t>(seconds);
}

int32_t ttl_until(int64_t expires_at, int64_t ts) {
    const int64_t left = expires_at - ts;
    if (left > limits::kTtlSecondsMax) return -1;
    return static_cast<int32_t>(std::max<int64_t>(left, 1));
}

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
