#include "cli/mongo_json.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <ctime>
#include <optional>
#include <vector>

#include "base/encoding.h"
#include "base/errors.h"
#include "base/random.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::cli {
namespace {

using json::Arena;
using json::Member;
using json::Value;

/// "2020-02-29T12:00:00.000Z"
std::string iso_date(int64_t milliseconds) {
    int64_t seconds = milliseconds / 1000;
    int64_t rest = milliseconds % 1000;
    if (rest < 0) {
        rest += 1000;
        --seconds;
    }
    const auto time = static_cast<std::time_t>(seconds);
    std::tm parts{};
    ::gmtime_r(&time, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                       parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                       rest);
}

Error malformed(std::string_view type) {
    return errors::bad_request(
        fmt::format("a value of the type {} is not written as MongoDB writes it", type));
}

/// A number where a double holds every digit; else the text itself.
Value number_or_text(std::string_view text, Arena& arena) {
    constexpr size_t kDigitsMax = 15;
    size_t digits = 0;
    for (const char c : text.substr(0, text.find_first_of("eE")))
        digits += c >= '0' && c <= '9' ? 1 : 0;
    const auto parsed = json::parse(text, arena);
    if (parsed.ok() && parsed->is_number() && (digits <= kDigitsMax || parsed->is_int64()))
        return *parsed;
    return Value::string(arena.copy(text));
}

Result<Value> integer_of(const Value& value, std::string_view type, Arena& arena) {
    if (value.is_number()) return value;
    if (!value.is_string()) return malformed(type);
    int64_t number = 0;
    const std::string_view text = value.as_string();
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc() || end != text.data() + text.size()) return malformed(type);
    return Value::integer_text(number, arena.copy(fmt::format("{}", number)));
}

Result<Value> date_of(const Value& value, Arena& arena) {
    if (value.is_string()) return value;  // relaxed form: ISO 8601 already
    Value number = value;
    if (value.is_object()) number = value.member("$numberLong");
    TRY(const Value ms, integer_of(number, "$date", arena));
    if (!ms.is_int64()) return malformed("$date");
    return Value::string(arena.copy(iso_date(ms.as_int64())));
}

Result<Value> binary_of(const Value& value, const Value& legacy_type, Arena& arena) {
    Value base64 = value;
    Value subtype = legacy_type;
    if (value.is_object()) {
        base64 = value.member("base64");
        subtype = value.member("subType");
    }
    if (!base64.is_string()) return malformed("$binary");
    const bool uuid =
        subtype.is_string() && (subtype.as_string() == "04" || subtype.as_string() == "4");
    const auto bytes = base64_decode(base64.as_string());
    if (!bytes.has_value()) return malformed("$binary");
    if (!uuid || bytes->size() != 16) return base64;
    std::array<uint8_t, 16> raw{};
    for (size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<uint8_t>((*bytes)[i]);
    return Value::string(arena.copy(guid_text(raw)));
}

Result<Value> regex_of(const Value& pattern, const Value& options, Arena& arena) {
    if (!pattern.is_string()) return malformed("$regularExpression");
    return Value::string(
        arena.copy(fmt::format("/{}/{}", pattern.as_string(),
                               options.is_string() ? options.as_string() : std::string_view())));
}

Result<Value> convert(const Value& value, Arena& arena);

/// The plain value of {"$type": …}; undefined when the object is an ordinary one.
Result<std::optional<Value>> convert_special(const Value& object, Arena& arena) {
    const auto members = object.members();
    if (members.empty() || !members[0].name.starts_with('$')) return std::optional<Value>();
    const std::string_view type = members[0].name;
    const Value& inner = members[0].value;
    const auto text = [&]() -> Result<std::optional<Value>> {
        if (!inner.is_string()) return malformed(type);
        return std::optional<Value>(inner);
    };
    if (type == "$oid" || type == "$symbol" || type == "$uuid" || type == "$code") return text();
    if (type == "$date") {
        TRY(const Value date, date_of(inner, arena));
        return std::optional<Value>(date);
    }
    if (type == "$numberInt" || type == "$numberLong") {
        TRY(const Value number, integer_of(inner, type, arena));
        return std::optional<Value>(number);
    }
    if (type == "$numberDouble") {
        if (inner.is_number()) return std::optional<Value>(inner);
        if (!inner.is_string()) return malformed(type);
        const auto parsed = json::parse(inner.as_string(), arena);
        return std::optional<Value>(parsed.ok() && parsed->is_number() ? *parsed : inner);
    }
    if (type == "$numberDecimal") {
        if (!inner.is_string()) return malformed(type);
        return std::optional<Value>(number_or_text(inner.as_string(), arena));
    }
    if (type == "$binary") {
        TRY(const Value bytes, binary_of(inner, object.member("$type"), arena));
        return std::optional<Value>(bytes);
    }
    if (type == "$timestamp") {
        if (!inner.is_object()) return malformed(type);
        return std::optional<Value>(inner);
    }
    if (type == "$regularExpression") {
        TRY(const Value regex, regex_of(inner.member("pattern"), inner.member("options"), arena));
        return std::optional<Value>(regex);
    }
    if (type == "$regex") {
        TRY(const Value regex, regex_of(inner, object.member("$options"), arena));
        return std::optional<Value>(regex);
    }
    if (type == "$minKey") return std::optional<Value>(Value::string("MinKey"));
    if (type == "$maxKey") return std::optional<Value>(Value::string("MaxKey"));
    if (type == "$undefined") return std::optional<Value>(Value());
    return std::optional<Value>();  // $ref, $dbPointer and what users named so: ordinary members
}

Result<Value> convert(const Value& value, Arena& arena) {
    if (value.is_array()) {
        std::vector<Value> elements;
        for (const Value& element : value.elements()) {
            TRY(const Value converted, convert(element, arena));
            // An array keeps its length.
            elements.push_back(converted.is_undefined() ? Value::null() : converted);
        }
        return Value::array(arena.copy(std::span<const Value>(elements)));
    }
    if (!value.is_object()) return value;
    TRY(const auto special, convert_special(value, arena));
    if (special.has_value()) return *special;
    std::vector<Member> members;
    for (const Member& member : value.members()) {
        TRY(const Value converted, convert(member.value, arena));
        if (!converted.is_undefined()) members.push_back({member.name, converted});
    }
    return Value::object(arena.copy(std::span<const Member>(members)));
}

Result<Value> id_text(const Value& id, Arena& arena) {
    if (id.is_string()) return id;
    if (id.is_number())
        return Value::string(arena.copy(json::to_text(id, json::NumberForm::kCanonical)));
    return errors::bad_request(
        "'_id' is neither a text, an ObjectId nor a number; name the member to use with --id-from");
}

}  // namespace

Result<Value> mongo_to_json(const Value& item, Arena& arena) {
    return convert(item, arena);
}

Result<Value> mongo_id_to_id(const Value& plain, Arena& arena) {
    if (!plain.is_object() || plain.member("_id").is_undefined()) return plain;
    TRY(const Value id, id_text(plain.member("_id"), arena));
    std::vector<Member> members;
    for (const Member& member : plain.members()) {
        if (member.name == "_id") {
            members.push_back({"id", id});
        } else if (member.name == "id") {
            if (member.value.is_string() && member.value.as_string() == id.as_string()) continue;
            return errors::bad_request(
                "the item has both '_id' and 'id', and only one can become its id; choose with "
                "--id-from id or --id-from _id");
        } else {
            members.push_back(member);
        }
    }
    return Value::object(arena.copy(std::span<const Member>(members)));
}

}  // namespace orrery::cli
