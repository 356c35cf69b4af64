#include "catalog/materialized_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/encoding.h"
#include "base/errors.h"
#include "catalog/names.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::catalog {
namespace {

constexpr size_t kSelectBytesMax = 64 << 10;
constexpr size_t kPropertiesMax = 1000;

Error bad_view(std::string_view what) {
    return bad_definition_member("materializedViewDefinition", what);
}

bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_name_char(char c) {
    return is_name_start(c) || (c >= '0' && c <= '9');
}

/// Reads `SELECT * FROM s` and `SELECT s.a, s.b.c, s["d e"] FROM s`.
class SelectReader {
public:
    SelectReader(std::string_view text, MaterializedViewDefinition& out) : rest_(text), out_(out) {}

    Status read() {
        if (!keyword("SELECT")) return refuse("it must begin with SELECT");
        std::vector<std::string> aliases;
        skip();
        if (take('*')) {
            out_.whole = true;
        } else {
            do {
                TRY_STATUS(property(aliases));
            } while (take(','));
        }
        if (!keyword("FROM"))
            return refuse(
                "after the properties FROM is expected; a view has no aliases, functions or other "
                "expressions");
        const std::string from = name();
        if (from.empty()) return refuse("FROM must be followed by a name");
        skip();
        if (!rest_.empty())
            return refuse("nothing may follow FROM: a view has no WHERE, JOIN, ORDER BY or alias");
        for (const std::string& alias : aliases)
            if (alias != from)
                return refuse(fmt::format("'{}' is not what FROM names ('{}')", excerpt(alias),
                                          excerpt(from)));
        return {};
    }

private:
    Status refuse(std::string_view what) const {
        return Status(bad_view(fmt::format("'definition': {}, near '{}'", what, excerpt(rest_))));
    }
    void skip() {
        while (!rest_.empty() && std::string_view(" \t\r\n").find(rest_.front()) != rest_.npos)
            rest_.remove_prefix(1);
    }
    bool take(char c) {
        skip();
        if (!rest_.starts_with(c)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    bool keyword(std::string_view word) {
        skip();
        if (rest_.size() < word.size() || !equals_ignore_case(rest_.substr(0, word.size()), word) ||
            (rest_.size() > word.size() && is_name_char(rest_[word.size()])))
            return false;
        rest_.remove_prefix(word.size());
        return true;
    }
    std::string name() {
        skip();
        if (rest_.empty() || !is_name_start(rest_.front())) return {};
        size_t length = 1;
        while (length < rest_.size() && is_name_char(rest_[length])) ++length;
        std::string out(rest_.substr(0, length));
        rest_.remove_prefix(length);
        return out;
    }
    /// A name in brackets and quotes, as JSON writes it; empty: there is none.
    std::string quoted_name() {
        if (!take('"')) return {};
        size_t end = 0;
        while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
        if (end >= rest_.size()) return {};
        json::Arena arena;
        const auto value = json::parse("\"" + std::string(rest_.substr(0, end)) + "\"", arena);
        if (!value.ok()) return {};
        rest_.remove_prefix(end + 1);
        return take(']') ? std::string(value->as_string()) : std::string();
    }
    Status property(std::vector<std::string>& aliases) {
        std::string alias = name();
        if (alias.empty()) return refuse("a property of the source is expected, such as s.name");
        MaterializedViewDefinition::Property out;
        for (;;) {
            if (take('.')) {
                out.path.push_back(name());
            } else if (take('[')) {
                out.path.push_back(quoted_name());
            } else {
                break;
            }
            if (out.path.back().empty()) return refuse("the name of a property is expected");
        }
        if (out.path.empty()) return refuse("a property of the source is expected, such as s.name");
        if (json::is_system_property(out.path.front()))
            return refuse(fmt::format("'{}' is a system property; a view's items have their own",
                                      out.path.front()));
        out.name = out.path.back();
        // The source's id is part of every item, as `_id`.
        const bool source_id = out.path.size() == 1 && out.name == "id";
        if (!source_id) {
            if (out.name == "id" || out.name == "_id" || json::is_system_property(out.name))
                return refuse(fmt::format("'{}' is a name that the view gives itself", out.name));
            if (out_.shows(out.name))
                return refuse(
                    fmt::format("two properties would be called '{}'", excerpt(out.name)));
            if (out_.properties.size() >= kPropertiesMax)
                return refuse(fmt::format("a view shows at most {} properties", kPropertiesMax));
            out_.properties.push_back(std::move(out));
        }
        aliases.push_back(std::move(alias));
        return {};
    }

    std::string_view rest_;
    MaterializedViewDefinition& out_;
};

json::Value at(json::Value value, const json::MemberPath& path) {
    for (const std::string& name : path) value = value.member(name);
    return value;
}

void append_member(std::string& out, std::string_view name, const json::Value& value) {
    out += ',';
    json::write_string(out, name);
    out += ':';
    json::write(out, value, json::NumberForm::kAsWritten);
}

}  // namespace

bool MaterializedViewDefinition::shows(std::string_view name) const {
    return whole || std::any_of(properties.begin(), properties.end(),
                                [&](const Property& one) { return one.name == name; });
}

Result<MaterializedViewDefinitionPtr> make_materialized_view(std::string source_id,
                                                             std::string source_rid,
                                                             std::string select) {
    auto out = std::make_shared<MaterializedViewDefinition>();
    out->source_id = std::move(source_id);
    out->source_rid = std::move(source_rid);
    out->select = std::move(select);
    if (out->source_id.empty() && out->source_rid.empty())
        return bad_view("'sourceCollectionId' must name the container that it shows");
    if (out->select.empty()) return bad_view("'definition' must be a SELECT");
    if (out->select.size() > kSelectBytesMax)
        return bad_view(fmt::format("'definition' is longer than {} bytes", kSelectBytesMax));
    TRY_STATUS(SelectReader(out->select, *out).read());
    return MaterializedViewDefinitionPtr(std::move(out));
}

std::string materialized_view_item_id(std::string_view source_item_rid) {
    return std::string(source_item_rid);
}

std::string materialized_view_item(const MaterializedViewDefinition& view, std::string_view id,
                                   const json::Value& item) {
    std::string out = R"({"id":)";
    json::write_string(out, id);
    append_member(out, "_id", item.member("id"));
    if (view.whole) {
        for (const json::Member& member : item.members())
            if (member.name != "id" && member.name != "_id")
                append_member(out, member.name, member.value);
    } else {
        for (const MaterializedViewDefinition::Property& property : view.properties) {
            const json::Value value = at(item, property.path);
            append_member(out, property.name, value.is_undefined() ? json::Value::null() : value);
        }
    }
    return out + '}';
}

}  // namespace orrery::catalog
