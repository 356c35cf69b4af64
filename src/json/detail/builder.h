#pragma once

#include <algorithm>
#include <vector>

#include "json/detail/inline_stack.h"
#include "json/detail/scan_handler.h"
#include "json/value.h"

namespace orrery::json::detail {

/// Builds the value of a scan bottom-up: finished values wait on a stack until their container
/// ends.
class Builder : public ScanHandler {
public:
    Builder(Arena& arena, bool last_name_wins) : arena_(arena), last_name_wins_(last_name_wins) {}

    void begin(Type, const char*) {
        open_.push({name_, entries_.size()});
        name_ = {};
    }
    void name(const StringToken& token, const char*) { name_ = token.value; }
    void element() { name_ = {}; }
    void scalar(const Value& value) { entries_.push({name_, value}); }
    void end(Type type, const char*) {
        const Open open = open_.back();
        open_.truncate(open_.size() - 1);
        Member* const first = entries_.begin() + open.first;
        const Value value = type == Type::kObject ? object(first) : array(first);
        entries_.truncate(open.first);
        entries_.push({open.name, value});
    }
    Value result() { return entries_[0].value; }

protected:
    struct Open {
        std::string_view name;
        size_t first;
    };

    bool inside() const { return open_.size() > 0; }

    Arena& arena_;
    std::string_view name_;
    InlineStack<Member, 64> entries_;
    InlineStack<Open, 32> open_;

private:
    Value array(Member* first) {
        const auto count = static_cast<size_t>(entries_.end() - first);
        if (count == 0) return Value::array({});
        auto* out =
            reinterpret_cast<Value*>(arena_.allocate(count * sizeof(Value), alignof(Value)));
        for (size_t i = 0; i < count; ++i) new (out + i) Value(first[i].value);
        return Value::array({out, count});
    }
    Value object(Member* first) {
        auto count = static_cast<size_t>(entries_.end() - first);
        if (last_name_wins_) count = keep_last(first, count);
        return Value::object(arena_.copy(std::span<const Member>(first, count)));
    }
    /// Where a name repeats, the first member keeps its place and takes the last one's value.
    static size_t keep_last(Member* first, size_t count) {
        std::vector<size_t> order(count);
        for (size_t i = 0; i < count; ++i) order[i] = i;
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return first[a].name < first[b].name; });
        std::vector<bool> dropped(count);
        size_t group = 0;
        for (size_t i = 1; i < count; ++i) {
            if (first[order[i]].name != first[order[group]].name) {
                group = i;
                continue;
            }
            first[order[group]].value = first[order[i]].value;
            dropped[order[i]] = true;
        }
        size_t kept = 0;
        for (size_t i = 0; i < count; ++i)
            if (!dropped[i]) first[kept++] = first[i];
        return kept;
    }

    const bool last_name_wins_;
};

}  // namespace orrery::json::detail
