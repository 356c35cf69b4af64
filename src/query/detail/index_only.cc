// Answers that the index gives without reading items: aggregates, GROUP BY and DISTINCT over one
// indexed path, and counts of what a filter finds.
#include <absl/container/flat_hash_set.h>

#include <cstring>
#include <functional>
#include <set>

#include "base/bytes.h"
#include "index/terms.h"
#include "partition/expiry.h"
#include "query/detail/blocking_pass.h"
#include "query/detail/page_run.h"
#include "storage/light_view.h"

namespace orrery::query::detail {

using json::Value;
using storage::Docref;

namespace {

/// Expired items that are not yet removed; more of them, and the items are read instead.
constexpr size_t kExpiredMax = 1000;
/// A logical partition with fewer items is read faster than the index of the whole partition.
constexpr uint64_t kSmallScope = 20'000;
constexpr uint64_t kListMax = 1'000'000;

struct DocrefHash {
    using is_transparent = void;
    size_t operator()(std::string_view docref) const {
        return std::hash<std::string_view>()(docref);
    }
};
using DocrefSet = absl::flat_hash_set<std::string, DocrefHash, std::equal_to<>>;

/// The docrefs in `ttl` that are due; false when there are too many.
Result<bool> expired_docrefs(const PageRequest& request, storage::PartitionId partition,
                             DocrefSet& out) {
    using storage::keys::TtlKind;
    const auto default_ttl = request.settings->default_ttl;
    if (!default_ttl) return true;
    const int64_t now = request.clock.wall_seconds();
    for (const TtlKind kind : {TtlKind::kOwnExpiry, TtlKind::kUnderDefault}) {
        if (kind == TtlKind::kUnderDefault && *default_ttl < 0) continue;
        const int64_t due = kind == TtlKind::kOwnExpiry ? now : now - *default_ttl;
        const std::string prefix = storage::keys::ttl_kind(partition, kind);
        const auto cursor =
            request.view->scan(storage::Family::kTtl, prefix, prefix_successor(prefix));
        for (; cursor->valid(); cursor->next()) {
            const auto key = storage::keys::decode_ttl(cursor->key());
            if (!key || key->when > due) break;
            if (out.size() >= kExpiredMax) return false;
            out.emplace(key->docref.bytes());
        }
        TRY_STATUS(cursor->status());
    }
    return true;
}

/// Whether one EPK alone has the docref prefix of `epk`: then entries in its run are its own.
Result<bool> owns_prefix(const PageRequest& request, storage::PartitionId partition,
                         const std::string& epk) {
    constexpr size_t kPrefixBytes = 8;
    std::string begin = storage::keys::partition(partition);
    append_delimited(begin, std::string_view(epk).substr(0, kPrefixBytes));
    begin.resize(begin.size() - 2);  // without the end mark
    const auto cursor = request.view->scan(storage::Family::kIds, begin, prefix_successor(begin));
    std::string own = storage::keys::partition(partition);
    append_delimited(own, epk);
    if (cursor->valid()) {
        if (!cursor->key().starts_with(own)) return false;
        cursor->seek(prefix_successor(own));
    }
    if (cursor->valid()) return false;
    TRY_STATUS(cursor->status());
    return true;
}

std::vector<const Condition*> all_conditions(const Filter& filter, bool& all) {
    return filter.conditions([](const Condition&) { return true; }, all);
}

}  // namespace

struct PageRun::IndexOnly {
    const Segment& segment;
    SegmentFacts& facts;
    BlockingPass& pass;
    const PageRequest& request;
    DocrefSet expired;
    json::Arena arena;  ///< of one value
    uint64_t entries = 0;

    /// In the segment, expired ones left out. Read when first asked for.
    Result<uint64_t> items() const {
        TRY(const uint64_t all, facts.items());
        return all - std::min<uint64_t>(all, expired.size());
    }

