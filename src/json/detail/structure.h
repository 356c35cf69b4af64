#pragma once

#include <cstddef>
#include <cstdint>

/// Finds the members of one object in JSON text, 64 bytes at a time and without a branch per byte
/// or member. It knows which bytes are inside strings, how deep they are, and which colons may
/// follow one of a few names.
namespace orrery::json::detail {

inline constexpr size_t kBlockBytes = 64;
/// Names that a scan can look for, and the longest of them (as written, without quotes).
inline constexpr size_t kWantedNamesMax = 8;
inline constexpr size_t kWantedNameBytesMax = 61;

/// What the scan knows about the names: the distance from the opening quote to the colon, and the
/// byte before the closing quote. Empty: every name is wanted.
struct WantedNames {
    size_t count = 0;
    uint8_t distance[kWantedNamesMax] = {};
    char last[kWantedNamesMax] = {};
};

/// What a scan carries from block to block. A scan begins at the object's opening brace.
struct StructureState {
    explicit StructureState(const WantedNames& names) {
        for (size_t n = 0; n < names.count; ++n) last[n] = 0;
    }
    uint64_t in_string = 0;          ///< all ones inside a string
    uint64_t escape = 0;             ///< 1: the next byte is escaped
    uint64_t quotes = 0;             ///< of the block before
    uint64_t last[kWantedNamesMax];  ///< of the names' last bytes, likewise
    int64_t depth = 0;
};

struct StructureBlock {
    /// The object's own colons that may stand behind a wanted name; one bit per byte, the first
    /// byte lowest.
    uint64_t candidates;
    bool ended;  ///< the object ends in this block
};

/// Reads `count` whole blocks.
using StructureScan = void (*)(const char* text, size_t count, const WantedNames& names,
                               StructureState& state, StructureBlock* out);

void scan_structure_portable(const char* text, size_t count, const WantedNames& names,
                             StructureState& state, StructureBlock* out);
/// The fastest one for this processor.
extern const StructureScan scan_structure;

}  // namespace orrery::json::detail
