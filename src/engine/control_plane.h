#pragma once

#include <array>
#include <cstdint>
#include <mutex>

namespace orrery::engine {

/// Kinds of metadata requests that the control plane counts.
enum class MetadataKind : uint8_t { kRead, kCreate, kThroughput, kOther };

/// The service's limits on management requests: so many per five minutes. Internally locked.
class ControlPlane {
public:
    /// 0: admitted and counted; else how long to wait, in milliseconds.
    int64_t admit(MetadataKind kind, int64_t now_us);

private:
    struct Window {
        int64_t start_us = 0;
        int64_t count = 0;
    };
    std::mutex mutex_;
    std::array<Window, 3> windows_{};  // guarded by mutex_
};

}  // namespace orrery::engine
