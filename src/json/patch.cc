#include "json/patch.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "base/errors.h"
#include "base/limits.h"
#include "json/order.h"

namespace orrery::json {
namespace {

using Path = std::span<const std::string>;

std::string_view kind_name(PatchKind kind) {
    switch (kind) {
        case PatchKind::kAdd:
            return "add";
        case PatchKind::kSet:
            return "set";
        case PatchKind::kReplace:
            return "replace";
        case PatchKind::kRemove:
            return "remove";
        case PatchKind::kIncrement:
            return "incr";
        case PatchKind::kMove:
            return "move";
    }
    return "";
}

std::optional<PatchKind> kind_of(std::string_view name) {
    if (name == "add") return PatchKind::kAdd;
    if (name == "set") return PatchKind::kSet;
    if (name == "replace") return PatchKind::kReplace;
    if (name == "remove") return PatchKind::kRemove;
    if (name == "incr" || name == "increment") return PatchKind::kIncrement;
    if (name == "move") return PatchKind::kMove;
    return std::nullopt;
}

std::string path_text(Path path) {
    std::string text;
    for (const std::string& segment : path) {
        text.push_back('/');
        for (const char c : segment) {
            if (c == '~') {
                text.append("~0");
            } else if (c == '/') {
                text.append("~1");
            } else {
                text.push_back(c);
            }
        }
    }
    return text;
}

/// Decodes "/a/b~1c/0" into its segments; nullopt when malformed.
std::optional<std::vector<std::string>> split_path(std::string_view text) {
    if (text.empty() || text.front() != '/') return std::nullopt;
    std::vector<std::string> segments;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '/') {
            segments.emplace_back();
        } else if (c != '~') {
            segments.back().push_back(c);
        } else {
            if (++i == text.size() || (text[i] != '0' && text[i] != '1')) return std::nullopt;
            segments.back().push_back(text[i] == '0' ? '~' : '/');
        }
    }
    return segments;
}

Status malformed(size_t index, std::string_view member, std::string_view why) {
    std::string message = "Patch operation " + std::to_string(index) + ": '";
    message.append(member).append("' ").append(why).append(".");
    return Status(errors::bad_request(std::move(message)));
}

Result<std::vector<std::string>> read_path(const Value& operation, std::string_view member,
                                           size_t index) {
    const Value text = operation.member(member);
    if (!text.is_string()) return malformed(index, member, "must be a string");
    auto segments = split_path(text.as_string());
    if (!segments.has_value())
        return malformed(index, member,
                         "must be a path that starts with '/', with ~0 for '~' and ~1 for '/'");
    return std::move(*segments);
}

Result<PatchOperation> read_operation(const Value& body, size_t index, Arena& arena) {
    if (!body.is_object())
        return Status(errors::bad_request("Patch operation " + std::to_string(index) +
                                          " must be an object."));
    const Value op = body.member("op");
    if (!op.is_string()) return malformed(index, "op", "must be a string");
    const auto kind = kind_of(op.as_string());
    if (!kind.has_value())
        return malformed(index, "op", "must be one of add, set, replace, remove, incr and move");

    PatchOperation operation;
    operation.kind = *kind;
    TRY(operation.path, read_path(body, "path", index));
    if (*kind == PatchKind::kMove) {
        TRY(operation.from, read_path(body, "from", index));
        const bool into_itself =
            operation.from.size() < operation.path.size() &&
            std::equal(operation.from.begin(), operation.from.end(), operation.path.begin());
        if (into_itself) return malformed(index, "path", "must not lie inside 'from'");
    }
    if (*kind != PatchKind::kMove && *kind != PatchKind::kRemove) {
        const Value value = body.member("value");
        if (value.is_undefined()) return malformed(index, "value", "is missing");
        if (*kind == PatchKind::kIncrement && !value.is_number())
            return malformed(index, "value", "must be a number");
        operation.value = copy_value(value, arena);
    }
    return operation;
}

/// One step of a patch on one item. Values are immutable. An edit copies the containers along its
/// path and shares everything else.
class Editor {
public:
    Editor(const PatchOperation& operation, size_t index, Arena& arena)
        : operation_(operation), index_(index), arena_(arena) {}

    Result<Value> apply(const Value& root) {
        if (operation_.kind != PatchKind::kMove)
            return edit(root, operation_.path, operation_.kind, operation_.value);
        TRY(const Value moved, find(root, operation_.from));
        if (operation_.from == operation_.path) return root;
        TRY(const Value without, edit(root, operation_.from, PatchKind::kRemove, {}));
        return edit(without, operation_.path, PatchKind::kAdd, moved);
    }

