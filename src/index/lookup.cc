#include "index/lookup.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "index/detail/term_format.h"
#include "index/terms.h"
#include "storage/light_view.h"

namespace orrery::index {
namespace term_ranges {
namespace {

using detail::TermType;

std::string type_byte(TermType type) {
    return std::string(1, static_cast<char>(type));
}

std::string after_type(TermType type) {
    return std::string(1, static_cast<char>(static_cast<uint8_t>(type) + 1));
}

struct Encoded {
    std::string term;
    bool shared = false;  ///< values on either side of it may have the same term
};

/// Numbers compare as doubles, as their terms do; in dialects with typed values exactly.
Encoded encode(const json::Value& value, const json::DialectRules& rules) {
    Encoded out;
    const bool partial = append_term(out.term, value, rules);
    if (!value.is_number())
        out.shared = partial || json::term_class(value, rules) == TermType::kBinary;
    else if (rules.typed_values)
        out.shared = std::fabs(value.as_double()) >= static_cast<double>(detail::kExactIntegerMax);
    return out;
}

TermRange span(TermType first, TermType last) {
    return {type_byte(first), after_type(last), false};
}

/// All values of the type that `value` has.
TermRange type_of(const json::Value& value, const json::DialectRules& rules) {
    if (value.is_bool())
        return span(json::term_class(json::Value::boolean(false), rules),
                    json::term_class(json::Value::boolean(true), rules));
    const TermType type = json::term_class(value, rules);
    return span(type, type);
}

}  // namespace

TermRange of_term(std::string_view term) {
    return {std::string(term), prefix_successor(term), true};
}

TermRange equal(const json::Value& value, const json::DialectRules& rules) {
    return of_term(encode(value, rules).term);
}

TermRange undefined() {
    return of_term(type_byte(TermType::kUndefined));
}

TermRange defined() {
    return span(TermType::kNull, TermType::kObject);
}

TermRange scalars() {
    return span(TermType::kNull, TermType::kString);
}

TermRange type(json::Type type) {
    switch (type) {
        case json::Type::kUndefined:
            return undefined();
        case json::Type::kNull:
            return of_term(type_byte(TermType::kNull));
        case json::Type::kBool:
            return span(TermType::kFalse, TermType::kTrue);
        case json::Type::kNumber:
            return span(TermType::kNumber, TermType::kNumber);
        case json::Type::kString:
            return span(TermType::kString, TermType::kString);
        case json::Type::kArray:
            return of_term(type_byte(TermType::kArray));
        case json::Type::kObject:
            return of_term(type_byte(TermType::kObject));
        case json::Type::kExtended:
            break;
    }
    return undefined();
}

TermRange above(const json::Value& value, bool or_equal, const json::DialectRules& rules) {
    const Encoded encoded = encode(value, rules);
    TermRange out = type_of(value, rules);
    out.begin = or_equal || encoded.shared ? encoded.term : prefix_successor(encoded.term);
    return out;
}

TermRange below(const json::Value& value, bool or_equal, const json::DialectRules& rules) {
    const Encoded encoded = encode(value, rules);
    TermRange out = type_of(value, rules);
    out.end = or_equal || encoded.shared ? prefix_successor(encoded.term) : encoded.term;
    return out;
}

TermRange prefix(std::string_view prefix) {
    std::string begin;
    append_term(begin, json::Value::string(prefix));
    begin.resize(begin.size() - 2);  // without the end mark
    std::string end = prefix_successor(begin);
    return {std::move(begin), std::move(end), false};
}

void normalize(std::vector<TermRange>& ranges) {
    if (ranges.size() == 1 && ranges[0].begin < ranges[0].end) return;
    std::erase_if(ranges, [](const TermRange& r) { return r.begin >= r.end; });
    std::sort(ranges.begin(), ranges.end(),
              [](const TermRange& a, const TermRange& b) { return a.begin < b.begin; });
    std::vector<TermRange> out;
    for (TermRange& range : ranges) {
        if (out.empty() || range.begin >= out.back().end) {
            out.push_back(std::move(range));
        } else if (range.end > out.back().end) {
            out.back().end = std::move(range.end);
            out.back().single = false;
        }
    }
    ranges = std::move(out);
}

std::vector<TermRange> intersect(const std::vector<TermRange>& a, const std::vector<TermRange>& b) {
    std::vector<TermRange> out;
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        const std::string& begin = std::max(a[i].begin, b[j].begin);
        const std::string& end = std::min(a[i].end, b[j].end);
        if (begin < end) out.push_back({begin, end, a[i].single || b[j].single});
        a[i].end < b[j].end ? ++i : ++j;
    }
    return out;
}

std::vector<TermRange> complement(const std::vector<TermRange>& ranges) {
    std::vector<TermRange> out;
    TermRange rest = defined();
    for (const TermRange& range : ranges) {
        if (rest.begin < range.begin) out.push_back({rest.begin, range.begin, false});
        rest.begin = std::max(rest.begin, range.end);
    }
    if (rest.begin < rest.end) out.push_back(std::move(rest));
    return out;
}

}  // namespace term_ranges

