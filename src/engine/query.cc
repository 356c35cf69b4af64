// Queries: over pinned items where the filter names them, else over every item in scope.
#include "query/query.h"

#include <algorithm>

#include "base/errors.h"
#include "base/limits.h"
#include "engine/engine.h"
#include "engine/item_json.h"
#include "json/document.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::engine {
namespace {

/// A page that has worked this long is returned with what it has.
constexpr int64_t kPageBudgetUs = 2'000'000;
constexpr uint32_t kScanPageItems = 200;

/// Collects one page of rows.
class PageBuilder {
public:
    PageBuilder(const query::CompiledQuery& compiled, const QueryRequest& request, QueryAnswer& answer)
        : compiled_(compiled), request_(request), answer_(answer) {}

    bool full() const {
        return answer_.rows.size() >= request_.items_max || answer_.output_bytes >= limits::kResponsePageBytesMax;
    }
    void add(const json::Value& row, uint64_t item_bytes) {
        std::string text = json::to_text(
            row, compiled_.returns_whole_item() ? json::NumberForm::kAsWritten : json::NumberForm::kCanonical);
        answer_.output_bytes += text.size();
        returned_bytes_ += compiled_.returns_whole_item() ? item_bytes : text.size();
        answer_.rows.push_back(std::move(text));
    }
    uint64_t returned_bytes() const { return returned_bytes_; }

private:
    const query::CompiledQuery& compiled_;
    const QueryRequest& request_;
    QueryAnswer& answer_;
    uint64_t returned_bytes_ = 0;
};

/// An item ready for evaluation.
struct LoadedItem {
    std::string text;
    json::Arena arena;
    json::Value value;
    uint64_t bytes = 0;
};

Status load(const catalog::Container& container, const partition::StoredItem& item, LoadedItem& out) {
    TRY(const auto document, json::decode_document(*item.document));
    out.bytes = document.text.size();
    out.text = item_json(container, item);
    out.arena.clear();
    json::ParseOptions options;
    options.depth_max = limits::kNestingDepthMax + 1;
    TRY(out.value, json::parse(out.text, out.arena, options));
    return {};
}

}  // namespace

/// One page in the making.
struct Engine::QueryPage {
    QueryPage(const catalog::Container& the_container, const QueryRequest& the_request,
              const query::CompiledQuery& the_query, const query::Parameters& the_parameters, QueryAnswer& the_answer)
        : container(the_container),
          request(the_request),
          compiled(the_query),
          parameters(the_parameters),
          answer(the_answer),
          rows(the_query, the_request, the_answer) {}

    const catalog::Container& container;
    const QueryRequest& request;
    const query::CompiledQuery& compiled;
    const query::Parameters& parameters;
    ContinuationPosition position;  ///< where the page starts; updated to where it ends
    QueryAnswer& answer;
    PageBuilder rows;
    int64_t deadline_us = 0;
    std::string skip_docref;     ///< item whose first rows went out with an earlier page …
    uint64_t skip_rows = 0;      ///< … and how many
    std::string partial_item;    ///< item whose last rows are left for the next page
    bool more = false;
    meter::Charge charge;

    bool cancelled() const { return request.cancelled && request.cancelled(); }
};

/// The items that the filter pins, read one by one; nullopt when it pins none or lacks their keys.
Result<std::optional<std::vector<partition::StoredItem>>> Engine::pinned_items(QueryPage& page) const {
    const auto& key = page.container.settings->key;
    const auto candidates = query::point_candidates(page.compiled, page.parameters, key.member_paths);
    if (!candidates) return std::optional<std::vector<partition::StoredItem>>();
    std::vector<std::pair<std::string, const std::string*>> pins;  // EPK, id
    for (const auto& candidate : *candidates) {
        std::string epk;
        if (candidate.key && candidate.key->size() == key.paths.size()) {
            auto computed = partition::effective_partition_key(key, *candidate.key);
            if (!computed.ok()) continue;  // no item can have such a key
            epk = std::move(computed).value();
        } else if (page.request.full_epk) {
            epk = *page.request.full_epk;
        } else {
            return std::optional<std::vector<partition::StoredItem>>();
        }
        if (page.request.range.contains(epk)) pins.emplace_back(std::move(epk), &candidate.id);
    }
    std::vector<partition::StoredItem> items;
    for (const auto& [epk, id] : pins) {
        const auto& range = page.container.ranges->of_epk(epk);
        page.answer.touched = {range.id, range.partition->lsn()};
        auto read = range.partition->read(epk, *id, "");
        if (read.has_item) items.push_back(std::move(read.item));
        else if (!read.status.ok() && read.status.error().http_status != 404) return std::move(read.status);
    }
    meter::QueryWork work;
    work.seeks = std::max<uint64_t>(1, pins.size());
    work.loaded_items = items.size();
    page.charge += meter::query_partition(work);
    return std::optional(std::move(items));
}