    Status fail(std::string_view why) const {
        std::string message = "Patch operation " + std::to_string(index_) + " (";
        message.append(kind_name(operation_.kind)).append(" ");
        if (operation_.kind == PatchKind::kMove)
            message.append(path_text(operation_.from)).append(" to ");
        message.append(path_text(operation_.path))
            .append(") cannot be applied: ")
            .append(why)
            .append(".");
        return Status(errors::bad_request(std::move(message)));
    }

private:
    Result<Value> edit(const Value& node, Path path, PatchKind kind, const Value& value) {
        if (node.is_object()) return edit_object(node, path, kind, value);
        if (node.is_array()) return edit_array(node, path, kind, value);
        return fail("the path leads through a value that is neither an object nor an array");
    }

    Result<Value> edit_object(const Value& node, Path path, PatchKind kind, const Value& value) {
        const auto members = node.members();
        const auto member = std::find_if(members.begin(), members.end(),
                                         [&](const Member& m) { return m.name == path.front(); });
        const bool exists = member != members.end();
        const auto at = static_cast<size_t>(member - members.begin());
        if (path.size() > 1) {
            if (!exists) return missing(path.front());
            TRY(const Value child, edit(member->value, path.subspan(1), kind, value));
            return with_member(members, at, {member->name, child});
        }
        const bool creates =
            kind == PatchKind::kAdd || kind == PatchKind::kSet || kind == PatchKind::kIncrement;
        if (!exists && !creates) return missing(path.front());
        if (!exists) return with_member(members, at, {path.front(), value});
        if (kind == PatchKind::kRemove) {
            std::vector<Member> left(members.begin(), members.end());
            left.erase(left.begin() + (member - members.begin()));
            return Value::object(arena_.copy(std::span<const Member>(left)));
        }
        if (kind != PatchKind::kIncrement) return with_member(members, at, {member->name, value});
        TRY(const Value sum, add_numbers(member->value, value));
        return with_member(members, at, {member->name, sum});
    }

    Result<Value> edit_array(const Value& node, Path path, PatchKind kind, const Value& value) {
        const auto elements = node.elements();
        TRY(const size_t at, element_index(path.front(), elements.size()));
        const bool exists = at < elements.size();
        std::vector<Value> changed(elements.begin(), elements.end());
        if (path.size() > 1) {
            if (!exists) return out_of_range(elements.size());
            TRY(changed[at], edit(elements[at], path.subspan(1), kind, value));
        } else if (kind == PatchKind::kAdd || (kind == PatchKind::kSet && at == elements.size())) {
            if (at > elements.size()) return out_of_range(elements.size());
            changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(at), value);
        } else if (!exists) {
            return out_of_range(elements.size());
        } else if (kind == PatchKind::kRemove) {
            changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(at));
        } else if (kind == PatchKind::kIncrement) {
            TRY(changed[at], add_numbers(elements[at], value));
        } else {
            changed[at] = value;
        }
        return Value::array(arena_.copy(std::span<const Value>(changed)));
    }

    Result<Value> find(const Value& root, Path path) {
        Value node = root;
        for (const std::string& segment : path) {
            if (node.is_object()) {
                node = node.member(segment);
                if (node.is_undefined()) return missing(segment);
            } else if (node.is_array()) {
                TRY(const size_t at, element_index(segment, node.elements().size()));
                if (at >= node.elements().size()) return out_of_range(node.elements().size());
                node = node.elements()[at];
            } else {
                return fail(
                    "the path leads through a value that is neither an object nor an array");
            }
        }
        return node;
    }

    /// "-" is the place behind the last element. No leading zeros, so that one element has one
    /// path.
    Result<size_t> element_index(std::string_view segment, size_t count) const {
        if (segment == "-") return count;
        size_t index = 0;
        const char* const end = segment.data() + segment.size();
        const auto parsed = std::from_chars(segment.data(), end, index);
        const bool leading_zero = segment.size() > 1 && segment.front() == '0';
        const bool digits =
            !segment.empty() && segment.find_first_not_of("0123456789") == std::string_view::npos;
        if (!digits || leading_zero)
            return fail("'" + std::string(segment) + "' is not an index of an array");
        if (parsed.ec != std::errc()) return out_of_range(count);
        return index;
    }

    Result<Value> add_numbers(const Value& left, const Value& right) const {
        if (!left.is_number()) return fail("the target is not a number");
        int64_t whole = 0;
        if (left.is_int64() && right.is_int64() &&
            !__builtin_add_overflow(left.as_int64(), right.as_int64(), &whole))
            return Value::integer(whole);
        const double sum = left.as_double() + right.as_double();
        if (!std::isfinite(sum)) return fail("the sum is beyond the range of a 64-bit float");
        return Value::number(sum);
    }

    /// The object with the member at `at` replaced, or with a new last one.
    Value with_member(std::span<const Member> members, size_t at, const Member& member) {
        std::vector<Member> changed;
        changed.reserve(members.size() + 1);
        changed.assign(members.begin(), members.end());
        if (at < changed.size()) {
            changed[at] = member;
        } else {
            changed.push_back(member);
        }
        return Value::object(arena_.copy(std::span<const Member>(changed)));
    }

    Status missing(std::string_view name) const {
        return fail("'" + std::string(name) + "' does not exist");
    }
    Status out_of_range(size_t count) const {
        return fail("the index is out of range of an array of " + std::to_string(count));
    }

    const PatchOperation& operation_;
    const size_t index_;
    Arena& arena_;
};

