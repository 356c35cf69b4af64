#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index/lookup.h"

/// Sets of items as ascending docrefs, read from the index.
namespace orrery::index {

/// Ascending docrefs of one partition, each once. Owned by one thread.
class DocrefStream {
public:
    virtual ~DocrefStream() = default;
    virtual bool valid() const = 0;
    virtual std::string_view docref() const = 0;  ///< until the next move
    /// No partial entry was involved: the item is in the set for sure.
    virtual bool certain() const = 0;
    virtual void next() = 0;
    virtual void seek(std::string_view docref) = 0;  ///< to the first at or after; never back
    virtual Status status() const = 0;
    /// How many there are from here on. nullopt: only a walk can tell.
    virtual std::optional<uint64_t> left() const { return std::nullopt; }
};
using DocrefStreamPtr = std::unique_ptr<DocrefStream>;

/// One item of a set. `certain`: as DocrefStream::certain().
struct ListedDocref {
    storage::Docref docref;
    bool certain = false;
};

/// The items of one value.
DocrefStreamPtr stream_term(const PostingScope& scope, uint64_t path_hash, const TermRange& term);
/// In any order, docrefs may repeat (then certain if one entry is).
DocrefStreamPtr stream_list(std::vector<ListedDocref> list);
/// The items of one value of which the first ones have been read already.
DocrefStreamPtr stream_after(std::vector<ListedDocref> read, DocrefStreamPtr rest);
/// Those that are in all streams. `complete`: being there is enough to be certain.
DocrefStreamPtr intersection(std::vector<DocrefStreamPtr> streams, bool complete = true);
/// Those that are in any.
DocrefStreamPtr union_of(std::vector<DocrefStreamPtr> streams);

}  // namespace orrery::index
