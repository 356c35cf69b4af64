// Numbers of items, counted by index entries.
#include <algorithm>
#include <set>

#include "base/find_bytes.h"
#include "index/terms.h"
#include "query/exec/index_only.h"
#include "query/plan/cost.h"

namespace orrery::query {

using json::Value;

namespace {

/// Calls `each` with the positions of terms that may hold `needle`, ascending.
template <typename Each>
void find_terms(const storage::TermCounts& counts, const std::string& needle, const Each& each) {
    const storage::TermColumn& column = *counts.column;
    if (needle.empty()) {
        for (size_t i = counts.first; i < counts.last; ++i) each(i);
        return;
    }
    const size_t end = column.offset(counts.last);
    const std::string_view bytes = column.bytes().substr(0, end);
    for (size_t at = column.offset(counts.first), i = counts.first; at < end;) {
        at = find_bytes(bytes, needle, at);
        if (at == std::string_view::npos) return;
        i = column.find_offset(at, i);
        each(i);
        at = column.offset(i + 1);
    }
}

}  // namespace

/// Counts by distinct values: each is tested once, whatever number of items has it.
Result<bool> IndexOnly::feed_counted(const Condition& condition) {
    if (condition.kind != Condition::Kind::kTerms || !condition.is_member_path()) return false;
    const uint64_t hash = condition.entries_hash(segment_.settings().path_key);
    std::optional<TermTester> tester;
    if (!condition.tests.empty()) tester.emplace(facts_.reader.producer, condition);
    int64_t count = 0;
    std::set<std::string, std::less<>> partial;  // their items decide
    // Count the entries of a run one by one, so that their number is the same as from the index.
    const bool in_key = !segment_.whole_partition;
    Status spent;  // of a budget: terms that hold the needle are evaluated one by one
    const auto passes = [&](std::string_view term) {
        if (!in_key) ++entries_;
        if (!tester) return true;
        if (in_key && spent.ok() && !condition.needle.empty()) spent = spend(kStepsPerValue);
        if (!spent.ok()) return false;
        const TermTester::Verdict verdict = tester->test(term);
        if (verdict == TermTester::Verdict::kAskItem) partial.emplace(term);
        return verdict == TermTester::Verdict::kYes;
    };
    for (const index::TermRange& range : condition.ranges) {
        TRY(const auto counts, term_counts(hash, range));
        if (!counts) return false;
        const storage::TermColumn& column = *counts->column;
        TRY_STATUS(spend(
            steps_to_count(counts->last - counts->first, tester && condition.needle.empty())));
        for (size_t i = counts->first; i < counts->last && column.any_partial(); ++i)
            if (column.has_partial(i)) partial.emplace(column.term(i));
        for (const auto& change : counts->changes)
            if (change.partial) partial.emplace(change.term);
        if (partial.size() > cost::kPartialMax) return false;
        const auto walked = [&](std::string_view term) {
            return !partial.empty() && partial.contains(term);
        };
        find_terms(*counts, condition.needle, [&](size_t i) {
            if (walked(column.term(i)) || !passes(column.term(i))) return;
            count += static_cast<int64_t>(column.count(i));
            if (in_key) entries_ += column.count(i);
        });
        for (const auto& change : counts->changes)
            if (!walked(change.term) && passes(change.term)) count += change.count;
    }
    TRY_STATUS(std::move(spent));
    std::vector<std::string> undecided;
    const IndexReader& reader = facts_.reader;
    for (const std::string& term : partial) {
        Condition one = condition;
        one.ranges = {index::term_ranges::of_term(term)};
        TestedPostings postings(reader, one, {}, {});
        while (postings.next()) {
            if (in_key) ++entries_;
            if (postings.certain()) {
                ++count;
            } else {
                undecided.emplace_back(postings.docref());
            }
            if (undecided.size() >= cost::kListMax) return false;
        }
        TRY_STATUS(postings.status());
    }
    const auto weight = static_cast<uint64_t>(std::max<int64_t>(count, 0));
    matched_ += weight;
    page_.work_of(segment_.partition).index_entries += weight;
    TRY_STATUS(pass_.run.feed_equal(Value::object({}), {weight, true}, arena_, pass_.rows));
    TRY_STATUS(pass_.keep_rows());
    for (const std::string& docref : undecided) TRY_STATUS(feed_item_at(docref));
    return true;
}

/// Nothing of the items is shown: their number is enough.
Result<bool> IndexOnly::feed_count() {
    uint64_t count = 0;
    std::vector<std::string> undecided;
    if (filter_.conjuncts.empty()) {
        TRY(count, items());
    } else {
        const IndexReader& reader = facts_.reader;
        Condition all;
        all.kind = Condition::Kind::kAll;
        bool every = true;
        for (const Condition* condition : conditions(every)) all.parts.push_back(*condition);
        const Condition& condition = all.parts.size() == 1 ? all.parts[0] : all;
        TRY(const bool counted, feed_counted(condition));
        if (counted) return true;
        const auto each = [&](std::string_view docref, bool certain) {
            if (++entries_ % kEntriesPerLook == 0 && page_.cancelled()) return false;
            if (is_expired(docref)) return true;
            if (certain) {
                ++count;
            } else {
                undecided.emplace_back(docref);
            }
            return undecided.size() < cost::kListMax;
        };
        if (condition.kind == Condition::Kind::kTerms && condition.is_member_path()) {
            TestedPostings postings(reader, condition, {}, {});
            while (postings.next() && each(postings.docref(), postings.certain())) {
            }
            TRY_STATUS(postings.status());
            note_walk(condition.entries_hash(reader.path_key),
                      std::max(entries_, postings.tested_terms()));
        } else {
            // In one key they walk runs.
            if (segment_.whole_partition && cost::are_many_walks(condition.walks())) return false;
            TRY(const auto stream, open_stream(reader, condition, cost::kListMax));
            if (stream == nullptr) return false;
            for (; stream->valid(); stream->next())
                if (!each(stream->docref(), stream->certain())) return false;
            TRY_STATUS(stream->status());
        }
        if (undecided.size() >= cost::kListMax) return false;
    }
    matched_ += count;
    page_.work_of(segment_.partition).index_entries += count;
    TRY_STATUS(pass_.run.feed_equal(Value::object({}), {count, true}, arena_, pass_.rows));
    TRY_STATUS(pass_.keep_rows());
    for (const std::string& docref : undecided) TRY_STATUS(feed_item_at(docref));
    return true;
}

}  // namespace orrery::query
