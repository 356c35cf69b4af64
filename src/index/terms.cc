#include "index/terms.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "index/detail/term_format.h"

namespace orrery::index {
namespace {

using detail::TermType;

uint32_t count_missing(const std::vector<uint64_t>& from, const std::vector<uint64_t>& in) {
    uint32_t count = 0;
    for (const uint64_t digest : from)
        if (!std::binary_search(in.begin(), in.end(), digest)) ++count;
    return count;
}

/// Where the bytes that begin at `from`, with their end, are over; more than there is when they are
/// malformed.
size_t end_of_bytes(std::string_view in, size_t from) {
    while (from < in.size()) {
        const void* zero = std::memchr(in.data() + from, 0, in.size() - from);
        if (zero == nullptr) break;
        from = static_cast<size_t>(static_cast<const char*>(zero) - in.data()) + 2;
        if (from > in.size()) break;
        const char mark = in[from - 1];
        if (mark == detail::kWholeEnd || mark == detail::kCutEnd) return from;
        if (mark != detail::kEscapedZero) break;
    }
    return in.size() + 1;
}

/// The bytes of a whole term from `from` on, without escapes and end; nullopt: they were cut.
std::optional<std::string_view> whole_bytes(std::string_view term, size_t from,
                                            json::Arena& arena) {
    if (term.back() == detail::kCutEnd) return std::nullopt;
    const std::string_view escaped = term.substr(from, term.size() - from - 2);
    char* text = arena.allocate(escaped.size(), 1);
    size_t size = 0;
    for (size_t i = 0; i < escaped.size(); ++i) {
        text[size++] = escaped[i];
        if (escaped[i] == 0) ++i;  // the mark of an escaped zero
    }
    return std::string_view(text, size);
}

/// Of a type that JSON lacks.
std::optional<json::Value> decode_extended(std::string_view term, json::Arena& arena) {
    switch (static_cast<TermType>(term.front())) {
        case TermType::kDate: {
            constexpr uint64_t kSign = uint64_t{1} << 63;
            return json::Value::date(static_cast<int64_t>(load_u64_be(term.data() + 1) ^ kSign));
        }
        case TermType::kObjectId:
            return json::Value::object_id(arena.copy(term.substr(1)));
        case TermType::kBinary:
            if (const auto bytes = whole_bytes(term, 1, arena))
                return json::Value::binary(*bytes, 0);
            return std::nullopt;
        case TermType::kBsonBinary:
            if (const auto bytes = whole_bytes(term, 1 + detail::kBinaryFrontBytes, arena))
                return json::Value::binary(*bytes,
                                           static_cast<uint8_t>(term[detail::kBinaryFrontBytes]));
            return std::nullopt;
        default:
            return std::nullopt;
    }
}

/// Complete keys of the changes of one item, built in one buffer.
class DeltaWriter {
public:
    DeltaWriter(storage::PartitionId partition, const storage::Docref& docref,
                storage::IndexDelta& delta)
        : docref_(docref), delta_(delta) {
        append_u32_be(key_, partition);
    }
    void add(std::string_view entry, bool partial) { delta_.add(key(entry), partial); }
    void remove(std::string_view entry) { delta_.remove(key(entry)); }

private:
    std::string_view key(std::string_view entry) {
        key_.resize(sizeof(storage::PartitionId));
        key_.append(entry).append(docref_.bytes());
        return key_;
    }