Postings::Postings(const PostingScope& scope, uint64_t path_hash, const TermRange& range,
                   storage::Direction direction)
    : scope_(scope),
      forward_(direction == storage::Direction::kForward),
      single_(range.single),
      prefix_(storage::keys::index_path(scope.partition, path_hash)) {
    if (scope.runs != nullptr) run_ = scope.runs->find(path_hash);
    if (run_ != nullptr) {
        open_run(range);
        return;
    }
    std::string begin;
    std::string end;
    if (range.single && !scope.docref_end.empty()) {
        // The docrefs of one term are one run: nothing outside the scope is touched.
        begin = key(range.begin, scope.docref_begin);
        end = key(range.begin, scope.docref_end);
    } else {
        begin = key(range.begin, range.single ? std::string_view(scope.docref_begin) : "");
        end = key(range.end, "");
    }
    cursor_ = scope.view->scan(storage::Family::kIndex, begin, end, direction);
    ++steps_;
    arrive();
}

std::string Postings::key(std::string_view term, std::string_view docref) const {
    std::string out;
    out.reserve(prefix_.size() + term.size() + docref.size());
    out.append(prefix_).append(term).append(docref);
    return out;
}

/// Takes the key apart; steps over docrefs outside the scope, term by term.
void Postings::arrive() {
    while (cursor_->valid()) {
        const std::string_view rest = cursor_->key().substr(prefix_.size());
        const size_t term_bytes = rest.size() - scope_.docref_bytes;
        term_ = rest.substr(0, term_bytes);
        docref_ = rest.substr(term_bytes);
        if (!scope_.bounded()) break;
        const bool before = docref_ < scope_.docref_begin;
        const bool after = !scope_.docref_end.empty() && docref_ >= scope_.docref_end;
        if (!before && !after) break;
        ++steps_;
        if (forward_) {
            cursor_->seek(before ? key(term_, scope_.docref_begin)
                                 : prefix_ + prefix_successor(term_));
        } else if (after) {
            // The last entry below the end: ends are exclusive and shorter than docrefs.
            cursor_->seek(key(term_, scope_.docref_end));
        } else {
            cursor_->seek(prefix_ + std::string(term_));
        }
    }
    valid_ = cursor_->valid();
}

void Postings::next() {
    ++steps_;
    if (run_ != nullptr) {
        next_in_run();
        return;
    }
    cursor_->next();
    arrive();
}

void Postings::seek(std::string_view term, std::string_view docref) {
    ++steps_;
    if (run_ != nullptr) {
        seek_in_run(term, docref);
        return;
    }
    cursor_->seek(key(term, docref));
    arrive();
}

std::optional<uint64_t> Postings::left() const {
    // Between the entries of several terms lie those of other scopes.
    if (!single_ || run_ != nullptr) return std::nullopt;
    return cursor_->left();
}

void Postings::next_term() {
    ++steps_;
    if (run_ != nullptr) {
        leave_term();
        arrive_in_run();
        return;
    }
    cursor_->seek(forward_ ? prefix_ + prefix_successor(term_) : prefix_ + std::string(term_));
    arrive();
}

Result<bool> has_entry(const PostingScope& scope, uint64_t path_hash) {
    const std::string prefix = storage::keys::index_path(scope.partition, path_hash);
    const auto cursor = scope.view->scan(storage::Family::kIndex, prefix, prefix_successor(prefix));
    if (cursor->valid()) return true;
    TRY_STATUS(cursor->status());
    return false;
}

}  // namespace orrery::index