/// Calls `each` with every item in scope from the page's position on, until it returns false, the
/// time is over or the client has gone. True when all items were seen.
Result<bool> Engine::scan(QueryPage& page,
                          const std::function<Result<bool>(const partition::StoredItem&)>& each) const {
    const auto view = deps_.store.view();
    const auto ranges = page.container.ranges->overlapping(page.request.range);
    std::string resume = page.position.docref;
    for (const auto* range : ranges) {
        const std::string end =
            partition::docref_prefix(page.container.settings->key, range->partition->identity().range.max);
        if (!resume.empty() && range != ranges.back() && end < std::string_view(resume).substr(0, end.size())) continue;
        page.answer.touched = {range->id, range->partition->lsn()};
        meter::QueryWork work;
        work.seeks = page.request.full_epk ? 1 : 0;
        const auto charge = [&] { page.charge += meter::query_partition(work); };
        for (;;) {
            partition::FeedRequest request;
            request.range = page.request.range;
            request.resume_after = resume;
            request.items_max = kScanPageItems;
            TRY(const auto feed, range->partition->read_feed(*view, request));
            for (const auto& item : feed.items) {
                ++work.loaded_items;
                TRY(const bool go_on, each(item));
                if (!go_on) {
                    charge();
                    return false;
                }
                page.position.docref = std::string(item.docref.bytes());
                page.position.rows_done = 0;
            }
            if (feed.resume_after.empty()) break;
            resume = feed.resume_after;
            page.position.docref = resume;
            if (page.cancelled() || deps_.clock.monotonic_us() > page.deadline_us) {
                charge();
                return false;
            }
        }
        charge();
    }
    return true;
}

/// Rows as items come; the page ends in the middle of the scan.
Status Engine::stream_rows(QueryPage& page) const {
    LoadedItem loaded;
    std::vector<json::Value> rows;
    TRY(const bool complete, scan(page, [&](const partition::StoredItem& item) -> Result<bool> {
        if (page.rows.full()) return false;
        TRY_STATUS(load(page.container, item, loaded));
        rows.clear();
        TRY_STATUS(query::run_item(page.compiled, page.parameters, loaded.value, loaded.arena, rows));
        page.answer.retrieved_items++;
        page.answer.retrieved_bytes += loaded.bytes;
        const bool same_item = item.docref.bytes() == page.skip_docref;
        uint64_t index = same_item ? page.skip_rows : 0;
        for (; index < rows.size(); ++index) {
            if (page.rows.full()) {
                // The item's other rows come with the next page, which starts with this item again.
                page.position.rows_done = index;
                page.partial_item = std::string(item.docref.bytes());
                return false;
            }
            page.rows.add(rows[index], loaded.bytes);
        }
        return true;
    }));
    page.more = !complete;
    return {};
}

/// Queries whose rows are known only at the end: computed whole, the page cut out of the result.
Status Engine::collect_rows(QueryPage& page, std::optional<std::vector<partition::StoredItem>> pinned) const {
    query::QueryRun run(page.compiled, page.parameters);
    json::Arena result_arena;
    LoadedItem loaded;
    uint64_t index = 0;
    const uint64_t skip = page.position.rows_done;
    std::vector<json::Value> rows;
    const auto take = [&](uint64_t item_bytes) {
        for (const auto& row : rows) {
            if (index++ < skip) continue;
            if (page.rows.full()) {
                page.more = true;
                return;
            }
            page.rows.add(row, item_bytes);
            page.position.rows_done = index;
        }
    };
    const auto feed = [&](const partition::StoredItem& item) -> Result<bool> {
        TRY_STATUS(load(page.container, item, loaded));
        page.answer.retrieved_items++;
        page.answer.retrieved_bytes += loaded.bytes;
        rows.clear();
        TRY_STATUS(run.feed(loaded.value, loaded.arena, rows));
        take(loaded.bytes);
        return !run.is_done() && !page.more;
    };
    if (pinned) {
        for (const auto& item : *pinned) {
            TRY(const bool go_on, feed(item));
            if (!go_on) break;
        }
    } else if (page.compiled.reads_items()) {
        page.deadline_us = std::numeric_limits<int64_t>::max();
        TRY(const bool complete, scan(page, feed));
        if (!complete && page.cancelled()) return Status(errors::request_timeout("The client has gone."));
    }
    if (!page.more) {
        rows.clear();
        TRY_STATUS(run.finish(result_arena, rows));
        take(0);
    }
    page.position.docref.clear();
    return {};
}

Result<QueryAnswer> Engine::query(const catalog::Container& container, const QueryRequest& request) const {
    const int64_t started = deps_.clock.monotonic_us();
    TRY(const auto compiled, query::compile(request.text));
    query::Environment environment;
    environment.clock = &deps_.clock;
    TRY(const auto parameters, query::Parameters::bind(*compiled, request.parameters, environment));
    const std::string parameter_text =
        request.parameters.is_array() ? json::to_text(request.parameters) : std::string();
    const uint64_t scope = scope_hash(container, request.range, request.text, parameter_text);

    QueryAnswer answer;
    answer.touched = {container.ranges->overlapping(request.range).front()->id, 0};
    QueryPage page(container, request, *compiled, parameters, answer);
    page.deadline_us = started + kPageBudgetUs;
    if (!request.continuation.empty()) {
        TRY(page.position, continuations_.decode(request.continuation, scope));
        page.skip_docref = page.position.partial_docref;
        page.skip_rows = page.position.rows_done;
    }
    page.position.scope_hash = scope;
    TRY(auto pinned, pinned_items(page));
    if (pinned || !compiled->is_streaming())
        TRY_STATUS(collect_rows(page, std::move(pinned)));
    else
        TRY_STATUS(stream_rows(page));
    if (page.more) {
        page.position.partial_docref = page.partial_item;
        answer.continuation = continuations_.encode(page.position);
    }
    answer.charge = page.charge + meter::query_bytes(answer.retrieved_bytes, page.rows.returned_bytes());
    if (page.charge.units == 0) answer.charge += meter::query_partition({});
    answer.elapsed_us = deps_.clock.monotonic_us() - started;
    return answer;
}

}  // namespace orrery::engine
