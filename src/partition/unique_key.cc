#include "partition/unique_key.h"

#include <openssl/sha.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/bytes.h"
#include "json/value_key.h"

namespace orrery::partition {
namespace {

enum Tag : char {
    kNull = 1,
    kFalse = 2,
    kTrue = 3,
    kNumber = 4,
    kString = 5,
    kArray = 6,
    kObject = 7
};

/// Values above this many bytes are hashed, so that keys stay short.
constexpr size_t kVerbatimBytesMax = 128;

void append_value(std::string& out, const json::Value& value);

void append_object(std::string& out, const json::Value& value) {
    std::vector<const json::Member*> members;
    for (const json::Member& member : value.members())
        if (!member.value.is_undefined()) members.push_back(&member);
    std::sort(members.begin(), members.end(),
              [](const json::Member* a, const json::Member* b) { return a->name < b->name; });
    out.push_back(kObject);
    append_varint(out, members.size());
    for (const json::Member* member : members) {
        append_bytes(out, member->name);
        append_value(out, member->value);
    }
}

// Self-delimiting, so that tuples of values are unambiguous. Depth is bounded by the item's.
void append_value(std::string& out, const json::Value& value) {
    switch (value.type()) {
        case json::Type::kUndefined:
        case json::Type::kNull:
            out.push_back(kNull);
            break;
        case json::Type::kBool:
            out.push_back(value.as_bool() ? kTrue : kFalse);
            break;
        case json::Type::kNumber: {
            const double number = value.as_double();
            out.push_back(kNumber);
            append_u64_be(out, std::bit_cast<uint64_t>(number == 0 ? 0.0 : number));
            break;
        }
        case json::Type::kString:
            out.push_back(kString);
            append_bytes(out, value.as_string());
            break;
        case json::Type::kArray:
            out.push_back(kArray);
            append_varint(out, value.elements().size());
            for (const json::Value& element : value.elements()) append_value(out, element);
            break;
        case json::Type::kObject:
            append_object(out, value);
            break;
        case json::Type::kExtended:
            break;  // none in the dialect nosql
    }
}

/// With typed values numbers are equal only if they are exactly so.
void append_typed_value(std::string& out, const json::Value& value,
                        const json::DialectRules& rules) {
    json::append_value_key(out, value.is_undefined() ? json::Value::null() : value, rules);
}

std::string name_of(uint32_t number, const json::Value* values, size_t count,
                    const json::DialectRules& rules) {
    std::string encoded;
    for (size_t i = 0; i < count; ++i)
        rules.typed_values ? append_typed_value(encoded, values[i], rules)
                           : append_value(encoded, values[i]);
    std::string name;
    append_varint(name, number);
    if (encoded.size() <= kVerbatimBytesMax) {
        name.push_back(0);
        name.append(encoded);
        return name;
    }
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256(reinterpret_cast<const unsigned char*>(encoded.data()), encoded.size(), digest);
    name.push_back(1);
    name.append(reinterpret_cast<const char*>(digest), sizeof(digest));
    return name;
}

}  // namespace

std::string unique_key_name(uint32_t number, const std::vector<json::Value>& values,
                            json::Dialect dialect) {
    return name_of(number, values.data(), values.size(), json::rules(dialect));
}

std::optional<uint32_t> unique_key_number(std::string_view name) {
    ByteReader reader(name);
    const uint64_t number = reader.varint();
    if (!reader.ok() || number > UINT32_MAX) return std::nullopt;
    return static_cast<uint32_t>(number);
}

Result<std::vector<std::string>> unique_key_names(const std::vector<UniqueKey>& unique_keys,
                                                  const json::Document& document) {
    std::vector<std::string> names;
    if (unique_keys.empty()) return names;
    std::vector<json::MemberPath> paths;
    for (const UniqueKey& key : unique_keys)
        paths.insert(paths.end(), key.paths.begin(), key.paths.end());
    json::Arena arena;
    TRY(const std::vector<json::Value> values, document.values_at(paths, arena));
    const json::DialectRules& rules = json::rules(document.header.dialect);
    size_t at = 0;
    for (const UniqueKey& key : unique_keys) {
        names.push_back(name_of(key.number, values.data() + at, key.paths.size(), rules));
        at += key.paths.size();
    }
    return names;
}

}  // namespace orrery::partition
