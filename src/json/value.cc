#include "json/value.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace orrery::json {
namespace {

constexpr size_t kFirstBlockBytes = 512;
constexpr size_t kBlockBytesMax = size_t{1} << 20;

}  // namespace

char* Arena::allocate(size_t bytes, size_t alignment) {
    DCHECK(alignment <= alignof(std::max_align_t));
    if (!blocks_.empty()) {
        const size_t start = (current_used_ + alignment - 1) & ~(alignment - 1);
        if (start <= blocks_.back().size && blocks_.back().size - start >= bytes) {
            current_used_ = start + bytes;
            used_total_ += bytes;
            return blocks_.back().bytes.get() + start;
        }
    }
    const size_t grown =
        blocks_.empty() ? kFirstBlockBytes : std::min(blocks_.back().size * 2, kBlockBytesMax);
    const size_t size = std::max(grown, bytes);
    blocks_.push_back({std::make_unique_for_overwrite<char[]>(size), size});
    current_used_ = bytes;
    used_total_ += bytes;
    return blocks_.back().bytes.get();
}

std::string_view Arena::copy(std::string_view bytes) {
    char* out = allocate(bytes.size(), 1);
    if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
    return {out, bytes.size()};
}

void Arena::clear() {
    // The last ordinary block is the largest; oversized blocks are not kept.
    if (blocks_.size() > 1 && blocks_.back().size <= kBlockBytesMax)
        std::swap(blocks_.front(), blocks_.back());
    if (!blocks_.empty()) {
        blocks_.resize(blocks_.front().size <= kBlockBytesMax ? 1 : 0);
    }
    current_used_ = 0;
    used_total_ = 0;
}

Value copy_value(const Value& value, Arena& arena) {
    switch (value.type()) {
        case Type::kString:
            return Value::string(arena.copy(value.as_string()));
        case Type::kNumber: {
            if (value.number_text().empty()) return value;
            DCHECK(value.extended_type() == ExtendedType::kNone);
            const std::string_view text = arena.copy(value.number_text());
            return value.is_int64() ? Value::integer_text(value.as_int64(), text)
                                    : Value::number_text(value.as_double(), text);
        }
        case Type::kArray: {
            std::vector<Value> elements;
            elements.reserve(value.elements().size());
            for (const Value& e : value.elements()) elements.push_back(copy_value(e, arena));
            return Value::array(arena.copy(std::span<const Value>(elements)));
        }
        case Type::kObject: {
            std::vector<Member> members;
            members.reserve(value.members().size());
            for (const Member& m : value.members())
                members.push_back({arena.copy(m.name), copy_value(m.value, arena)});
            return Value::object(arena.copy(std::span<const Member>(members)));
        }
        case Type::kExtended:
            switch (value.extended_type()) {
                case ExtendedType::kObjectId:
                    return Value::object_id(arena.copy(value.as_bytes()));
                case ExtendedType::kBinary:
                    return Value::binary(arena.copy(value.as_bytes()), value.binary_subtype());
                default:
                    return value;
            }
        default:
            return value;
    }
}

}  // namespace orrery::json
