#include "cli/item_conversion.h"

#include <fmt/format.h>

#include <vector>

#include "base/errors.h"
#include "base/limits.h"
#include "base/random.h"
#include "cli/mongo_json.h"
#include "json/item.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::cli {
namespace {

using json::Arena;
using json::Member;
using json::Value;

/// The item with `id` first, instead of any it had.
Value replace_id(const Value& item, std::string_view id, Arena& arena) {
    std::vector<Member> members = {{"id", Value::string(id)}};
    for (const Member& member : item.members())
        if (member.name != "id") members.push_back(member);
    return Value::object(arena.copy(std::span<const Member>(members)));
}

Value at_path(Value value, std::string_view path) {
    if (const Value whole = value.member(path); !whole.is_undefined()) return whole;
    while (true) {
        const size_t dot = path.find('.');
        value = value.member(path.substr(0, dot));
        if (dot == std::string_view::npos) return value;
        path.remove_prefix(dot + 1);
    }
}

}  // namespace

Result<Value> ItemConverter::with_id(const Value& item, Arena& arena) const {
    if (!options_.id_from.empty()) {
        const Value from = at_path(item, options_.id_from);
        if (from.is_string()) return replace_id(item, from.as_string(), arena);
        if (from.is_number())
            return replace_id(item, arena.copy(json::to_text(from, json::NumberForm::kCanonical)),
                              arena);
        return errors::bad_request(
            fmt::format("--id-from: the item has no text and no number at '{}'", options_.id_from));
    }
    const Value id = item.member("id");
    if (id.is_string()) return item;
    if (id.is_number())
        return errors::bad_request(
            "'id' is a number; ids are strings. --id-from id makes one of it");
    if (!id.is_undefined()) return errors::bad_request("'id' must be a string");
    if (options_.generate_ids) return replace_id(item, arena.copy(random_guid()), arena);
    if (!item.member("_id").is_undefined())
        return errors::bad_request(
            "the item has '_id' and no 'id', as in a dump of MongoDB: add --format mongo");
    return errors::bad_request(
        "the item has no 'id'; --id-from NAME takes it from a member, --generate-ids makes one up");
}

Result<PreparedItem> ItemConverter::prepare(std::string_view text) const {
    Arena arena;
    TRY(Value item, json::parse(text, arena));
    if (!item.is_object()) return errors::bad_request("an item must be a JSON object");
    if (options_.mongo) {
        TRY(item, mongo_to_json(item, arena));
        if (options_.id_from.empty()) {
            TRY(item, mongo_id_to_id(item, arena));
        }
    }
    TRY(item, with_id(item, arena));
    PreparedItem out;
    out.id = item.member("id").as_string();
    TRY_STATUS(json::check_item_id(out.id));
    json::write(out.text, item, json::NumberForm::kAsWritten);
    if (out.text.size() > limits::kItemBytesMax)
        return errors::bad_request(
            fmt::format("the item has {} bytes; a container takes 2 MB", out.text.size()));
    out.partition_key = partition_key_header(container_, item);
    return out;
}

Result<PreparedItem> ItemConverter::convert(const Record& record) const {
    const auto convert_text = [&]() -> Result<PreparedItem> {
        if (!csv_.has_value()) return prepare(record.text);
        TRY(const std::string text, csv_->convert(record.text));
        return prepare(text);
    };
    auto out = convert_text();
    if (out.ok()) return out;
    return errors::bad_request(fmt::format("Line {}: {}", record.line, out.error().message));
}

}  // namespace orrery::cli
