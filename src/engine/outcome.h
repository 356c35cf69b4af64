#pragma once

#include <cstdint>

#include "base/status.h"

/// How a request ended, as a number: recordings keep it and metrics show it, so that the numbers
/// are part of the recording's format (docs/formats) and of the metrics' names.
namespace orrery::engine::outcome {

inline constexpr uint16_t kDone = 200;

/// Of a request that failed.
uint16_t of(Code code);
inline uint16_t of(const Status& status) {
    return status.ok() ? kDone : of(status.error().code);
}

/// A version was written or read, or there was nothing to do.
bool is_success(uint16_t outcome);
bool is_failure(uint16_t outcome);
bool is_rate_limit(uint16_t outcome);
/// Another writer was there first.
bool is_lost_race(uint16_t outcome);

}  // namespace orrery::engine::outcome
