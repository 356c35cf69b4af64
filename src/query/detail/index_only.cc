// Answers that the index gives without reading items: aggregates, GROUP BY and DISTINCT over one
// indexed path, and counts of what a filter finds.
#include <algorithm>
#include <set>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/find_bytes.h"
#include "index/terms.h"
#include "partition/expiry.h"
#include "query/detail/blocking_pass.h"
#include "query/detail/docref_set.h"
#include "query/detail/key_runs.h"
#include "query/detail/page_run.h"
#include "query/nodes.h"
#include "storage/light_view.h"

namespace orrery::query::detail {

using json::Value;
using storage::Docref;

namespace {

/// Expired items that are not yet removed; more of them, and the items are read instead.
constexpr size_t kExpiredMax = 1000;
/// A logical partition with fewer items is read faster than the index of the whole partition, where
/// its paths have no runs.
constexpr uint64_t kSmallScope = 20'000;
constexpr uint64_t kListMax = 1'000'000;
/// Of a budget, for a value that is evaluated.
constexpr uint64_t kStepsPerValue = 2;
/// Entries between two looks whether anybody waits.
constexpr uint64_t kEntriesPerLook = 4096;

Status gone() {
    return Status(errors::request_timeout("The client has gone."));
}

/// The docrefs in `ttl` that are due; false when there are too many, or not all of them are there.
Result<bool> expired_docrefs(const PageRequest& request, const partition::Partition& part,
                             DocrefSet& out) {
    using storage::keys::TtlKind;
    const auto default_ttl = request.settings->default_ttl;
    if (!default_ttl) return true;
    TRY(const bool complete, part.lists_expiry(*request.view));
    if (!complete) return false;
    const storage::PartitionId partition = part.identity().id;
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

std::vector<const Condition*> all_conditions(const Filter& filter, bool& all) {
    return filter.conditions([](const Condition&) { return true; }, all);
}

}  // namespace

struct PageRun::IndexOnly {
    const Segment& segment;
    SegmentFacts& facts;
    BlockingPass& pass;
    const PageRequest& request;
    IndexPathSteps path;  ///< whose values are asked for; empty: the items' number is
    DocrefSet expired;
    json::Arena arena;  ///< of one value
    uint64_t entries = 0;
    uint64_t loaded = 0;   ///< items that had to be asked
    uint64_t matched = 0;  ///< items that were counted

    /// In the segment, expired ones left out. Read when first asked for.
    Result<uint64_t> items() const {
        TRY(const uint64_t all, facts.items());
        return all - std::min<uint64_t>(all, expired.size());
    }