    bool is_expired(std::string_view docref) const {
        return !expired.empty() && expired.contains(docref);
    }
    std::string path_prefix(uint64_t hash) const {
        return storage::keys::index_path(segment.scope.partition, hash);
    }
    void note_walk(uint64_t hash, uint64_t walked) const {
        if (segment.whole_partition) storage::note_walk(*request.view, path_prefix(hash), walked);
    }
    /// Entries per term, where nothing has to be subtracted; nullopt: they must be walked.
    Result<std::optional<storage::TermCounts>> term_counts(uint64_t hash,
                                                           const index::TermRange& range) const {
        if (!segment.whole_partition || !expired.empty())
            return std::optional<storage::TermCounts>();
        const auto counts = [&](uint64_t cost) {
            return storage::term_counts(*request.view, path_prefix(hash),
                                        segment.scope.docref_bytes, range.begin, range.end, cost);
        };
        TRY(auto known, counts(storage::kOnlyIfInMemory));
        if (known) return known;
        TRY(const uint64_t cost, items());
        return counts(std::max<uint64_t>(cost, 1));
    }
};

/// Whether what is asked for is a number of items, of all or of those with one value.
bool PageRun::is_one_run(const IndexOnly& only) {
    if (!only.request.query.output_needs().paths.empty()) return false;
    bool all = true;
    const auto conditions = all_conditions(only.pass.filter, all);
    return all &&
           (conditions.empty() || (conditions.size() == 1 && conditions[0]->is_single_term()));
}

/// Whether entries in the segment's scope are exactly the segment's items, and worth reading.
Result<bool> PageRun::prepare_index_only(IndexOnly& only) {
    const Level& root = only.request.query.root();
    if (!only.facts.index_complete || only.request.query.item_alias().empty() ||
        root.sources.size() != 1 || only.request.query.has_udf())
        return false;
    const storage::PartitionId partition = only.segment.scope.partition;
    if (!only.segment.whole_partition) {
        if (!only.request.full_epk || only.request.settings->key.level_count() != 1) return false;
        if (!is_one_run(only)) {
            TRY(const uint64_t items, only.facts.items());
            if (items < kSmallScope) return false;
        }
        TRY(const bool alone, owns_prefix(only.request, partition, *only.request.full_epk));
        if (!alone) return false;
    }
    TRY(const bool few, expired_docrefs(only.request, partition, only.expired));
    return few && (only.segment.whole_partition || only.expired.empty());
}

Result<bool> PageRun::feed_from_index(const Segment& segment, SegmentFacts& facts,
                                      BlockingPass& pass) {
    const ItemNeeds& output = pass.request.query.output_needs();
    if (output.whole || output.paths.size() > 1) return false;
    IndexOnly only{segment, facts, pass, pass.request, {}, {}, 0};
    TRY(const bool possible, prepare_index_only(only));
    if (!possible) return false;
    const ItemNeeds& all = only.request.query.needs();
    bool answered = false;
    if (output.paths.empty()) {
        TRY(answered, feed_count(only));
    } else if (!all.whole && all.paths == output.paths) {
        TRY(answered, feed_values(only));
    }
    if (!answered) return false;
    AccessReport report;
    report.partition = segment.partition;
    report.access = "index only";
    report.candidates = only.entries;
    answer_.accesses.push_back(std::move(report));
    return true;
}

Status PageRun::feed_item_at(IndexOnly& only, std::string_view docref) {
    const auto decoded = Docref::from_bytes(docref);
    if (!decoded) return {};
    TRY(const auto documents,
        load_documents(only.request, *only.request.partitions[only.segment.partition], {*decoded}));
    if (!documents[0]) return {};
    TRY_STATUS(item_.load(only.request, *documents[0], *decoded));
    TRY(const bool served, rows_->passes_served(item_));
    if (!served) return {};
    ++work_of(only.segment.partition).index_entries;
    TRY_STATUS(only.pass.run.feed(item_.value(), item_.arena(), only.pass.rows));
    only.pass.keep_rows();
    return {};
}

namespace {

/// Calls `each` with the positions of terms that may hold `needle`, ascending.
template <typename Each>
void find_terms(const storage::TermCounts& counts, const std::string& needle, const Each& each) {
    const storage::TermColumn& column = *counts.column;
    if (needle.empty()) {
        for (size_t i = counts.first; i < counts.last; ++i) each(i);
        return;
    }
    const std::string_view bytes = column.bytes();
    const size_t end = column.offset(counts.last);
    for (size_t at = column.offset(counts.first), i = counts.first; at < end;) {
        const void* hit = memmem(bytes.data() + at, end - at, needle.data(), needle.size());
        if (hit == nullptr) return;
        at = static_cast<size_t>(static_cast<const char*>(hit) - bytes.data());
        i = column.find_offset(at, i);
        each(i);
        at = column.offset(i + 1);
    }
}

}  // namespace

/// Counts by distinct values: each is tested once, whatever number of items has it.
Result<bool> PageRun::feed_counted(IndexOnly& only, const Condition& condition) {
    constexpr size_t kPartialMax = 256;
    if (condition.kind != Condition::Kind::kTerms || !condition.is_member_path()) return false;
    const uint64_t hash = condition.entries_hash(only.request.settings->path_key);
    std::optional<TermTester> tester;
    if (condition.test != nullptr)
        tester.emplace(only.request.query, only.request.parameters, condition);
    int64_t count = 0;
    std::set<std::string, std::less<>> partial;  // their items decide
    const auto passes = [&](std::string_view term) {
        ++only.entries;
        if (!tester) return true;
        const TermTester::Verdict verdict = tester->test(term);
        if (verdict == TermTester::Verdict::kAskItem) partial.emplace(term);
        return verdict == TermTester::Verdict::kYes;
    };
    for (const index::TermRange& range : condition.ranges) {
        TRY(const auto counts, only.term_counts(hash, range));
        if (!counts) return false;
        const storage::TermColumn& column = *counts->column;
        for (size_t i = counts->first; i < counts->last && column.any_partial(); ++i)
            if (column.has_partial(i)) partial.emplace(column.term(i));
        for (const auto& change : counts->changes)
            if (change.partial) partial.emplace(change.term);
        if (partial.size() > kPartialMax) return false;
        const auto walked = [&](std::string_view term) {
            return !partial.empty() && partial.contains(term);
        };
        find_terms(*counts, condition.needle, [&](size_t i) {
            if (!walked(column.term(i)) && passes(column.term(i)))
                count += static_cast<int64_t>(column.count(i));
        });
        for (const auto& change : counts->changes)
            if (!walked(change.term) && passes(change.term)) count += change.count;
    }
    std::vector<std::string> undecided;
    const IndexReader reader{only.request.query, only.request.parameters, only.segment.scope,
                             only.request.settings->path_key};
    for (const std::string& term : partial) {
        Condition one = condition;
        one.ranges = {index::term_ranges::of_term(term)};
        TestedPostings postings(reader, one, {}, {});
        while (postings.next()) {
            if (postings.certain()) {
                ++count;
            } else {
                undecided.emplace_back(postings.docref());
            }
            if (undecided.size() >= kListMax) return false;
        }
        TRY_STATUS(postings.status());
    }
    const auto weight = static_cast<uint64_t>(std::max<int64_t>(count, 0));
    work_of(only.segment.partition).index_entries += weight;
    TRY_STATUS(
        only.pass.run.feed_equal(Value::object({}), weight, true, only.arena, only.pass.rows));
    only.pass.keep_rows();
    for (const std::string& docref : undecided) TRY_STATUS(feed_item_at(only, docref));
    return true;
}

/// Nothing of the items is shown: their number is enough.
Result<bool> PageRun::feed_count(IndexOnly& only) {
    uint64_t count = 0;
    std::vector<std::string> undecided;
    if (only.pass.filter.conjuncts.empty()) {
        TRY(count, only.items());
    } else {
        if (!only.pass.filter.is_exact()) return false;
        const IndexReader reader{only.request.query, only.request.parameters, only.segment.scope,
                                 only.request.settings->path_key};
        Condition all;
        all.kind = Condition::Kind::kAll;
        bool every = true;
        for (const Condition* condition : all_conditions(only.pass.filter, every))
            all.parts.push_back(*condition);
        const Condition& condition = all.parts.size() == 1 ? all.parts[0] : all;
        TRY(const bool counted, feed_counted(only, condition));
        if (counted) return true;
        const auto each = [&](std::string_view docref, bool certain) {
            ++only.entries;
            if (only.is_expired(docref)) return true;
            if (certain) {
                ++count;
            } else {
                undecided.emplace_back(docref);
            }
            return undecided.size() < kListMax;
        };
        if (condition.kind == Condition::Kind::kTerms && condition.is_member_path()) {
            TestedPostings postings(reader, condition, {}, {});
            while (postings.next() && each(postings.docref(), postings.certain())) {
            }
            TRY_STATUS(postings.status());
            only.note_walk(condition.entries_hash(reader.path_key),
                           std::max(only.entries, postings.tested_terms()));
        } else {
            TRY(const auto stream, open_stream(reader, condition, kListMax));
            if (stream == nullptr) return false;
            for (; stream->valid(); stream->next())
                if (!each(stream->docref(), stream->certain())) return false;
            TRY_STATUS(stream->status());
        }
        if (undecided.size() >= kListMax) return false;
    }
    work_of(only.segment.partition).index_entries += count;
    TRY_STATUS(
        only.pass.run.feed_equal(Value::object({}), count, true, only.arena, only.pass.rows));
    only.pass.keep_rows();
    for (const std::string& docref : undecided) TRY_STATUS(feed_item_at(only, docref));
    return true;
}

/// Everything depends on the value of one path: each distinct value is evaluated once.
Result<bool> PageRun::feed_values(IndexOnly& only) {
    IndexPathSteps path;
    for (const std::string& name : only.request.query.output_needs().paths[0])
        path.push_back({false, name});
    // What is needed of items is what they store.
    if (only.request.query.is_hidden(path[0].name)) return false;
    if (!only.request.settings->path_usable(path)) return false;
    TRY(const uint64_t items, only.items());
    std::vector<index::TermRange> ranges{index::term_ranges::undefined(),
                                         index::term_ranges::defined()};
    for (const Conjunct& conjunct : only.pass.filter.conjuncts)
        if (conjunct.condition && conjunct.condition->is_of_values(path))
            ranges = index::term_ranges::intersect(ranges, conjunct.condition->ranges);

    const bool undefined_in =
        !ranges.empty() && ranges[0].begin == index::term_ranges::undefined().begin;
    const bool count_missing = undefined_in && !only.request.settings->undefined_usable(path);
    const bool everything = !ranges.empty() && ranges.size() <= 2 &&
                            ranges.back().end == index::term_ranges::defined().end;
    if (count_missing && !everything) return false;

    PartitionWork& work = work_of(only.segment.partition);
    const uint64_t hash = index::path_hash(only.request.settings->path_key, path);
    uint64_t seen = 0;  // items that have an entry, of those in the ranges
    const auto feed = [&](const Value& value, uint64_t weight) -> Status {
        only.arena.clear();
        const Value item = item_with(path, value, only.arena);
        bool holds = true;
        for (const Conjunct& conjunct : only.pass.filter.conjuncts)
            holds = holds && holds_for_value(only.request.query, only.request.parameters,
                                             *conjunct.node, path, value, only.arena);
        if (!holds) return {};
        work.index_entries += weight;
        TRY_STATUS(only.pass.run.feed_equal(item, weight, true, only.arena, only.pass.rows));
        only.pass.keep_rows();
        return {};
    };
    json::Arena values;
    const auto walk = [&](const index::TermRange& range) -> Status {
        index::Postings postings(only.segment.scope, hash, range);
        std::string term;
        while (postings.valid()) {
            term.assign(postings.term());
            uint64_t weight = 0;
            values.clear();
            const auto value = index::decode_term(term, values);
            const bool whole_value = value && !value->is_array() && !value->is_object();
            for (; postings.valid() && postings.term() == term; postings.next()) {
                ++only.entries;
                if (only.is_expired(postings.docref())) continue;
                ++seen;
                if (!whole_value || postings.partial()) {
                    TRY_STATUS(feed_item_at(only, postings.docref()));
                } else {
                    ++weight;
                }
            }
            if (weight > 0) TRY_STATUS(feed(*value, weight));
            if (only.pass.run.is_done()) return {};
        }
        return postings.status();
    };
    for (const index::TermRange& range : ranges) {
        TRY(const auto counts, only.term_counts(hash, range));
        if (!counts) {
            const uint64_t before = only.entries;
            TRY_STATUS(walk(range));
            only.note_walk(hash, only.entries - before);
            if (only.pass.run.is_done()) return true;
            continue;
        }
        Status status;
        counts->each([&](std::string_view term, uint64_t count, bool partial) {
            if (!status.ok() || only.pass.run.is_done()) return;
            ++only.entries;
            values.clear();
            const auto value = index::decode_term(term, values);
            if (partial || !value || value->is_array() || value->is_object()) {
                status = walk(index::term_ranges::of_term(term));
                return;
            }
            seen += count;
            status = feed(*value, count);
        });
        TRY_STATUS(std::move(status));
        if (only.pass.run.is_done()) return true;
    }
    // Items that lack the path have no entry; their number is what is left.
    if (count_missing) TRY_STATUS(feed(Value(), items - std::min(items, seen)));
    return true;
}

}  // namespace orrery::query::detail
