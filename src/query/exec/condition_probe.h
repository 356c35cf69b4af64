#pragma once

#include <absl/container/flat_hash_set.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/keyed_hash.h"
#include "index/docref_streams.h"
#include "query/plan/plan.h"

/// What conditions find in the index.
namespace orrery::query {

using index::DocrefStream;
using index::DocrefStreamPtr;
using index::ListedDocref;

/// Sets of docrefs with look-ups by string_view.
using DocrefSet = absl::flat_hash_set<std::string, KeyedHash, std::equal_to<>>;

/// What reading conditions needs besides themselves; all borrowed.
struct IndexReader {
    const Producer& producer;
    const index::PostingScope& scope;
    SipKey path_key;
};

/// Decides Condition::tests for the values of a path. Remembers nothing between values.
class TermTester {
public:
    TermTester(const Producer& producer, const Condition& condition)
        : condition_(condition), tester_(producer.value_tester(condition)) {}
    enum class Verdict : uint8_t { kNo, kYes, kAskItem };
    Verdict test(std::string_view term);

private:
    const Condition& condition_;
    std::unique_ptr<ValueTester> tester_;
    json::Arena arena_;
};

/// The entries of a kTerms condition in term order, those that fail its tests left out.
class TestedPostings {
public:
    /// From (term, docref) on; empty: from the start. `reader` and `condition` outlive this.
    TestedPostings(const IndexReader& reader, const Condition& condition,
                   std::string_view from_term, std::string_view from_docref);
    /// To the first entry, then to the next; false at the end.
    bool next();
    std::string_view term() const { return postings_->term(); }
    std::string_view docref() const { return postings_->docref(); }
    bool certain() const { return !postings_->partial() && verdict_ == TermTester::Verdict::kYes; }
    Status status() const { return postings_ ? postings_->status() : Status(); }
    /// Distinct values that were tested.
    uint64_t tested_terms() const { return tested_terms_; }
    /// Entries that were looked at, those that were left out among them.
    uint64_t steps() const { return steps_; }
    /// next() ends where more than so many have been looked at; stopped() says that it did.
    void stop_after(uint64_t steps) { steps_max_ = steps; }
    bool stopped() const { return steps_ > steps_max_; }

private:
    bool open_range();
    void leave_failed();

    const IndexReader reader_;
    const Condition& condition_;
    const uint64_t path_;
    const std::string from_term_;
    const std::string from_docref_;
    std::optional<index::Postings> postings_;
    std::optional<TermTester> tester_;
    size_t range_ = 0;
    std::string tested_;
    TermTester::Verdict verdict_ = TermTester::Verdict::kYes;
    uint64_t tested_terms_ = 0;
    uint64_t failed_ = 0;  ///< entries of the term that were passed over
    uint64_t steps_ = 0;
    uint64_t steps_max_ = UINT64_MAX;
};

/// The items of a condition, as a stream; null when a part would have to hold more than
/// `list_max` docrefs in memory.
Result<DocrefStreamPtr> open_stream(const IndexReader& reader, const Condition& condition,
                                    uint64_t list_max);

/// A condition that is looked into step by step: what was read to count it is not read again.
class ConditionProbe {
public:
    /// Docrefs below `from` may be left out: what shows them is done with them.
    ConditionProbe(const IndexReader& reader, const Condition& condition, std::string_view from);
    /// Counts on to `cap`.
    Status count_to(uint64_t cap);
    /// Entries (of several parts an upper bound: they may overlap).
    uint64_t count() const { return count_; }
    bool is_known() const { return known_; }  ///< count() is all
    /// Of one term: how many entries there will be if those not yet read lie as close together as
    /// those that were. Docrefs begin with hashes.
    uint64_t extrapolated() const;
    /// The items as a stream (once); null as in open_stream(), or where it has given up.
    Result<DocrefStreamPtr> take_stream(uint64_t list_max);

    /// Gives up where tests have looked at more than so many entries.
    void limit_steps(uint64_t steps) { steps_max_ = steps; }
    bool has_given_up() const { return given_up_; }
    /// Entries that tests have looked at, and the distinct values among them.
    uint64_t steps() const;
    uint64_t tested_terms() const;

private:
    void open_term();
    Status count_term(uint64_t cap);
    Status count_tested(uint64_t cap);
    Status count_parts(uint64_t cap);
    Result<DocrefStreamPtr> stream_of_parts(uint64_t list_max);

    const IndexReader& reader_;
    const Condition& condition_;
    std::string from_;
    DocrefStreamPtr term_;                     ///< of one term: what has not been read
    std::optional<uint64_t> total_;            ///< … known without reading it
    std::unique_ptr<TestedPostings> entries_;  ///< of other kTerms conditions
    std::vector<ListedDocref> read_;
    std::vector<ConditionProbe> parts_;  ///< of kAll and kAny
    uint64_t count_ = 0;
    uint64_t steps_max_ = UINT64_MAX;
    bool known_ = false;
    bool given_up_ = false;
};

/// Those that all of the single-term conditions have, if that is found out in about `steps_max`
/// entries; else null.
Result<DocrefStreamPtr> short_intersection(const IndexReader& reader,
                                           const std::vector<const Condition*>& conditions,
                                           uint64_t steps_max, uint64_t& found);

}  // namespace orrery::query