bool starts_with(Path path, Path prefix) {
    return path.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), path.begin());
}

Status check_mutable(const Editor& editor, Path path,
                     const std::vector<MemberPath>& immutable_paths, const DialectRules& rules) {
    if (path.empty()) return editor.fail("the path is empty");
    if (rules.reserves_members) {
        if (path.front() == "id") return editor.fail("the id cannot be changed");
        if (is_system_property(path.front()))
            return editor.fail("system properties cannot be changed");
    }
    for (const MemberPath& immutable : immutable_paths)
        if (starts_with(path, immutable)) return editor.fail("the partition key cannot be changed");
    return {};
}

Value at_member_path(Value node, const MemberPath& path) {
    for (const std::string& name : path) node = node.member(name);
    return node;
}

}  // namespace

Result<Patch> parse_patch(const Value& body, Arena& arena) {
    Patch patch;
    Value operations = body;
    if (body.is_object()) {
        operations = Value();
        for (const Member& member : body.members()) {
            if (member.name == "operations") {
                operations = member.value;
            } else if (member.name == "condition") {
                if (!member.value.is_string() && !member.value.is_null())
                    return Status(
                        errors::bad_request("The patch member 'condition' must be a string."));
                if (member.value.is_string()) patch.condition = member.value.as_string();
            } else {
                // A patch with a misspelt condition must not run without one.
                return Status(errors::bad_request(
                    "The patch member '" + std::string(member.name) +
                    "' is unknown; 'operations' and 'condition' are expected."));
            }
        }
    }
    if (!operations.is_array())
        return Status(errors::bad_request(
            "A patch must be an array of operations, or an object with the array 'operations'."));
    const size_t count = operations.elements().size();
    if (count == 0 || count > limits::kPatchOperationsMax)
        return Status(errors::bad_request(
            "A patch must have 1 to " + std::to_string(limits::kPatchOperationsMax) +
            " operations; this one has " + std::to_string(count) + "."));
    for (size_t i = 0; i < count; ++i) {
        TRY(auto operation, read_operation(operations.elements()[i], i, arena));
        patch.operations.push_back(std::move(operation));
    }
    return patch;
}

Result<Value> apply_patch(const Value& item, const Patch& patch,
                          const std::vector<MemberPath>& immutable_paths, Arena& arena,
                          const DialectRules& rules) {
    Value result = item;
    for (size_t i = 0; i < patch.operations.size(); ++i) {
        const PatchOperation& operation = patch.operations[i];
        Editor editor(operation, i, arena);
        TRY_STATUS(check_mutable(editor, operation.path, immutable_paths, rules));
        if (operation.kind == PatchKind::kMove)
            TRY_STATUS(check_mutable(editor, operation.from, immutable_paths, rules));
        TRY(result, editor.apply(result));
    }
    // An operation on a parent of the partition key is allowed as long as the key stays the same.
    for (const MemberPath& path : immutable_paths) {
        if (!equal(at_member_path(item, path), at_member_path(result, path)))
            return Status(
                errors::bad_request("The patch cannot be applied: it changes the partition key " +
                                    path_text(path) + "."));
    }
    return result;
}

}  // namespace orrery::json
