#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace orrery {

/// Fills `out` from the operating system's generator.
void random_bytes(char* out, size_t count);
/// Fast, thread-local, not for secrets.
uint64_t random_u64();
/// Lower-case GUID text, version 4.
std::string random_guid();
/// GUID text of 16 given bytes: 8-4-4-4-12 lower-case hex digits.
std::string guid_text(const std::array<uint8_t, 16>& bytes);
constexpr size_t kGuidChars = 36;
/// Writes kGuidChars characters.
void guid_text_to(char* out, const std::array<uint8_t, 16>& bytes);

}  // namespace orrery
