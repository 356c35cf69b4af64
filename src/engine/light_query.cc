// Short queries on the thread that received them: no worker is woken for what takes microseconds.
#include "engine/light_query.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>

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

}  // namespace

std::optional<Result<QueryAnswer>> query_in_memory(const Engine& engine,
                                                   const catalog::Container& container,
                                                   const QueryRequest& request) {
    if (!request.continuation.empty() || request.text.size() > kTextBytesMax) return std::nullopt;
    if (heavy_texts().contains(request.text)) return std::nullopt;
    storage::ReadBudget budget{.steps_left = kSteps};
    Result<QueryAnswer> answer = engine.query_within(container, request, budget);
    // Whatever it says then, it has not read all it needs.
    if (budget.exceeded) {
        heavy_texts().failed(request.text);
        return std::nullopt;
    }
    heavy_texts().succeeded(request.text);
    return answer;
}

}  // namespace orrery::engine