    bool is_expired(std::string_view docref) const {
        return !expired.empty() && expired.contains(docref);
    }
    /// Of a budget, for work on what is in memory.
    Status spend(uint64_t steps) const {
        storage::ReadBudget* const budget = storage::budget_of(*request.view);
        if (budget == nullptr || budget->spend(steps)) return {};
        return Status(errors::internal("The values are beyond the budget."));
    }
    /// Of a budget, for so many terms of a run. Searching through their bytes is fast, evaluating
    /// each is not; the terms of a whole partition were paid for when they were found.
    uint64_t steps_to_count(uint64_t terms, bool evaluated) const {
        constexpr uint64_t kTermsPerStep = 8;
        if (segment.whole_partition) return 0;
        return evaluated ? terms * kStepsPerValue : terms / kTermsPerStep;
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
        if (!expired.empty()) return std::optional<storage::TermCounts>();
        if (const auto run = key_run_of(segment, hash)) {
            const storage::TermColumn& column = *run->column();
            TRY_STATUS(spend(1));
            return std::optional(storage::TermCounts{
                run->column(), column.lower_bound(range.begin), column.lower_bound(range.end), {}});
        }
        if (!segment.whole_partition) return std::optional<storage::TermCounts>();
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

/// Whether entries inside one key can be told from those of others, and are worth reading.
Result<bool> PageRun::prepare_in_key(IndexOnly& only) {
    const PageRequest& request = only.request;
    const Segment& segment = only.segment;
    if (!request.full_epk || request.settings->key.level_count() != 1) return false;
    bool all = true;
    const auto conditions = all_conditions(only.pass.filter, all);
    const auto is_alone = [&] {
        return request.partitions[segment.partition]->owns_docref_prefix(*request.view,
                                                                         *request.full_epk);
    };
    std::vector<IndexPathSteps> paths;
    if (is_one_run(only)) {
        // The entries of one value lie together in the index, too: a run is as good.
        if (conditions.empty() || !add_run_paths(request, segment, *conditions[0], paths))
            return is_alone();
        if (use_key_run_in_memory(request, segment, paths[0])) return true;
        TRY(const bool alone, is_alone());
        if (alone) return true;
        // Between them lie those of a key whose hash begins alike. What the next query finds in
        // memory must not change what it costs: this one goes by a run, too.
        return use_key_runs(request, segment, only.facts, paths);
    }
    bool from_runs = true;  // what is read is the key's alone
    if (!only.path.empty()) {
        paths.push_back(only.path);
        from_runs = may_have_run(request, segment, only.path);
    }
    for (size_t i = 0; i < conditions.size() && only.path.empty() && from_runs; ++i)
        from_runs = add_run_paths(request, segment, *conditions[i], paths);
    if (from_runs) {
        TRY(from_runs, use_key_runs(request, segment, only.facts, paths));
    }
    if (from_runs) return true;
    TRY(const uint64_t items, only.facts.items());
    if (items < kSmallScope) return false;
    return is_alone();
}

/// Whether entries in the segment's scope are exactly the segment's items, and worth reading.
Result<bool> PageRun::prepare_index_only(IndexOnly& only) {
    const Level& root = only.request.query.root();
    if (!only.facts.index_complete || only.request.query.item_alias().empty() ||
        root.sources.size() != 1 || only.request.query.has_udf())
        return false;
    const Segment& segment = only.segment;
    TRY(const bool few,
        expired_docrefs(only.request, *only.request.partitions[segment.partition], only.expired));
    if (!few) return false;
    if (segment.whole_partition) return true;
    absl::erase_if(only.expired, [&](const std::string& docref) {
        const std::string& end = segment.scope.docref_end;
        return docref < segment.scope.docref_begin || (!end.empty() && docref >= end);
    });
    return prepare_in_key(only);
}

/// What the index was asked, for people.
std::string PageRun::text_of(const IndexOnly& only) {
    if (!only.request.explain) return {};
    if (!only.path.empty()) return metric_path(only.path);
    bool all = true;
    std::string out;
    for (const Condition* condition : all_conditions(only.pass.filter, all))
        out += (out.empty() ? "" : " and ") + condition_text(*condition);
    return out.empty() ? "the number of items" : out;
}

Result<bool> PageRun::feed_from_index(const Segment& segment, SegmentFacts& facts,
                                      BlockingPass& pass) {
    const ItemNeeds& output = pass.request.query.output_needs();
    if (output.whole || output.paths.size() > 1) return false;
    IndexOnly only{segment, facts, pass, pass.request, {}, {}, {}};
    const int64_t began = request_.clock.monotonic_us();
    if (output.paths.empty()) {
        if (!pass.filter.conjuncts.empty() && !pass.filter.is_exact()) return false;
    } else {
        const ItemNeeds& all = pass.request.query.needs();
        if (all.whole || all.paths != output.paths) return false;
        for (const std::string& name : output.paths[0]) only.path.push_back({false, name});
        // What is needed of items is what they store.
        if (pass.request.query.is_hidden(only.path[0].name) ||
            !pass.request.settings->path_usable(only.path))
            return false;
    }
    TRY(const bool possible, prepare_index_only(only));
    if (!possible) return false;
    TRY(const bool answered, only.path.empty() ? feed_count(only) : feed_values(only));
    if (!answered) return false;
    AccessReport report;
    report.partition = segment.partition;
    report.access = "index only";
    if (only.request.explain) report.detail = text_of(only);
    report.candidates = only.entries;
    report.loaded = only.loaded;
    report.matched = only.matched;
    answer_.index_us += request_.clock.monotonic_us() - began;
    if (!only.path.empty()) {
        auto& used = answer_.index_use.utilized;
        std::string name = metric_path(only.path) + "/?";
        if (std::find(used.begin(), used.end(), name) == used.end())
            used.push_back(std::move(name));
    }
    answer_.accesses.push_back(std::move(report));
    return true;
}

Status PageRun::feed_item_at(IndexOnly& only, std::string_view docref) {
    const auto decoded = Docref::from_bytes(docref);
    if (!decoded) return {};
    TRY(const auto documents,
        load_documents(only.request, *only.request.partitions[only.segment.partition], {*decoded}));
    if (!documents[0]) return {};
    ++only.loaded;
    TRY_STATUS(item_.load(only.request, *documents[0], *decoded));
    TRY(const bool served, rows_->passes_served(item_));
    if (!served) return {};
    ++only.matched;
    ++work_of(only.segment.partition).index_entries;
    TRY_STATUS(only.pass.run.feed(item_.value(), item_.arena(), only.pass.rows));
    TRY_STATUS(only.pass.keep_rows());
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
Result<bool> PageRun::feed_counted(IndexOnly& only, const Condition& condition) {
    constexpr size_t kPartialMax = 256;
    if (condition.kind != Condition::Kind::kTerms || !condition.is_member_path()) return false;
    const uint64_t hash = condition.entries_hash(only.request.settings->path_key);
    std::optional<TermTester> tester;
    if (condition.test != nullptr)
        tester.emplace(only.request.query, only.request.parameters, condition);
    int64_t count = 0;
    std::set<std::string, std::less<>> partial;  // their items decide
    // The entries of a run are told one by one: whoever reads them from the index sees as many.
    const bool in_key = !only.segment.whole_partition;
    Status spent;  // of a budget: terms that hold the needle are evaluated one by one
    const auto passes = [&](std::string_view term) {
        if (!in_key) ++only.entries;
        if (!tester) return true;
        if (in_key && spent.ok() && !condition.needle.empty()) spent = only.spend(kStepsPerValue);
        if (!spent.ok()) return false;
        const TermTester::Verdict verdict = tester->test(term);
        if (verdict == TermTester::Verdict::kAskItem) partial.emplace(term);
        return verdict == TermTester::Verdict::kYes;
    };
    for (const index::TermRange& range : condition.ranges) {
        TRY(const auto counts, only.term_counts(hash, range));
        if (!counts) return false;
        const storage::TermColumn& column = *counts->column;
        TRY_STATUS(only.spend(
            only.steps_to_count(counts->last - counts->first, tester && condition.needle.empty())));
        for (size_t i = counts->first; i < counts->last && column.any_partial(); ++i)
            if (column.has_partial(i)) partial.emplace(column.term(i));
        for (const auto& change : counts->changes)
            if (change.partial) partial.emplace(change.term);
        if (partial.size() > kPartialMax) return false;
        const auto walked = [&](std::string_view term) {
            return !partial.empty() && partial.contains(term);
        };
        find_terms(*counts, condition.needle, [&](size_t i) {
            if (walked(column.term(i)) || !passes(column.term(i))) return;
            count += static_cast<int64_t>(column.count(i));
            if (in_key) only.entries += column.count(i);
        });
        for (const auto& change : counts->changes)
            if (!walked(change.term) && passes(change.term)) count += change.count;
    }
    TRY_STATUS(std::move(spent));
    std::vector<std::string> undecided;
    const IndexReader reader{only.request.query, only.request.parameters, only.segment.scope,
                             only.request.settings->path_key};
    for (const std::string& term : partial) {
        Condition one = condition;
        one.ranges = {index::term_ranges::of_term(term)};
        TestedPostings postings(reader, one, {}, {});
        while (postings.next()) {
            if (in_key) ++only.entries;
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
    only.matched += weight;
    work_of(only.segment.partition).index_entries += weight;
    TRY_STATUS(
        only.pass.run.feed_equal(Value::object({}), {weight, true}, only.arena, only.pass.rows));
    TRY_STATUS(only.pass.keep_rows());
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
            if (++only.entries % kEntriesPerLook == 0 && cancelled()) return false;
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
    only.matched += count;
    work_of(only.segment.partition).index_entries += count;
    TRY_STATUS(
        only.pass.run.feed_equal(Value::object({}), {count, true}, only.arena, only.pass.rows));
    TRY_STATUS(only.pass.keep_rows());
    for (const std::string& docref : undecided) TRY_STATUS(feed_item_at(only, docref));
    return true;
}

namespace {

/// Whether each value of the path is a group.
bool groups_by(const Level& level, const IndexPathSteps& path) {
    if (level.group_keys.size() != 1 || level.sources.size() != 1) return false;
    const auto* key = dynamic_cast<const SlotPathNode*>(level.group_keys[0]);
    return key != nullptr && key->slot() == level.sources[0].slot &&
           std::equal(path.begin(), path.end(), key->steps().begin(), key->steps().end(),
                      [](const index::PathStep& a, const PathStep& b) {
                          return b.kind == PathStep::Kind::kName && a.name == b.name;
                      });
}

}  // namespace

/// Everything depends on the value of one path: each distinct value is evaluated once.
Result<bool> PageRun::feed_values(IndexOnly& only) {
    const IndexPathSteps& path = only.path;
    const uint64_t hash = index::path_hash(only.request.settings->path_key, path);
    const index::KeyRunPtr run = key_run_of(only.segment, hash);
    // Asking many items one by one takes longer than reading all of them in passing.
    constexpr size_t kUntoldPart = 8;
    if (run != nullptr && run->untold() > run->size() / kUntoldPart) return false;
    std::vector<index::TermRange> ranges{index::term_ranges::undefined(),
                                         index::term_ranges::defined()};
    for (const Conjunct& conjunct : only.pass.filter.conjuncts)
        if (conjunct.condition && conjunct.condition->is_of_values(path))
            ranges = index::term_ranges::intersect(ranges, conjunct.condition->ranges);

    const bool undefined_in =
        !ranges.empty() && ranges[0].begin == index::term_ranges::undefined().begin;
    // A run has entries for items that lack the path.
    const bool count_missing =
        undefined_in && run == nullptr && !only.request.settings->undefined_usable(path);
    const bool everything = !ranges.empty() && ranges.size() <= 2 &&
                            ranges.back().end == index::term_ranges::defined().end;
    if (count_missing && !everything) return false;

    PartitionWork& work = work_of(only.segment.partition);
    uint64_t seen = 0;  // items that have an entry, of those in the ranges
    // Each value comes once from a run whose terms tell their values.
    const bool whole_groups = run != nullptr && run->untold() == 0 &&
                              only.pass.segments.size() == 1 &&
                              groups_by(only.request.query.root(), path);
    if (whole_groups && !only.pass.needs_keys) only.pass.result.drop_keys();
    OneValueItem holder(path);
    const auto feed = [&](const Value& value, uint64_t weight) -> Status {
        only.arena.clear();
        const Value item = holder.with(value);
        bool holds = true;
        for (const Conjunct& conjunct : only.pass.filter.conjuncts)
            holds = holds && holds_for_value(only.request.query, only.request.parameters,
                                             *conjunct.node, path, value, only.arena);
        if (!holds) return {};
        only.matched += weight;
        work.index_entries += weight;
        TRY_STATUS(only.pass.run.feed_equal(item, {weight, true, whole_groups}, only.arena,
                                            only.pass.rows));
        TRY_STATUS(only.pass.keep_rows());
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
                if (++only.entries % kEntriesPerLook == 0 && cancelled()) return gone();
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
            if (++only.entries % kEntriesPerLook == 0 && cancelled()) status = gone();
            if (status.ok() && run != nullptr) status = only.spend(kStepsPerValue);
            if (!status.ok()) return;
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
    if (count_missing) {
        TRY(const uint64_t items, only.items());
        TRY_STATUS(feed(Value(), items - std::min(items, seen)));
    }
    return true;
}

}  // namespace orrery::query::detail
