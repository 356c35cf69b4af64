#include "json/item_id.h"

#include <optional>

#include "base/bytes.h"
#include "base/encoding.h"
#include "base/errors.h"
#include "base/limits.h"
#include "json/value_key.h"

namespace orrery::json {
namespace {

constexpr char kTaggedByte = '\xFF';
constexpr char kTextMark = '$';

/// The string of a core id; nullopt if it is of another type.
std::optional<std::string> string_of(std::string_view id) {
    id.remove_prefix(1);
    if (id.empty() || id.front() != static_cast<char>(TermClass::kString)) return std::nullopt;
    id.remove_prefix(1);
    return take_delimited(id);
}

bool is_plain(std::string_view text) {
    return check_item_id(text).ok() && text.front() != kTextMark;
}

std::string tagged(const Value& value, const DialectRules& rules) {
    std::string id(1, kTaggedByte);
    append_value_key(id, value, rules);
    return id;
}

}  // namespace

Result<std::string> make_item_id(const Value& value, const DialectRules& rules) {
    if (rules.reserves_members) {
        if (!value.is_string()) return errors::invalid_id("it must be a string");
        TRY_STATUS(check_item_id(value.as_string()));
        return std::string(value.as_string());
    }
    const bool object = value.is_object() && rules.type_order == TypeOrder::kBson;
    if (!value.is_scalar() && !object)
        return errors::invalid_id("a value of this type cannot be one");
    std::string id = tagged(value, rules);
    if (id.size() > kCoreIdBytesMax)
        return errors::invalid_id("it is longer than " + std::to_string(kCoreIdBytesMax) +
                                  " bytes");
    return id;
}

std::string item_id_text(std::string_view id, const DialectRules& rules) {
    if (rules.reserves_members) return std::string(id);
    DCHECK(is_tagged_id(id));
    if (auto string = string_of(id); string && is_plain(*string)) return *std::move(string);
    return kTextMark + to_lower_ascii(hex_encode_upper(id.substr(1)));
}

Result<std::string> item_id_of_text(std::string_view text, const DialectRules& rules) {
    if (rules.reserves_members || is_plain(text)) return make_item_id(Value::string(text), rules);
    if (!text.empty() && text.front() == kTextMark) {
        const auto bytes = hex_decode(text.substr(1));
        if (bytes && !bytes->empty() && bytes->size() < kCoreIdBytesMax) {
            std::string id = kTaggedByte + *bytes;
            if (item_id_text(id, rules) == text) return id;
        }
    }
    return errors::invalid_id("it is neither a string that can be one nor '$' and hex digits");
}

Status check_item_id(std::string_view id) {
    if (id.empty()) return Status(errors::invalid_id("it is empty"));
    if (id.size() > limits::kItemIdBytesMax)
        return Status(errors::invalid_id("it is longer than " +
                                         std::to_string(limits::kItemIdBytesMax) + " bytes"));
    if (id.find('/') != std::string_view::npos || id.find('\\') != std::string_view::npos)
        return Status(errors::invalid_id("it contains '/' or '\\'"));
    if (!is_valid_utf8(id)) return Status(errors::invalid_id("it is not well-formed UTF-8"));
    return {};
}

}  // namespace orrery::json
