// Answers that the index gives without reading items: aggregates, GROUP BY and DISTINCT over one
// indexed path, and counts of what a filter finds.
#include "query/exec/index_only.h"

#include <algorithm>

#include "base/bytes.h"
#include "json/item.h"
#include "query/exec/key_runs.h"
#include "query/plan/cost.h"

namespace orrery::query {

using storage::Docref;

namespace {

/// The docrefs in `ttl` that are due; false when there are too many, or not all of them are there.
Result<bool> expired_docrefs(const SourceRange& source, const Clock& clock, DocrefSet& out) {
    using storage::keys::TtlKind;
    const auto default_ttl = source.settings->default_ttl;
    if (!default_ttl) return true;
    TRY(const bool complete, source.partition->lists_expiry(*source.view));
    if (!complete) return false;
    const storage::PartitionId partition = source.partition->identity().id;
    const int64_t now = clock.wall_seconds();
    for (const TtlKind kind : {TtlKind::kOwnExpiry, TtlKind::kUnderDefault}) {
        if (kind == TtlKind::kUnderDefault && *default_ttl < 0) continue;
        const int64_t due = kind == TtlKind::kOwnExpiry ? now : now - *default_ttl;
        const std::string prefix = storage::keys::ttl_kind(partition, kind);
        const auto cursor =
            source.view->scan(storage::Family::kTtl, prefix, prefix_successor(prefix));
        for (; cursor->valid(); cursor->next()) {
            const auto key = storage::keys::decode_ttl(cursor->key());
            if (!key || key->when > due) break;
            if (out.size() >= cost::kExpiredMax) return false;
            out.emplace(key->docref.bytes());
        }
        TRY_STATUS(cursor->status());
    }
    return true;
}

}  // namespace

Result<std::optional<storage::TermCounts>> IndexOnly::term_counts(
    uint64_t hash, const index::TermRange& range) const {
    if (!expired_.empty()) return std::optional<storage::TermCounts>();
    if (const auto run = key_run_of(segment_, hash)) {
        const storage::TermColumn& column = *run->column();
        TRY_STATUS(spend(1));
        return std::optional(storage::TermCounts{
            run->column(), column.lower_bound(range.begin), column.lower_bound(range.end), {}});
    }
    if (!segment_.whole_partition) return std::optional<storage::TermCounts>();
    const auto counts = [&](uint64_t cost) {
        return storage::term_counts(segment_.view(), path_prefix(hash), segment_.scope.docref_bytes,
                                    range.begin, range.end, cost);
    };
    TRY(auto known, counts(storage::kOnlyIfInMemory));
    if (known) return known;
    TRY(const uint64_t cost, items());
    return counts(std::max<uint64_t>(cost, 1));
}

/// Whether what is asked for is a number of items, of all or of those with one value.
bool IndexOnly::is_one_run() const {
    if (!query_.output_needs().paths.empty()) return false;
    bool all = true;
    const auto found = conditions(all);
    return all && (found.empty() || (found.size() == 1 && found[0]->is_single_term()));
}

/// Whether entries inside one key can be told from those of others, and are worth reading.
Result<bool> IndexOnly::prepare_in_key() {
    const auto& epk = facts_.page.full_epk;
    if (!epk || segment_.settings().key.level_count() != 1) return false;
    bool all = true;
    const auto found = conditions(all);
    const auto is_alone = [&] {
        return segment_.source->partition->owns_docref_prefix(segment_.view(), *epk);
    };
    std::vector<IndexPathSteps> paths;
    if (is_one_run()) {
        // The entries of one value also lie together in the index, so either is as good.
        if (found.empty() || !add_run_paths(facts_, *found[0], paths)) return is_alone();
        if (use_key_run_in_memory(facts_, paths[0])) return true;
        TRY(const bool alone, is_alone());
        if (alone) return true;
        // Entries of another key with the same hash prefix lie between them. The plan must not
        // depend on what is in memory, so use a run.
        return use_key_runs(facts_, paths);
    }
    bool from_runs = true;  // what is read is the key's alone
    if (!path_.empty()) {
        paths.push_back(path_);
        from_runs = may_have_run(facts_, path_);
    }
    for (size_t i = 0; i < found.size() && path_.empty() && from_runs; ++i)
        from_runs = add_run_paths(facts_, *found[i], paths);
    if (from_runs) {
        TRY(from_runs, use_key_runs(facts_, paths));
    }
    if (from_runs) return true;
    TRY(const uint64_t items, facts_.items());
    if (items < cost::kSmallKey) return false;
    return is_alone();
}

namespace {

/// True if the answer depends only on the items' own paths.
bool is_of_items(const CompiledQuery& query) {
    return !query.item_alias().empty() && query.root().sources.size() == 1 && !query.has_udf();
}

}  // namespace

/// Whether entries in the segment's scope are exactly the segment's items, and worth reading.
Result<bool> IndexOnly::prepare() {
    if (!facts_.index_complete || !is_of_items(query_)) return false;
    TRY(const bool few, expired_docrefs(*segment_.source, page_.scope.clock, expired_));
    if (!few) return false;
    if (segment_.whole_partition) return true;
    absl::erase_if(expired_, [&](const std::string& docref) {
        const std::string& end = segment_.scope.docref_end;
        return docref < segment_.scope.docref_begin || (!end.empty() && docref >= end);
    });
    return prepare_in_key();
}

/// What the index was asked, for people.
std::string IndexOnly::text() const {
    if (!page_.scope.explain) return {};
    if (!path_.empty()) return metric_path(path_);
    bool all = true;
    std::string out;
    for (const Condition* condition : conditions(all))
        out += (out.empty() ? "" : " and ") + condition_text(*condition);
    return out.empty() ? "the number of items" : out;
}

/// Sets the path; false: the query asks for more than one path's values or the items' number.
bool IndexOnly::find_path() {
    const ItemNeeds& output = query_.output_needs();
    if (output.whole || output.paths.size() > 1) return false;
    if (output.paths.empty()) return filter_.conjuncts.empty() || filter_.is_exact();
    const ItemNeeds& all = query_.needs();
    if (all.whole || all.paths != output.paths) return false;
    for (const std::string& name : output.paths[0]) path_.push_back({false, name});
    // What is needed of items is what they store.
    if (query_.is_hidden(path_[0].name)) return false;
    if (segment_.settings().path_usable(path_)) return true;
    if (is_of_items(query_) && !json::is_system_property(path_[0].name))
        page_.answer.index_use.potential.push_back(metric_path(path_) + "/?");
    return false;
}

Result<bool> IndexOnly::feed() {
    const Clock& clock = page_.scope.clock;
    const int64_t began = clock.monotonic_us();
    if (!find_path()) return false;
    TRY(const bool possible, prepare());
    if (!possible) return false;
    TRY(const bool answered, path_.empty() ? feed_count() : feed_values());
    if (!answered) return false;
    AccessReport report;
    report.partition = segment_.partition;
    report.access = "index only";
    report.detail = text();
    report.candidates = entries_;
    report.loaded = loaded_;
    report.matched = matched_;
    page_.answer.index_us += clock.monotonic_us() - began;
    if (!path_.empty()) {
        auto& used = page_.answer.index_use.utilized;
        std::string name = metric_path(path_) + "/?";
        if (std::find(used.begin(), used.end(), name) == used.end())
            used.push_back(std::move(name));
    }
    page_.answer.accesses.push_back(std::move(report));
    return true;
}

Status IndexOnly::feed_item_at(std::string_view docref) {
    const auto decoded = Docref::from_bytes(docref);
    if (!decoded) return {};
    TRY(const auto documents,
        partition::load_documents(*segment_.source->partition, segment_.view(), {*decoded}));
    if (!documents[0]) return {};
    ++loaded_;
    SqlRows& item = pass_.rows_of(segment_);
    TRY(const auto document, json::decode_document(*documents[0]));
    TRY_STATUS(item.load(document, *decoded));
    TRY(const bool served, item.passes_served());
    if (!served) return {};
    ++matched_;
    ++page_.work_of(segment_.partition).index_entries;
    TRY_STATUS(pass_.run.feed(item.value(), item.arena(), pass_.rows));
    return pass_.keep_rows();
}

}  // namespace orrery::query
