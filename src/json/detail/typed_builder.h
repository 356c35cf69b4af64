#pragma once

#include "json/detail/builder.h"
#include "json/typed_text.h"

namespace orrery::json::detail {

/// Builds values of a dialect with typed values: an object whose first member is `$t` is a wrapper,
/// and the value of its `$v` takes its place.
class TypedBuilder : public Builder {
public:
    using Builder::Builder;

    void begin(Type type, const char* at) {
        literal_.push(type == Type::kObject && begins_literal());
        Builder::begin(type, at);
    }
    void end(Type type, const char* behind) {
        const bool literal = literal_.back();
        literal_.truncate(literal_.size() - 1);
        Builder::end(type, behind);
        Member& built = entries_.back();
        if (type != Type::kObject || literal || built.value.members().empty() ||
            built.value.members()[0].name != kTypeMember)
            return;
        const Value value = unwrapped(built.value.members());
        if (value.is_undefined() && wrong_at_ == nullptr) wrong_at_ = behind;
        built.value = value;
    }
    /// Points behind the first wrapper whose type is not in use; null: all types are.
    const char* wrong_at() const { return wrong_at_; }

private:
    /// The object that begins is the `$v` of a wrapped object: its own member `$t` is the client's.
    bool begins_literal() {
        if (!inside() || literal_.back() || name_ != kValueMember) return false;
        const size_t first = open_.back().first;
        return entries_.size() == first + 1 && is_object_type(entries_[first]);
    }
    static bool is_object_type(const Member& member) {
        return member.name == kTypeMember && member.value.is_int64() &&
               member.value.as_int64() == static_cast<int64_t>(ExtendedType::kObject);
    }
    /// Undefined: the wrapper is wrong.
    Value unwrapped(std::span<const Member> members) {
        if (members.size() != 2 || members[1].name != kValueMember ||
            !members[0].value.is_int64() || members[0].value.as_int64() < 0)
            return {};
        if (is_object_type(members[0]))
            return members[1].value.member(kTypeMember).is_undefined() ? Value() : members[1].value;
        if (!members[1].value.is_string()) return {};
        return parse_extended(static_cast<uint64_t>(members[0].value.as_int64()),
                              members[1].value.as_string(), arena_)
            .value_or(Value());
    }

    InlineStack<bool, 32> literal_;
    const char* wrong_at_ = nullptr;
};

}  // namespace orrery::json::detail
