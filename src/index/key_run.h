#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "storage/keys.h"
#include "storage/term_counts.h"

/// Entries of one path inside one logical partition, held in memory.
namespace orrery::index {

/// What the items of one key have at one path, in (term, docref) order: the entries that the index
/// has for them among those of all other keys, as one run. One entry per item: where an item lacks
/// the path, the term of undefined, whether the index posts it or not. Member paths only. Immutable
/// once built.
class KeyRun {
public:
    uint64_t path_hash() const { return path_hash_; }
    size_t size() const { return firsts_.back(); }  ///< entries: as many as the key has items
    /// Distinct terms with the number of their entries.
    const std::shared_ptr<const storage::TermColumn>& column() const { return column_; }
    /// Of the entries of term i: [first_entry(i), first_entry(i + 1)).
    size_t first_entry(size_t i) const { return firsts_[i]; }
    std::string_view docref(size_t entry) const {
        return std::string_view(docrefs_).substr(entry * kDocrefBytes, kDocrefBytes);
    }
    bool partial(size_t entry) const { return !partial_.empty() && partial_[entry]; }
    /// The first entry of term i at or after a docref.
    size_t lower_bound(size_t i, std::string_view docref) const;
    /// Entries whose value the term does not tell: the item must be asked.
    size_t untold() const { return untold_; }
    size_t memory() const;
    /// Of keys with one level.
    static constexpr size_t kDocrefBytes = 16;

private:
    friend class KeyRunBuilder;
    uint64_t path_hash_ = 0;
    std::shared_ptr<const storage::TermColumn> column_;
    std::vector<uint32_t> firsts_;
    std::string docrefs_;        ///< one behind the other
    std::vector<bool> partial_;  ///< empty: none is
    size_t untold_ = 0;
};
using KeyRunPtr = std::shared_ptr<const KeyRun>;

/// Takes the items of a key one by one, in docref order.
class KeyRunBuilder {
public:
    explicit KeyRunBuilder(uint64_t path_hash) : path_hash_(path_hash) {}
    void add(const json::Value& value, const storage::Docref& docref);
    KeyRunPtr finish();

private:
    struct Entry {
        uint32_t offset;
        uint32_t bytes;
        uint32_t item;
        bool partial;
    };
    const uint64_t path_hash_;
    std::string terms_;
    std::vector<Entry> entries_;
    std::vector<storage::Docref> docrefs_;
    size_t untold_ = 0;
};

/// The runs that a query has of one key. Owned by one thread at a time.
class KeyRuns {
public:
    /// Null: none of that path.
    KeyRunPtr find(uint64_t path_hash) const {
        for (const KeyRunPtr& run : runs_)
            if (run->path_hash() == path_hash) return run;
        return nullptr;
    }
    void add(KeyRunPtr run) { runs_.push_back(std::move(run)); }

private:
    std::vector<KeyRunPtr> runs_;
};

}  // namespace orrery::index
