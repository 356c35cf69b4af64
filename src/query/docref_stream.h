#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index/lookup.h"
#include "query/conditions.h"
#include "base/hash.h"
#include "query/evaluation.h"

/// Sets of items as ascending docrefs, read from the index.
namespace orrery::query {

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
};
using DocrefStreamPtr = std::unique_ptr<DocrefStream>;

/// Decides Condition::test for the values of a path. Remembers nothing between values.
class TermTester {
public:
    TermTester(const CompiledQuery& query, const Parameters& parameters, const Condition& condition);
    enum class Verdict : uint8_t { kNo, kYes, kAskItem };
    Verdict test(std::string_view term);

private:
    const CompiledQuery& query_;
    const Condition& condition_;
    Evaluation evaluation_;
    json::Arena arena_;
};

/// What reading conditions needs besides themselves; all borrowed.
struct IndexReader {
    const CompiledQuery& query;
    const Parameters& parameters;
    const index::PostingScope& scope;
    SipKey path_key;
};

/// Entries of a condition in the scope, at most `cap` (an upper bound where parts overlap).
Result<uint64_t> count_entries(const IndexReader& reader, const Condition& condition, uint64_t cap);

/// The items of a condition, as a stream; null when a part would have to hold more than
/// `list_max` docrefs in memory.
Result<DocrefStreamPtr> open_stream(const IndexReader& reader, const Condition& condition,
                                    uint64_t list_max);

/// All entries of a kTerms condition, in term order; `each(docref, certain)` returns false to stop.
Status walk_condition(const IndexReader& reader, const Condition& condition,
                      const std::function<bool(std::string_view, bool)>& each);

/// Those that are in all streams.
DocrefStreamPtr intersection(std::vector<DocrefStreamPtr> streams);

}  // namespace orrery::query
