#include "index/terms.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "index/detail/term_format.h"

namespace orrery::index {
namespace {

using detail::TermType;

/// A pair of a string whose term is cut: counted by its digest, not by its entry.
bool is_cut(std::string_view entry) {
    return static_cast<uint8_t>(entry[detail::kPathHashBytes]) ==
               static_cast<uint8_t>(TermType::kString) &&
           entry.back() == detail::kCutEnd;
}

uint32_t count_missing(const std::vector<uint64_t>& from, const std::vector<uint64_t>& in) {
    uint32_t count = 0;
    for (const uint64_t digest : from)
        if (!std::binary_search(in.begin(), in.end(), digest)) ++count;
    return count;
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

bool append_term(std::string& out, const json::Value& value) {
    char buffer[detail::kTermBytesMax];
    const detail::EncodedTerm term = detail::encode_term(buffer, value);
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
            break;
        case TermType::kNumber:
            size += 8;
            break;
        case TermType::kString:
            while (true) {
                const void* zero = std::memchr(in.data() + size, 0, in.size() - size);
                if (zero == nullptr) return false;
                size = static_cast<size_t>(static_cast<const char*>(zero) - in.data()) + 2;
                if (size > in.size()) return false;
                const char mark = in[size - 1];
                if (mark == detail::kWholeEnd || mark == detail::kCutEnd) break;
                if (mark != detail::kEscapedZero) return false;
            }
            break;
        default:
            return false;
    }
    if (in.size() < size) return false;
    term = in.substr(0, size);
    in.remove_prefix(size);
    return true;
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
    append_u64_be(out, detail::member_hash(key, detail::root_hash(key), "_ts"));
    append_term(out, json::Value::integer(ts));
    return out;
}

TermChange append_changes(const TermSet& before, const TermSet& after,
                          storage::PartitionId partition, const storage::Docref& docref,
                          storage::IndexDelta& delta) {
    DeltaWriter writer(partition, docref, delta);
    TermChange change;
    const auto counts = [](const TermSet::Entry& entry, std::string_view bytes) {
        return entry.charged && !is_cut(bytes) ? 1U : 0U;
    };
    auto old = before.entries_.begin();
    auto now = after.entries_.begin();
    while (old != before.entries_.end() || now != after.entries_.end()) {
        const std::string_view old_bytes =
            old == before.entries_.end() ? std::string_view() : before.bytes(*old);
        const std::string_view now_bytes =
            now == after.entries_.end() ? std::string_view() : after.bytes(*now);
        // No entry is empty: an exhausted side loses against the other.
        const int order = old_bytes.empty()   ? 1
                          : now_bytes.empty() ? -1
                                              : old_bytes.compare(now_bytes);
        if (order < 0) {
            writer.remove(old_bytes);
            change.pairs_removed += counts(*old++, old_bytes);
        } else if (order > 0) {
            writer.add(now_bytes, now->partial);
            change.pairs_added += counts(*now++, now_bytes);
        } else {
            if (old->partial != now->partial) {
                writer.remove(old_bytes);
                writer.add(now_bytes, now->partial);
            }
            ++old;
            ++now;
        }
    }
    change.pairs_removed += count_missing(before.cut_pairs_, after.cut_pairs_);
    change.pairs_added += count_missing(after.cut_pairs_, before.cut_pairs_);
    return change;
}

}  // namespace orrery::index
