// Answers that the index gives without reading items: aggregates, GROUP BY and DISTINCT over one
// indexed path, and counts of what a filter finds.
#include "query/exec/index_only.h"

#include <algorithm>

#include "base/bytes.h"
#include "json/item.h"
#include "query/exec/key_runs.h"

namespace orrery::query {

using storage::Docref;

namespace {

/// Expired items that are not yet removed; more of them, and the items are read instead.
constexpr size_t kExpiredMax = 1000;
/// A logical partition with fewer items is read faster than the index of the whole partition, where
/// its paths have no runs.
constexpr uint64_t kSmallScope = 20'000;

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

}  // namespace

Result<std::optional<storage::TermCounts>> PageRun::IndexOnly::term_counts(
    uint64_t hash, const index::TermRange& range) const {
    if (!expired.empty()) return std::optional<storage::TermCounts>();
    if (const auto run = key_run_of(segment, hash)) {
        const storage::TermColumn& column = *run->column();
        TRY_STATUS(spend(1));
        return std::optional(storage::TermCounts{
            run->column(), column.lower_bound(range.begin), column.lower_bound(range.end), {}});
    }
    if (!segment.whole_partition) return std::optional<storage::TermCounts>();
    const auto counts = [&](uint64_t cost) {
        return storage::term_counts(*request.view, path_prefix(hash), segment.scope.docref_bytes,
                                    range.begin, range.end, cost);
    };
    TRY(auto known, counts(storage::kOnlyIfInMemory));
    if (known) return known;
    TRY(const uint64_t cost, items());
    return counts(std::max<uint64_t>(cost, 1));
}

/// Whether what is asked for is a number of items, of all or of those with one value.
bool PageRun::is_one_run(const IndexOnly& only) {
    if (!only.request.query.output_needs().paths.empty()) return false;
    bool all = true;
    const auto conditions = only.conditions(all);
    return all &&
           (conditions.empty() || (conditions.size() == 1 && conditions[0]->is_single_term()));
}

/// Whether entries inside one key can be told from those of others, and are worth reading.
Result<bool> PageRun::prepare_in_key(IndexOnly& only) {
    const PageRequest& request = only.request;
    const Segment& segment = only.segment;
    if (!request.full_epk || request.settings->key.level_count() != 1) return false;
    bool all = true;
    const auto conditions = only.conditions(all);
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

namespace {

/// Whether nothing but the items' own paths has a say in the answer.
bool is_of_items(const CompiledQuery& query) {
    return !query.item_alias().empty() && query.root().sources.size() == 1 && !query.has_udf();
}

}  // namespace

/// Whether entries in the segment's scope are exactly the segment's items, and worth reading.
Result<bool> PageRun::prepare_index_only(IndexOnly& only) {
    if (!only.facts.index_complete || !is_of_items(only.request.query)) return false;
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
    for (const Condition* condition : only.conditions(all))
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
        if (pass.request.query.is_hidden(only.path[0].name)) return false;
        if (!pass.request.settings->path_usable(only.path)) {
            if (is_of_items(pass.request.query) && !json::is_system_property(only.path[0].name))
                answer_.index_use.potential.push_back(metric_path(only.path) + "/?");
            return false;
        }
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

}  // namespace orrery::query
