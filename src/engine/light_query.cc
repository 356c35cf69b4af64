// Short queries on the thread that received them: no worker is woken for what takes microseconds.
#include "engine/light_query.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>

#include "base/errors.h"
#include "base/limits.h"
#include "query/compile.h"
#include "query/page.h"
#include "storage/light_view.h"

namespace orrery::engine {
namespace {

/// About a quarter of a millisecond.
constexpr uint64_t kSteps = 1000;
constexpr size_t kTextBytesMax = 4096;

/// Remembers by text which queries went beyond the budget: the next runs need not try, twice as
/// many after each further failure. Texts that share a place share what is remembered, which costs
/// time at most.
class HeavyTexts {
public:
    bool contains(std::string_view text) {
        std::atomic<uint16_t>& place = this->place(text);
        const uint16_t now = place.load(std::memory_order_relaxed);
        if (now % kLevel == 0) return false;
        place.store(static_cast<uint16_t>(now - 1), std::memory_order_relaxed);
        return true;
    }
    void failed(std::string_view text) {
        std::atomic<uint16_t>& place = this->place(text);
        const unsigned level =
            std::min<unsigned>(place.load(std::memory_order_relaxed) / kLevel + 1, kLevelMax);
        place.store(static_cast<uint16_t>(level * kLevel + (1U << (level - 1))),
                    std::memory_order_relaxed);
    }
    void succeeded(std::string_view text) {
        std::atomic<uint16_t>& place = this->place(text);
        if (place.load(std::memory_order_relaxed) != 0) place.store(0, std::memory_order_relaxed);
    }

private:
    static constexpr unsigned kLevel = 256;  ///< a place is level * kLevel + runs left
    static constexpr unsigned kLevelMax = 7;
    std::atomic<uint16_t>& place(std::string_view text) {
        return places_[std::hash<std::string_view>()(text) % places_.size()];
    }
    std::array<std::atomic<uint16_t>, 4096> places_{};
};

HeavyTexts& heavy_texts() {
    static HeavyTexts instance;
    return instance;
}

/// False: a worker must do it.
Result<bool> run(const Engine& engine, const catalog::Container& given, const QueryRequest& request,
                 storage::ReadBudget& budget, QueryAnswer& answer) {
    const Clock& clock = engine.clock();
    const int64_t started = clock.monotonic_us();
    TRY(const Engine::Routed routed, engine.route(given));
    const catalog::Container& container = *routed.container;
    auto [view, settings] = routed.view_and_settings();
    TRY(const auto compiled,
        query::compile(request.text, settings->indexing.computed, settings->space));
    TRY_STATUS(compiled->check_runnable());
    if (compiled->is_heavy()) return false;
    query::Environment environment;
    environment.clock = &clock;
    TRY(const auto parameters, query::Parameters::bind(*compiled, request.parameters, environment));
    if (request.over_container) TRY_STATUS(check_merge(container, *compiled, parameters));
    const auto ranges = ranges_of_query(container, *compiled, parameters, request.range);
    TRY_STATUS(engine.admit_query(ranges, request.terms));
    query::PageRequest page{.query = *compiled,
                            .parameters = parameters,
                            .partitions = {},
                            .range = request.range,
                            .full_epk = request.full_epk,
                            .view = storage::in_memory(*view, budget),
                            .settings = std::move(settings),
                            .clock = clock,
                            .position = {},
                            .rows_max = request.items_max,
                            .front = request.front,
                            .bytes_max = limits::kResponsePageBytesMax,
                            .deadline_us = INT64_MAX,
                            .cancelled = {},
                            .use_index = request.use_index,
                            .explain = request.explain,
                            .position_bytes_max = SIZE_MAX,
                            .owner = nullptr,
                            .parked = nullptr};
    for (const auto* range : ranges) page.partitions.push_back(range->partition.get());
    const int64_t compiled_at = clock.monotonic_us();
    TRY(answer.page, query::execute_page(page));
    // Who goes on with a position, and who notes a path to be sorted by, is a worker.
    if (!answer.page.position.empty() || !answer.page.wants_sorted_path.empty()) return false;
    const size_t touched = answer.page.work.empty() ? 0 : answer.page.work.back().partition;
    answer.touched = {ranges[touched]->id, ranges[touched]->partition->lsn()};
    engine.settle_query(answer, ranges, request);
    answer.compiled = compiled;
    answer.keyed = is_keyed(container, *compiled, parameters, request);
    answer.compile_us = compiled_at - started;
    answer.elapsed_us = clock.monotonic_us() - started;
    return true;
}

}  // namespace

std::optional<Result<QueryAnswer>> query_in_memory(const Engine& engine,
                                                   const catalog::Container& container,
                                                   const QueryRequest& request) {
    if (!request.continuation.empty() || request.text.size() > kTextBytesMax) return std::nullopt;
    if (heavy_texts().contains(request.text)) return std::nullopt;
    storage::ReadBudget budget{.steps_left = kSteps};
    QueryAnswer answer;
    Result<bool> done = run(engine, container, request, budget, answer);
    // An error that comes from the budget is none.
    if (budget.exceeded || (done.ok() && !*done)) {
        heavy_texts().failed(request.text);
        return std::nullopt;
    }
    heavy_texts().succeeded(request.text);
    if (!done.ok()) return Result<QueryAnswer>(std::move(done).take_status());
    return Result<QueryAnswer>(std::move(answer));
}

}  // namespace orrery::engine
