#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// How many index entries each distinct term of a path has, held in memory.
namespace orrery::storage {

/// Distinct terms in ascending order. Immutable once built.
class TermColumn {
public:
    size_t size() const { return counts_.size(); }
    std::string_view term(size_t i) const {
        return {bytes_.data() + offsets_[i], offsets_[i + 1] - offsets_[i]};
    }
    uint64_t count(size_t i) const { return counts_[i] >> 1; }
    /// One of the entries says that the item decides (kPartialTerm).
    bool has_partial(size_t i) const { return (counts_[i] & 1) != 0; }
    bool any_partial() const { return any_partial_; }
    size_t lower_bound(std::string_view term) const;
    /// The term that holds the byte at `offset` of bytes(), at `from` or later.
    size_t find_offset(size_t offset, size_t from) const;
    /// All terms, one behind the other: to search through them at once.
    std::string_view bytes() const { return bytes_; }
    size_t offset(size_t i) const { return offsets_[i]; }  ///< also of size(): the end
    size_t memory() const;

    /// Terms in ascending order.
    void append(std::string_view term, uint64_t count, bool partial);
    void shrink();

private:
    std::string bytes_;
    std::vector<uint32_t> offsets_{0};
    std::vector<uint32_t> counts_;  ///< count << 1 | has_partial
    bool any_partial_ = false;
};

/// A column and what a view has beyond it, for the terms in [begin, end).
struct TermCounts {
    struct Change {
        std::string term;
        int64_t count = 0;     ///< entries more or fewer
        bool partial = false;  ///< a partial entry came or went
    };
    std::shared_ptr<const TermColumn> column;
    size_t first = 0;  ///< terms of the column in the range: [first, last)
    size_t last = 0;
    std::vector<Change> changes;  ///< ascending

    /// Gives (term, count, has_partial) in ascending order; terms without entries are left out.
    template <typename Each>
    void each(const Each& each) const {
        size_t i = first;
        const auto unchanged = [&](size_t until) {
            for (; i < until; ++i) each(column->term(i), column->count(i), column->has_partial(i));
        };
        for (const Change& change : changes) {
            unchanged(column->lower_bound(change.term));
            int64_t count = change.count;
            bool partial = change.partial;
            if (i < last && column->term(i) == change.term) {
                count += static_cast<int64_t>(column->count(i));
                partial |= column->has_partial(i);
                ++i;
            }
            if (count > 0)
                each(std::string_view(change.term), static_cast<uint64_t>(count), partial);
        }
        unchanged(last);
    }
};

}  // namespace orrery::storage
