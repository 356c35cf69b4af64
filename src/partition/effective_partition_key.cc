#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/bytes.h"
#include "base/check.h"
#include "base/errors.h"
#include "base/hash.h"
#include "base/limits.h"
#include "json/value_key.h"
#include "partition/partition_key.h"

// Effective partition keys, ranges of them, and the docref prefixes that stand for them on disk.
namespace orrery::partition {
namespace {

constexpr size_t kHashBytes = 16;
constexpr size_t kDocrefLevelBytes = 8;

// Component types inside hash inputs and V1 EPKs.
constexpr char kUndefinedByte = 0x00;
constexpr char kNullByte = 0x01;
constexpr char kFalseByte = 0x02;
constexpr char kTrueByte = 0x03;
constexpr char kNumberByte = 0x05;
constexpr char kStringByte = 0x08;
constexpr char kExtendedByte = 0x20;

constexpr size_t kV1Utf16UnitsMax = 100;
constexpr size_t kV1StringBytesMax = 100;

/// Order-preserving form of a number inside V1 EPKs: the top byte, then groups of seven bits, each
/// but the last marked by a low one bit.
void append_v1_number(std::string& out, double value) {
    constexpr uint64_t kSign = uint64_t{1} << 63;
    auto bits = std::bit_cast<uint64_t>(value);
    bits = (bits & kSign) == 0 ? bits ^ kSign : ~bits + 1;
    out.push_back(kNumberByte);
    out.push_back(static_cast<char>(bits >> 56));
    bits <<= 8;
    auto group = static_cast<uint8_t>((bits >> 56) | 1);
    bits <<= 7;
    while (bits != 0) {
        out.push_back(static_cast<char>(group));
        group = static_cast<uint8_t>((bits >> 56) | 1);
        bits <<= 7;
    }
    out.push_back(static_cast<char>(group & 0xFE));
}

/// The hash in front of a V1 EPK; nullopt if there is none.
std::optional<uint64_t> v1_hash_of(std::string_view epk) {
    constexpr uint64_t kSign = uint64_t{1} << 63;
    if (epk.size() < 2 || epk[0] != kNumberByte) return std::nullopt;
    uint64_t bits = uint64_t{static_cast<uint8_t>(epk[1])} << 56;
    int shift = 49;
    for (size_t i = 2; i < epk.size() && shift > -7; ++i, shift -= 7) {
        const uint64_t group = static_cast<uint8_t>(epk[i]) >> 1;
        bits |= shift >= 0 ? group << shift : group >> -shift;
        if ((static_cast<uint8_t>(epk[i]) & 1) == 0) break;
    }
    if ((bits & kSign) == 0) return std::nullopt;
    const auto value = std::bit_cast<double>(bits ^ kSign);
    if (!(value >= 0 && value <= 4294967295.0)) return std::nullopt;
    return static_cast<uint64_t>(value);
}

/// The first 100 UTF-16 units as UTF-8. A pair cut in two leaves the replacement character, as in
/// the clients.
std::string cut_for_v1(std::string_view text) {
    size_t units = 0;
    size_t i = 0;
    while (i < text.size() && units < kV1Utf16UnitsMax) {
        const auto lead = static_cast<uint8_t>(text[i]);
        const size_t width = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        if (width == 4 && units + 2 > kV1Utf16UnitsMax)
            return std::string(text.substr(0, i)) + "\xEF\xBF\xBD";
        units += width == 4 ? 2 : 1;
        i = std::min(i + width, text.size());
    }
    return std::string(text.substr(0, i));
}

void append_v1_string(std::string& out, std::string_view cut) {
    out.push_back(kStringByte);
    const bool whole = cut.size() <= kV1StringBytesMax;
    for (const char c : cut.substr(0, kV1StringBytesMax + 1)) {
        const auto byte = static_cast<uint8_t>(c);
        out.push_back(static_cast<char>(byte == 0xFF ? byte : byte + 1));
    }
    if (whole) out.push_back('\0');
}

/// Numbers compare as doubles, where -0 equals 0: equal keys are one key. (Clients that hash -0
/// themselves give it a key of its own; the header decides, not what they compute.)
double key_number(const json::Value& value) {
    const double number = value.as_double();
    if (std::isnan(number)) return std::numeric_limits<double>::quiet_NaN();
    return number == 0 ? 0 : number;
}

/// A value that JSON lacks. Of the integers of the type int64, one that is no double.
bool is_beyond_json(const json::Value& value) {
    if (value.extended_type() != json::ExtendedType::kInt64) return value.is_extended();
    const double number = value.as_double();
    return number >= 0x1p63 || static_cast<int64_t>(number) != value.as_int64();
}

/// Type byte and value as they are hashed.
void append_hashed(std::string& out, const json::Value& value, char string_end) {
    if (is_beyond_json(value)) [[unlikely]] {
        out.push_back(kExtendedByte);
        json::append_value_key(out, value, json::rules(json::Dialect::kTable));
        return;
    }
    switch (value.type()) {
        case json::Type::kNull:
            out.push_back(kNullByte);
            return;
        case json::Type::kBool:
            out.push_back(value.as_bool() ? kTrueByte : kFalseByte);
            return;
        case json::Type::kNumber:
            out.push_back(kNumberByte);
            append_u64_le(out, std::bit_cast<uint64_t>(key_number(value)));
            return;
        case json::Type::kString:
            out.push_back(kStringByte);
            out.append(value.as_string());
            out.push_back(string_end);
            return;
        default:
            out.push_back(kUndefinedByte);
            return;
    }
}

std::string v1_epk(const json::Value& component) {
    std::string cut;
    json::Value value = component;
    if (value.is_string()) {
        cut = cut_for_v1(value.as_string());
        value = json::Value::string(cut);
    }
    std::string input;
    append_hashed(input, value, '\0');
    std::string epk;
    append_v1_number(epk, static_cast<double>(murmur3_32(input, 0)));
    if (value.is_number() && !is_beyond_json(value)) {
        append_v1_number(epk, key_number(value));
    } else if (value.is_string()) {
        append_v1_string(epk, value.as_string());
    } else {
        append_hashed(epk, value, '\0');
    }
    return epk;
}

void append_v2_hash(std::string& out, const json::Value& component) {
    std::string input;
    append_hashed(input, component, '\xFF');
    const auto [low, high] = murmur3_128(input, 0);
    // The hash's 16 little-endian bytes backwards, the top two bits cleared.
    append_u64_be(out, high & 0x3FFF'FFFF'FFFF'FFFFULL);
    append_u64_be(out, low);
}

Status check_component(const PartitionKeyDefinition& definition, const json::Value& component) {
    if (component.is_array() || component.is_object())
        return Status(errors::bad_request(
            "A partition key component must be a string, number, boolean, null or missing."));
    const size_t bytes = component.is_string() ? component.as_string().size()
                         : component.extended_type() == json::ExtendedType::kBinary
                             ? component.as_bytes().size()
                             : 0;
    if (definition.version == 2 && bytes > limits::kPartitionKeyBytesMax)
        return Status(errors::bad_request("The partition key value is longer than 2048 bytes."));
    return {};
}

}  // namespace

Result<std::string> effective_partition_key(const PartitionKeyDefinition& definition,
                                            const PartitionKeyComponents& components) {
    const bool multi = definition.kind == KeyKind::kMultiHash;
    const bool empty_allowed = multi || definition.system_key;
    if (components.size() > definition.level_count() || (components.empty() && !empty_allowed))
        return errors::bad_request("The partition key has " + std::to_string(components.size()) +
                                   " components, but the container's key has " +
                                   std::to_string(definition.paths.size()) + ".");
    for (const json::Value& component : components)
        TRY_STATUS(check_component(definition, component));
    if (components.empty()) return std::string();
    if (definition.system_key && components.front().is_undefined()) return std::string();
    if (definition.version == 1) return v1_epk(components.front());
    std::string epk;
    epk.reserve(components.size() * kHashBytes);
    for (const json::Value& component : components) append_v2_hash(epk, component);
    return epk;
}

EpkRange range_of_key(std::string_view epk) {
    return {std::string(epk), std::string(epk) + '\xFF'};
}

std::vector<EpkRange> even_ranges(const PartitionKeyDefinition& definition, size_t count) {
    CHECK(count > 0);
    __extension__ using Wide = unsigned __int128;
    const Wide wide_step = ((Wide{1} << 126) - 1) / count;
    const uint64_t v1_step = uint64_t{0xFFFF'FFFF} / count;
    std::vector<EpkRange> ranges(count);
    for (size_t i = 1; i < count; ++i) {
        std::string border;
        if (definition.version == 1) {
            append_v1_number(border, static_cast<double>(v1_step * i));
        } else {
            const Wide value = wide_step * i;
            append_u64_be(border, static_cast<uint64_t>(value >> 64));
            append_u64_be(border, static_cast<uint64_t>(value));
        }
        ranges[i - 1].max = border;
        ranges[i].min = std::move(border);
    }
    return ranges;
}

std::string docref_border(const PartitionKeyDefinition& definition, std::string_view epk) {
    if (definition.version == 1) return std::string(epk.substr(0, kDocrefLevelBytes));
    if (epk.empty()) return {};
    // All levels but the last are complete; the last is cut to the bytes that docrefs hold.
    const size_t full = (epk.size() - 1) / kHashBytes * kHashBytes;
    std::string border(epk.substr(0, full + kDocrefLevelBytes));
    border.resize(full + kHashBytes, '\0');
    return border;
}

double width_of_range(const PartitionKeyDefinition& definition, const EpkRange& range) {
    const auto place = [&](const std::string& epk) {
        if (epk.empty()) return 0.0;
        if (epk == EpkRange().max) return 1.0;
        if (definition.version == 1)
            return static_cast<double>(v1_hash_of(epk).value_or(0)) / 0x1p32;
        std::string bytes = epk.substr(0, kDocrefLevelBytes);
        bytes.resize(kDocrefLevelBytes, '\0');
        return static_cast<double>(load_u64_be(bytes.data())) / 0x1p62;
    };
    return place(range.max) - place(range.min);
}

std::optional<std::string> middle_of_range(const PartitionKeyDefinition& definition,
                                           const EpkRange& range) {
    const auto inside = [&](const std::string& epk) { return epk > range.min && epk < range.max; };
    if (definition.version == 1) {
        constexpr uint64_t kLast = 0xFFFF'FFFF;
        const uint64_t low = range.min.empty() ? 0 : v1_hash_of(range.min).value_or(kLast);
        const uint64_t high = v1_hash_of(range.max).value_or(kLast);
        const uint64_t middle = (low + high) / 2;
        std::string border;
        append_v1_number(border, static_cast<double>(middle));
        border = docref_border(definition, border);
        return inside(border) ? std::optional(border) : std::nullopt;
    }
    __extension__ using Wide = unsigned __int128;
    const auto number_at = [](std::string_view epk, size_t at) {
        std::string bytes(epk.substr(std::min(at, epk.size()), kHashBytes));
        bytes.resize(kHashBytes, '\0');
        return Wide{load_u64_be(bytes.data())} << 64 | load_u64_be(bytes.data() + 8);
    };
    constexpr Wide kLast = (Wide{1} << 126) - 1;
    // If one level leaves no room, continue on the next level, below the lower bound's value.
    std::string above;
    for (size_t level = 0; level < definition.level_count(); ++level) {
        const size_t at = level * kHashBytes;
        const Wide low = number_at(range.min, at);
        Wide high = kLast;
        if (range.max.starts_with(above) && range.max.size() > at)
            high = std::min(kLast, number_at(range.max, at));
        if (high > low) {
            const Wide middle = low + (high - low) / 2;
            std::string border = above;
            append_u64_be(border, static_cast<uint64_t>(middle >> 64));
            append_u64_be(border, 0);
            if (inside(border)) return border;
        }
        above.append(range.min.substr(std::min(at, range.min.size()), kHashBytes));
        above.resize(at + kHashBytes, '\0');
    }
    return std::nullopt;
}

std::string docref_prefix(const PartitionKeyDefinition& definition, std::string_view epk) {
    if (epk.empty()) return std::string(kDocrefLevelBytes * definition.level_count(), '\0');
    std::string prefix;
    for (size_t level = 0; level < definition.level_count(); ++level) {
        const std::string_view hash = epk.substr(std::min(level * kHashBytes, epk.size()));
        if (hash.empty()) break;
        prefix.append(hash.substr(0, kDocrefLevelBytes));
        prefix.resize(kDocrefLevelBytes * (level + 1), '\0');
    }
    return prefix;
}

}  // namespace orrery::partition