    std::string key_;
    const storage::Docref& docref_;
    storage::IndexDelta& delta_;
};

}  // namespace

detail::EncodedTerm detail::encode_extended(char* out, const json::Value& value,
                                            const json::DialectRules& rules) {
    const TermType type = json::term_class(value, rules);
    char* p = out;
    *p++ = static_cast<char>(type);
    switch (type) {
        case TermType::kDate:
            store_u64_be(p, ordered_bits(value.as_date()));
            return {kIntegerTermBytes, false};
        case TermType::kObjectId:
            value.as_bytes().copy(p, json::kObjectIdBytes);
            return {kObjectIdTermBytes, false};
        case TermType::kBsonBinary:
            store_u32_be(p, static_cast<uint32_t>(value.as_bytes().size()));
            p[4] = static_cast<char>(value.binary_subtype());
            return encode_bytes(out, p + kBinaryFrontBytes, value.as_bytes());
        default: {
            EncodedTerm term = encode_bytes(out, p, value.as_bytes());
            term.partial |= value.binary_subtype() != 0;
            return term;
        }
    }
}

bool append_term(std::string& out, const json::Value& value, const json::DialectRules& rules) {
    char buffer[detail::kTermBytesMax];
    const detail::EncodedTerm term = detail::encode_term(buffer, value, rules);
    out.append(buffer, term.size);
    return term.partial;
}

bool append_composite_term(std::string& out, const json::Value& value, bool descending,
                           const json::DialectRules& rules) {
    char buffer[detail::kTermBytesMax];
    const detail::EncodedTerm term =
        detail::encode_composite_term(buffer, value, descending, rules);
    out.append(buffer, term.size);
    return term.partial;
}

bool take_term(std::string_view& in, std::string_view& term) {
    if (in.empty()) return false;
    size_t size = 1;
    switch (static_cast<TermType>(in.front())) {
        case TermType::kUndefined:
        case TermType::kNull:
        case TermType::kFalse:
        case TermType::kTrue:
        case TermType::kArray:
        case TermType::kObject:
        case TermType::kBsonFalse:
        case TermType::kBsonTrue:
        case TermType::kBsonArray:
        case TermType::kBsonObject:
            break;
        case TermType::kNumber:
        case TermType::kCell:
        case TermType::kDate:
            size = detail::kIntegerTermBytes;
            break;
        case TermType::kObjectId:
            size = detail::kObjectIdTermBytes;
            break;
        case TermType::kString:
        case TermType::kBinary:
            size = end_of_bytes(in, size);
            break;
        case TermType::kBsonBinary:
            size = end_of_bytes(in, size + detail::kBinaryFrontBytes);
            break;
        default:
            return false;
    }
    if (in.size() < size) return false;
    term = in.substr(0, size);
    in.remove_prefix(size);
    return true;
}

bool take_composite_term(std::string_view& in, std::string& term) {
    if (in.empty()) return false;
    std::string_view plain;
    if (!detail::is_inverted(in.front())) {
        if (!take_term(in, plain)) return false;
        term = plain;
        return true;
    }
    const size_t size = std::min(in.size(), detail::kTermBytesMax);
    char buffer[detail::kTermBytesMax];
    std::memcpy(buffer, in.data(), size);
    detail::invert(buffer, size);
    std::string_view rest(buffer, size);
    if (!take_term(rest, plain)) return false;
    term = plain;
    in.remove_prefix(plain.size());
    return true;
}

std::optional<json::Value> decode_term(std::string_view term, json::Arena& arena) {
    std::string_view rest = term;
    std::string_view whole;
    if (!take_term(rest, whole) || !rest.empty()) return std::nullopt;
    switch (static_cast<TermType>(term.front())) {
        case TermType::kUndefined:
            return json::Value();
        case TermType::kNull:
            return json::Value::null();
        case TermType::kFalse:
        case TermType::kBsonFalse:
            return json::Value::boolean(false);
        case TermType::kTrue:
        case TermType::kBsonTrue:
            return json::Value::boolean(true);
        case TermType::kArray:
        case TermType::kBsonArray:
            return json::Value::array({});
        case TermType::kObject:
        case TermType::kBsonObject:
            return json::Value::object({});
        case TermType::kNumber: {
            const double number = detail::number_of_bits(load_u64_be(term.data() + 1));
            constexpr auto kExact = static_cast<double>(detail::kExactIntegerMax);
            if (number >= -kExact && number <= kExact && number == std::trunc(number))
                return json::Value::integer(static_cast<int64_t>(number));
            return json::Value::number(number);
        }
        case TermType::kString:
            if (const auto text = whole_bytes(term, 1, arena)) return json::Value::string(*text);
            return std::nullopt;
        default:
            return decode_extended(term, arena);
    }
}

uint64_t composite_hash(SipKey key, const CompositeIndex& composite) {
    uint64_t hash = detail::root_hash(key);
    for (const CompositeIndex::Member& member : composite.members) {
        char path[8];
        store_u64_be(path, path_hash(key, member.steps));
        hash = detail::step_hash(
            key, hash,
            member.descending ? detail::StepKind::kDescending : detail::StepKind::kAscending,
            {path, sizeof(path)});
    }
    return hash;
}

uint64_t unindexed_path_hash(SipKey key) {
    return detail::step_hash(key, detail::root_hash(key), detail::StepKind::kUnindexed, {});
}

uint64_t ts_path_hash(SipKey key, const json::DialectRules& rules) {
    return detail::step_hash(
        key, detail::root_hash(key),
        rules.reserves_members ? detail::StepKind::kMember : detail::StepKind::kSystem, "_ts");
}

uint64_t multikey_path_hash(SipKey key, uint64_t path_hash) {
    return detail::step_hash(key, path_hash, detail::StepKind::kMultikey, {});
}

uint64_t path_hash(SipKey key, const std::vector<PathStep>& steps) {
    uint64_t hash = detail::root_hash(key);
    for (const PathStep& step : steps)
        hash = step.any_element ? detail::element_hash(key, hash)
                                : detail::member_hash(key, hash, step.name);
    return hash;
}

std::string ts_entry(SipKey key, int64_t ts) {
    std::string out;
    append_u64_be(out, ts_path_hash(key));
    append_term(out, json::Value::integer(ts));
    return out;
}

std::string TermSet::ts_entry(size_t number, int64_t ts) const {
    const json::Value value = json::Value::integer(ts);
    std::string out;
    if (number == 0) {
        append_u64_be(out, ts_path_);
        append_term(out, value);
        return out;
    }
    const TsComposite& composite = ts_composites_[number - 1];
    const std::string_view bytes = std::string_view(buffer_).substr(composite.offset);
    out = bytes.substr(0, composite.front_size);
    append_composite_term(out, value, composite.descending);
    out.append(bytes.substr(composite.front_size, composite.back_size));
    return out;
}

TermSet unindexed_terms(const IndexingPolicy& policy, SipKey key) {
    TermSet set;
    if (policy.mode == IndexingMode::kNone) return set;
    append_u64_be(set.buffer_, unindexed_path_hash(key));
    append_term(set.buffer_, json::Value());
    set.entries_.push_back({.offset = 0,
                            .size = static_cast<uint32_t>(set.buffer_.size()),
                            .partial = false,
                            .charged = false,
                            .cell = false});
    return set;
}

TermChange append_changes(const TermSet& before, const TermSet& after,
                          storage::PartitionId partition, const storage::Docref& docref,
                          storage::IndexDelta& delta) {
    DeltaWriter writer(partition, docref, delta);
    TermChange change;
    const auto count = [](const TermSet::Entry& entry, uint32_t& pairs, uint32_t& cells) {
        if (entry.charged) ++(entry.cell ? cells : pairs);
    };
    auto old = before.entries_.begin();
    auto now = after.entries_.begin();
    while (old != before.entries_.end() || now != after.entries_.end()) {
        const std::string_view old_bytes =
            old == before.entries_.end() ? std::string_view() : before.bytes(*old);
        const std::string_view now_bytes =
            now == after.entries_.end() ? std::string_view() : after.bytes(*now);
        // Entries are never empty, so an exhausted side sorts behind the other.
        const int order = old_bytes.empty()   ? 1
                          : now_bytes.empty() ? -1
                                              : old_bytes.compare(now_bytes);
        if (order < 0) {
            writer.remove(old_bytes);
            count(*old++, change.pairs_removed, change.cells_removed);
        } else if (order > 0) {
            writer.add(now_bytes, now->partial);
            count(*now++, change.pairs_added, change.cells_added);
        } else {
            if (old->partial != now->partial) {
                writer.remove(old_bytes);
                writer.add(now_bytes, now->partial);
            }
            ++old;
            ++now;
        }
    }
    change.pairs_removed += count_missing(before.counted_values_, after.counted_values_);
    change.pairs_added += count_missing(after.counted_values_, before.counted_values_);
    return change;
}

void append_ts_changes(const TermSet& before, int64_t before_ts, const TermSet& after,
                       int64_t after_ts, storage::PartitionId partition,
                       const storage::Docref& docref, storage::IndexDelta& delta) {
    const size_t old_count = before.ts_entry_count();
    const size_t new_count = after.ts_entry_count();
    DeltaWriter writer(partition, docref, delta);
    // Under one policy number i is the same path or composite on both sides.
    for (size_t i = 0; i < std::max(old_count, new_count); ++i) {
        const std::string old_entry = i < old_count ? before.ts_entry(i, before_ts) : "";
        const std::string new_entry = i < new_count ? after.ts_entry(i, after_ts) : "";
        if (i < old_count && i < new_count && old_entry == new_entry &&
            before.ts_entry_partial(i) == after.ts_entry_partial(i))
            continue;
        if (i < old_count) writer.remove(old_entry);
        if (i < new_count) writer.add(new_entry, after.ts_entry_partial(i));
    }
}

}  // namespace orrery::index
