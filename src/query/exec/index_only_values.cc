// Aggregates, GROUP BY and DISTINCT over the values of one path, each evaluated once.
#include <algorithm>

#include "index/terms.h"
#include "query/bind/nodes.h"
#include "query/exec/index_only.h"
#include "query/exec/key_runs.h"

namespace orrery::query {

using json::Value;

namespace {

Status gone() {
    return Status(errors::request_timeout("The client has gone."));
}

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
                                             {conjunct.node}, path, value, only.arena);
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

}  // namespace orrery::query
