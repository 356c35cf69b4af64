#include "query/exec/whole_rows.h"

#include <algorithm>

#include "base/hash.h"
#include "index/sort_terms.h"
#include "json/write.h"

namespace orrery::query {
namespace {

/// Of a key, in a position: positions travel in headers.
constexpr size_t kPositionKeyBytes = 200;

}  // namespace

WholeRows::WholeRows(const Level& level, bool keyed)
    : level_(level),
      kind_(!level.order_by.empty() && !level.grouped ? Kind::kSort
            : level.grouped && !level.distinct        ? Kind::kGroup
                                                      : Kind::kText),
      keyed_(keyed && kind_ != Kind::kText) {}

Status WholeRows::add(const json::Value& row, std::span<const json::Value> keys) {
    json::write(text_, row, json::NumberForm::kCanonical);
    ends_.push_back(text_.size());
    if (keyed_) {
        for (size_t i = 0; i < keys.size(); ++i) {
            if (kind_ == Kind::kGroup) {
                if (!keys[i].is_undefined())
                    json::write(keys_, keys[i], json::NumberForm::kCanonical);
                keys_.push_back('\0');
                continue;
            }
            const size_t from = keys_.size();
            index::append_uncut_term(keys_, keys[i]);
            if (level_.order_by[i].descending) index::invert_term(keys_, from);
        }
        key_ends_.push_back(keys_.size());
    }
    return kept_.hold(text_.size() + keys_.size() +
                      ends_.size() * (2 * sizeof(size_t) + sizeof(Row)));
}

/// What a position says of a row's place. Never falls from row to row.
std::string_view WholeRows::order_of(const Row& row) const {
    return row.key.substr(0, kPositionKeyBytes);
}

/// The order of rows that the query does not order: what a position can say, and nothing else.
template <typename Identity>
bool WholeRows::is_before(const Row& row, std::string_view order, const Identity& identity) const {
    const int sign = order_of(row).compare(order);
    return sign != 0 ? sign < 0 : identity_of(row) < identity();
}

/// The same in every process. A group stays the same when its aggregates change; rows that the
/// query orders may share what it orders them by.
uint64_t WholeRows::identity_of(const Row& row) const {
    const uint64_t key = murmur3_128(row.key, 0)[0];
    return kind_ == Kind::kSort ? murmur3_128(row.text, key)[0] : key;
}

void WholeRows::settle(bool sort) {
    rows_.reserve(ends_.size());
    for (size_t i = 0; i < ends_.size(); ++i) {
        const auto part = [i](const std::string& all, const std::vector<size_t>& ends) {
            const size_t begin = i == 0 ? 0 : ends[i - 1];
            return std::string_view(all).substr(begin, ends[i] - begin);
        };
        const std::string_view text = part(text_, ends_);
        rows_.push_back({text, keyed_ ? part(keys_, key_ends_) : text});
    }
    if (sort)
        std::sort(rows_.begin(), rows_.end(), [&](const Row& a, const Row& b) {
            return is_before(a, order_of(b), [&] { return identity_of(b); });
        });
    sorted_ = sort;
    settled_ = true;
}

void WholeRows::note(size_t next, Position& position) const {
    const Row& last = rows_[next - 1];
    position.term.assign(order_of(last));
    position.path = identity_of(last);
    position.item_rows = position.skipped = 0;
    for (size_t i = next; i > 0 && order_of(rows_[i - 1]) == position.term; --i) {
        ++position.item_rows;
        if (identity_of(rows_[i - 1]) == position.path) ++position.skipped;
    }
}

size_t WholeRows::find(const Position& position) const {
    const auto is_at = [&](auto row) {
        return row != rows_.end() && order_of(*row) == position.term;
    };
    const auto is_last = [&](auto row) { return is_at(row) && identity_of(*row) == position.path; };
    auto at = std::lower_bound(rows_.begin(), rows_.end(), position,
                               [&](const Row& row, const Position& last) {
                                   if (!sorted_) return order_of(row) < last.term;
                                   return is_before(row, last.term, [&] { return last.path; });
                               });
    if (!sorted_) {
        const auto first = at;
        while (is_at(at) && !is_last(at)) ++at;
        // The last row is gone: behind those that came before it at its place.
        if (!is_at(at))
            at = first +
                 std::min<ptrdiff_t>(at - first, static_cast<ptrdiff_t>(position.item_rows) - 1);
    }
    // Skip as many equal rows as were returned, if there are still that many.
    for (uint64_t same = 0; same < position.skipped && is_last(at); ++same) ++at;
    return static_cast<size_t>(at - rows_.begin());
}

}  // namespace orrery::query
