#include "json/sql_view.h"

#include <algorithm>

#include "json/item_id.h"
#include "json/typed_text.h"
#include "json/write.h"

namespace orrery::json {
namespace {

constexpr char kEscape = '$';

/// What SQL has a meaning of its own for.
bool is_reserved(std::string_view name) {
    return name == "id" || name == "ttl" || is_system_property(name);
}

std::string_view without_escapes(std::string_view name) {
    return name.substr(std::min(name.find_first_not_of(kEscape), name.size()));
}

}  // namespace

std::string sql_name(std::string_view stored) {
    std::string out;
    if (is_reserved(without_escapes(stored))) out.push_back(kEscape);
    return out.append(stored);
}

std::string_view stored_name(std::string_view sql) {
    if (!is_reserved(without_escapes(sql))) return sql;
    return sql.front() == kEscape ? sql.substr(1) : std::string_view();
}

std::string sql_view_text(const Value& item, const DocumentHeader& header) {
    std::string out = "{\"id\":";
    write_string(out, item_id_text(header.id, rules(header.dialect)));
    if (header.own_ttl != 0) {
        out.append(",\"ttl\":");
        write_number(out, int64_t{header.own_ttl});
    }
    // An item that has a member `$t` of its own is wrapped.
    const bool wrapped =
        item.is_object() && !item.members().empty() && item.members()[0].name == kTypeMember;
    const Value own = wrapped ? item.member(kValueMember) : item;
    if (own.is_object()) {
        for (const Member& member : own.members()) {
            out.push_back(',');
            write_string(out, sql_name(member.name));
            out.push_back(':');
            write(out, member.value, NumberForm::kAsWritten);
        }
    }
    return out + '}';
}

}  // namespace orrery::json
