#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/store.h"
#include "storage/term_counts.h"

/// What queries ask of a view beyond plain reads. Every View is made by the store.
namespace orrery::storage {

/// How much a thread that must not wait may still read. A step is a fraction of a microsecond.
struct ReadBudget {
    uint64_t steps_left = 0;
    bool exceeded = false;  ///< a read was refused: whatever was read is not the whole answer
    bool spend(uint64_t steps) {
        if (steps > steps_left) exceeded = true;
        steps_left = exceeded ? 0 : steps_left - steps;
        return !exceeded;
    }
};

/// The same view for a thread that must not wait: reads that would need a file, or more than
/// `budget`, fail and say so there. `budget` is used by one thread and outlives everything made
/// from the new view.
ViewPtr in_memory(const View& view, ReadBudget& budget);
/// The budget of such a view; null: the view has none.
ReadBudget* budget_of(const View& view);

/// Values that stay where the store has them while this object lives. Owned by one thread.
class PinnedValues {
public:
    virtual ~PinnedValues() = default;
    /// As View::multi_get; an absent key has no value. Not for kIndex.
    virtual Status read(const View& view, Family family, const std::vector<std::string>& keys) = 0;
    /// Of the key at this place in the last read(); nullopt: there is none.
    virtual std::optional<std::string_view> at(size_t i) const = 0;
    static std::unique_ptr<PinnedValues> make();
};

/// A cost that term_counts() never finds worth it.
constexpr uint64_t kOnlyIfInMemory = INT64_MAX;

/// Entries per term in [begin, end) (an empty end: no bound) of a path. `path`: partition and path
/// hash; its keys end with docrefs of `docref_bytes` bytes. nullopt when the counts are not in
/// memory and not yet worth making. They are worth it once note_walk() was given more than `cost`
/// entries, where `cost` is how many the path has.
Result<std::optional<TermCounts>> term_counts(const View& view, std::string_view path,
                                              size_t docref_bytes, std::string_view begin,
                                              std::string_view end, uint64_t cost);
/// Entries of the path had to be read one by one to count them.
void note_walk(const View& view, std::string_view path, uint64_t entries);

}  // namespace orrery::storage
