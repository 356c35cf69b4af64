#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/exec/retained.h"
#include "query/plan/position.h"
#include "query/query.h"

namespace orrery::query {

/// The rows of a result that is computed whole, as texts. Those of more than one page have an order
/// and keys in it, so that the next page begins behind the last row of this one whatever has come
/// or gone in between, also when the result must be computed again for it.
class WholeRows {
public:
    /// `keyed`: keep the keys of rows that have others than their texts.
    WholeRows(const Level& level, bool keyed);

    Status add(const json::Value& row, std::span<const json::Value> keys);
    size_t bytes() const { return kept_.bytes(); }
    size_t text_bytes() const { return text_.size(); }
    /// Before settle().
    size_t count() const { return ends_.size(); }
    /// Call it before the first row: the result is cheap to compute again, so no keys are kept.
    void drop_keys() { keyed_ = false; }
    /// Whether there are keys, which more than one page needs.
    bool has_keys() const { return kind_ == Kind::kText || keyed_; }

    /// No more rows come. `sort`: by their keys; else they are in order, or leave as they came.
    void settle(bool sort);
    bool settled() const { return settled_; }
    std::string_view text(size_t i) const { return rows_[i].text; }

    /// Notes in a position that the rows before `next` are out; next > 0.
    void note(size_t next, Position& position) const;
    /// The first row behind a position.
    size_t find(const Position& position) const;

private:
    /// What orders the rows of several pages: themselves, their groups, or what the query says.
    enum class Kind : uint8_t { kText, kGroup, kSort };
    struct Row {
        std::string_view text;
        std::string_view key;
    };
    std::string_view order_of(const Row& row) const;
    uint64_t identity_of(const Row& row) const;
    template <typename Identity>
    bool is_before(const Row& row, std::string_view order, const Identity& identity) const;

    const Level& level_;
    const Kind kind_;
    bool keyed_;
    std::string text_;          ///< of all rows, one behind the other …
    std::vector<size_t> ends_;  ///< … until here each
    std::string keys_;          ///< the same
    std::vector<size_t> key_ends_;
    std::vector<Row> rows_;
    bool settled_ = false;
    bool sorted_ = false;  ///< by is_before()
    Retained kept_;
};

}  // namespace orrery::query
