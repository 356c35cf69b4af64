// Aggregates, GROUP BY and DISTINCT over the values of one path, each evaluated once.
#include <algorithm>

#include "index/terms.h"
#include "query/bind/nodes.h"
#include "query/exec/index_only.h"
#include "query/exec/key_runs.h"
#include "query/plan/cost.h"
#include "query/plan/filter_analysis.h"

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
Result<bool> IndexOnly::feed_values() {
    const IndexPathSteps& path = path_;
    const uint64_t hash = index::path_hash(segment_.settings().path_key, path);
    const index::KeyRunPtr run = key_run_of(segment_, hash);
    if (run != nullptr && !cost::are_untold_few(run->untold(), run->size())) return false;
    std::vector<index::TermRange> ranges{index::term_ranges::undefined(),
                                         index::term_ranges::defined()};
    for (const Conjunct& conjunct : filter_.conjuncts)
        if (conjunct.condition && conjunct.condition->is_of_values(path))
            ranges = index::term_ranges::intersect(ranges, conjunct.condition->ranges);

    const bool undefined_in =
        !ranges.empty() && ranges[0].begin == index::term_ranges::undefined().begin;
    // A run has entries for items that lack the path.
    const bool count_missing =
        undefined_in && run == nullptr && !segment_.settings().undefined_usable(path);
    const bool everything = !ranges.empty() && ranges.size() <= 2 &&
                            ranges.back().end == index::term_ranges::defined().end;
    if (count_missing && !everything) return false;

    PartitionWork& work = page_.work_of(segment_.partition);
    uint64_t seen = 0;  // items that have an entry, of those in the ranges
    // A run whose terms are whole values gives each value once.
    const bool whole_groups = run != nullptr && run->untold() == 0 && pass_.segments.size() == 1 &&
                              groups_by(query_.root(), path);
    if (whole_groups && !pass_.needs_keys) pass_.result.drop_keys();
    OneValueItem holder(path);
    const auto feed = [&](const Value& value, uint64_t weight) -> Status {
        arena_.clear();
        const Value item = holder.with(value);
        bool holds = true;
        for (const Conjunct& conjunct : filter_.conjuncts)
            holds = holds && holds_for_value(query_, pass_.request.parameters, {conjunct.node},
                                             path, value, arena_);
        if (!holds) return {};
        matched_ += weight;
        work.index_entries += weight;
        TRY_STATUS(pass_.run.feed_equal(item, {weight, true, whole_groups}, arena_, pass_.rows));
        TRY_STATUS(pass_.keep_rows());
        return {};
    };
    json::Arena values;
    const auto walk = [&](const index::TermRange& range) -> Status {
        index::Postings postings(segment_.scope, hash, range);
        std::string term;
        while (postings.valid()) {
            term.assign(postings.term());
            uint64_t weight = 0;
            values.clear();
            const auto value = index::decode_term(term, values);
            const bool whole_value = value && !value->is_array() && !value->is_object();
            for (; postings.valid() && postings.term() == term; postings.next()) {
                if (++entries_ % kEntriesPerLook == 0 && page_.cancelled()) return gone();
                if (is_expired(postings.docref())) continue;
                ++seen;
                if (!whole_value || postings.partial()) {
                    TRY_STATUS(feed_item_at(postings.docref()));
                } else {
                    ++weight;
                }
            }
            if (weight > 0) TRY_STATUS(feed(*value, weight));
            if (pass_.run.is_done()) return {};
        }
        return postings.status();
    };
    for (const index::TermRange& range : ranges) {
        TRY(const auto counts, term_counts(hash, range));
        if (!counts) {
            const uint64_t before = entries_;
            TRY_STATUS(walk(range));
            note_walk(hash, entries_ - before);
            if (pass_.run.is_done()) return true;
            continue;
        }
        Status status;
        counts->each([&](std::string_view term, uint64_t count, bool partial) {
            if (!status.ok() || pass_.run.is_done()) return;
            if (++entries_ % kEntriesPerLook == 0 && page_.cancelled()) status = gone();
            if (status.ok() && run != nullptr) status = spend(kStepsPerValue);
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
        if (pass_.run.is_done()) return true;
    }
    // Items that lack the path have no entry; their number is what is left.
    if (count_missing) {
        TRY(const uint64_t items, items());
        TRY_STATUS(feed(Value(), items - std::min(items, seen)));
    }
    return true;
}

}  // namespace orrery::query
