#include "json/detail/names.h"

#include <algorithm>

namespace orrery::json::detail {

bool NameTracker::contains(size_t first, std::string_view name, uint32_t hash) {
    for (size_t i = first; i < names_.size(); ++i)
        if (names_[i].hash == hash && names_[i].view() == name) return true;
    return false;
}

bool NameTracker::unique_from(size_t first) {
    Name* begin = names_.begin() + first;
    Name* end = names_.end();
    std::sort(begin, end, [](const Name& a, const Name& b) {
        if (a.hash != b.hash) return a.hash < b.hash;
        if (const int order = a.view().compare(b.view()); order != 0) return order < 0;
        return a.offset < b.offset;
    });
    // Reports the earliest repetition, as for small objects.
    bool unique = true;
    for (Name* n = begin; n + 1 < end; ++n) {
        if (n[0].hash != n[1].hash || n[0].view() != n[1].view()) continue;
        if (unique || n[1].offset < duplicate_offset_) {
            duplicate_ = n[1].view();
            duplicate_offset_ = n[1].offset;
        }
        unique = false;
    }
    return unique;
}

}  // namespace orrery::json::detail
