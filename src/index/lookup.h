#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index/key_run.h"
#include "index/terms.h"
#include "json/value.h"
#include "storage/keys.h"
#include "storage/light_view.h"
#include "storage/store.h"

/// Reading postings: the entries of one path in one partition, in (term, docref) order.
namespace orrery::index {

/// Terms in [begin, end). A range of one term has `single` set.
struct TermRange {
    std::string begin;
    std::string end;
    bool single = false;
};

namespace term_ranges {
TermRange of_term(std::string_view term);
/// Every entry whose value equals a scalar (and those that share its term without being equal:
/// they, or the scalar's own term, are partial). Arrays and objects: every entry of that type.
TermRange equal(const json::Value& value, const json::DialectRules& rules = kPlainRules);
TermRange undefined();
TermRange defined();
/// All values of one type; booleans are one type.
TermRange type(json::Type type);
TermRange scalars();
/// Same type as `value` and above / below it, or equal too. A term that other values may share is
/// always in.
TermRange above(const json::Value& value, bool or_equal,
                const json::DialectRules& rules = kPlainRules);
TermRange below(const json::Value& value, bool or_equal,
                const json::DialectRules& rules = kPlainRules);
/// Strings that start with `prefix`; cut when the prefix is longer than indexed strings.
TermRange prefix(std::string_view prefix);
/// Sorts and merges; empty ranges vanish.
void normalize(std::vector<TermRange>& ranges);
std::vector<TermRange> intersect(const std::vector<TermRange>& a, const std::vector<TermRange>& b);
/// The defined terms outside `ranges` (normalized).
std::vector<TermRange> complement(const std::vector<TermRange>& ranges);
}  // namespace term_ranges

/// The entries that a walk may show: one partition, docrefs in [docref_begin, docref_end); an empty
/// end is no bound. The view is borrowed. Walks over paths that `runs` has (null: none) read those:
/// the scope must then be one key.
struct PostingScope {
    const storage::View* view = nullptr;
    storage::PartitionId partition = 0;
    size_t docref_bytes = 16;
    std::string docref_begin;
    std::string docref_end;
    std::shared_ptr<KeyRuns> runs;
    bool bounded() const { return !docref_begin.empty() || !docref_end.empty(); }
};

/// A walk over one term range of one path. Owned by one thread.
class Postings {
public:
    Postings(const PostingScope& scope, uint64_t path_hash, const TermRange& range,
             storage::Direction direction = storage::Direction::kForward);

    bool valid() const { return valid_; }
    std::string_view term() const { return term_; }      ///< until the next move
    std::string_view docref() const { return docref_; }  ///< likewise
    /// The term is not the whole value.
    bool partial() const { return run_ ? run_->partial(entry_) : !cursor_->value().empty(); }
    void next();
    /// Moves to the first entry at or after the position, in the walk's direction. Never moves
    /// back.
    void seek(std::string_view term, std::string_view docref);
    /// To the first entry of another term.
    void next_term();
    Status status() const { return run_ ? run_status_.clone() : cursor_->status(); }
    /// Of one term: how many entries there are from here on. nullopt: only a walk can tell.
    std::optional<uint64_t> left() const;
    /// Entries and seeks that the walk has touched.
    uint64_t steps() const { return steps_; }

private:
    void arrive();
    // The same on a run.
    void open_run(const TermRange& range);
    void arrive_in_run();
    void next_in_run();
    void seek_in_run(std::string_view term, std::string_view docref);
    void leave_term();
    std::string key(std::string_view term, std::string_view docref) const;

    const PostingScope& scope_;
    const bool forward_;
    const bool single_;
    std::string prefix_;                       ///< partition and path
    std::unique_ptr<storage::Cursor> cursor_;  ///< null: `run_` is walked
    KeyRunPtr run_;
    size_t first_term_ = 0;  ///< of the run, in the range: [first_term_, last_term_)
    size_t last_term_ = 0;
    size_t term_at_ = 0;
    size_t entry_ = 0;
    storage::ReadBudget* budget_ = nullptr;
    Status run_status_;
    std::string_view term_;
    std::string_view docref_;
    bool valid_ = false;
    uint64_t steps_ = 0;
};

/// Whether an entry exists.
Result<bool> has_entry(const PostingScope& scope, uint64_t path_hash);

}  // namespace orrery::index
