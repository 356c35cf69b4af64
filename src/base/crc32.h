#pragma once

#include <cstdint>
#include <string_view>

namespace orrery {

/// CRC-32 of IEEE 802.3 (polynomial EDB88320, reflected), as zip files and HybridRow records have
/// it.
uint32_t crc32(std::string_view bytes);

}  // namespace orrery
