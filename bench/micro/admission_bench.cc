// What admission of one request costs: look at the budget, and pay afterwards.

#include <benchmark/benchmark.h>

#include "base/clock.h"
#include "meter/budget.h"

namespace orrery::meter {
namespace {

PartitionBudget& budget_with(PoolRates rates) {
    static PartitionBudget budget;
    const SystemClock clock;
    rates.units_per_us = 10'000 * kUnitsPerUsPerRu;
    budget.install(std::make_shared<Pool>(rates, clock.monotonic_us(), nullptr));
    return budget;
}

/// With the reading of the clock that a request takes anyway.
void admit_and_settle(benchmark::State& state) {
    static PartitionBudget& budget = budget_with({});
    const SystemClock clock;
    for (auto _ : state) {
        const int64_t now = clock.monotonic_us();
        benchmark::DoNotOptimize(budget.admit(now, {}));
        budget.settle(now, {}, Charge{1000});
    }
}
BENCHMARK(admit_and_settle)->Threads(1)->Threads(2);

void admit_only(benchmark::State& state) {
    static PartitionBudget& budget = budget_with({});
    int64_t now = 0;
    for (auto _ : state) benchmark::DoNotOptimize(budget.admit(++now, {}));
}
BENCHMARK(admit_only);

void refuse(benchmark::State& state) {
    static PartitionBudget& budget = budget_with({});
    const SystemClock clock;
    budget.settle(clock.monotonic_us(), {}, Charge{kUnitsPerRu * 1'000'000});
    for (auto _ : state) benchmark::DoNotOptimize(budget.admit(clock.monotonic_us(), {}));
}
BENCHMARK(refuse);

}  // namespace
}  // namespace orrery::meter

BENCHMARK_MAIN();
