#include "engine/control_plane.h"

#include <algorithm>

namespace orrery::engine {
namespace {

constexpr int64_t kWindowUs = 300'000'000;
/// By MetadataKind.
constexpr std::array<int64_t, 3> kPerWindow = {500, 500, 25};

}  // namespace

int64_t ControlPlane::admit(MetadataKind kind, int64_t now_us) {
    const auto index = static_cast<size_t>(kind);
    if (index >= kPerWindow.size()) return 0;
    const std::lock_guard lock(mutex_);
    Window& window = windows_[index];
    if (window.count == 0 || now_us - window.start_us >= kWindowUs) window = {now_us, 0};
    if (window.count >= kPerWindow[index])
        return std::max<int64_t>(1, (window.start_us + kWindowUs - now_us + 999) / 1000);
    ++window.count;
    return 0;
}

}  // namespace orrery::engine
