#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"
#include "lab/rules/observation.h"

/// What a container costs in the service, by its published US list prices, in whole micro-dollars.
namespace orrery::lab {

using MicroDollars = int64_t;

// Prices of one RU/s for one hour.
inline constexpr MicroDollars kManualHour = 80;
inline constexpr MicroDollars kAutoscaleHour = 120;
inline constexpr MicroDollars kMultiWriteHour = 160;  ///< manual or autoscale
/// Of one GB for one month in one region.
inline constexpr MicroDollars kStorageGbMonth = 250'000;
inline constexpr MicroDollars kContinuousBackup30GbMonth = 200'000;
/// RU that one micro-dollar buys without provisioned throughput.
inline constexpr int64_t kServerlessRuPerMicroDollar = 4;
inline constexpr int64_t kHoursPerMonth = 730;

enum class Backup : uint8_t { kPeriodic, kContinuous7, kContinuous30 };

/// What is to be paid for.
struct CostInput {
    int64_t peak_ru_per_second = 0;  ///< the most that a second needs
    int64_t ru_per_month = 0;        ///< used in all
    /// Peak RU/s of each hour that is known; stands for the whole month. Empty:
    /// `hourly_peak_percent`.
    std::vector<int64_t> hourly_peaks;
    int64_t hourly_peak_percent = 100;  ///< mean of the hours' peaks, of the peak
    int64_t storage_mb = 0;
    int64_t regions = 1;
    bool multi_region_writes = false;
    bool zone_redundant = false;
    bool free_tier = false;
    Backup backup = Backup::kPeriodic;
};

struct CostOption {
    std::string name;  ///< manual, autoscale, serverless, reserved1y, reserved3y
    bool possible = true;
    std::string why_not;          ///< !possible
    int64_t throughput_ru = 0;    ///< RU/s to provision; serverless: 0
    MicroDollars throughput = 0;  ///< per month
    MicroDollars storage = 0;
    MicroDollars backup = 0;
    MicroDollars total() const { return throughput + storage + backup; }
};
struct CostComparison {
    CostInput input;
    std::vector<CostOption> options;
    size_t cheapest = 0;
    /// What the cheapest saves against the dearest that is possible.
    MicroDollars saves = 0;
};

/// Provisioned RU/s over so many hours.
MicroDollars manual_cost(int64_t ru, int64_t hours, int64_t regions, bool multi_write,
                         bool zone_redundant);
/// Each hour at its peak, a tenth of the maximum at least.
MicroDollars autoscale_cost(int64_t ru_max, const std::vector<int64_t>& peaks, int64_t regions,
                            bool multi_write);
MicroDollars serverless_cost(int64_t ru);
MicroDollars storage_cost(int64_t storage_mb, int64_t regions);
/// The manual price of `hours` with a reservation; `years` 1 or 3. Tiers are marginal.
MicroDollars reserved_cost(int64_t ru, int64_t hours, int64_t regions, bool multi_write, int years);

CostComparison compare_costs(const CostInput& input);
/// From what was measured; a bad request when nothing was.
Result<CostInput> measured_cost_input(const Observation& observation);
/// From a form: members named as in CostInput, in camel case. A bad request that names what is
/// wrong.
Result<CostInput> read_cost_input(const json::Value& form);
std::string cost_json(const CostComparison& comparison);
/// "$1,234.56"
std::string dollars(MicroDollars amount);

/// What so many RU are worth in the container's present mode.
MicroDollars worth_of_ru(const Observation& observation, double ru);

}  // namespace orrery::lab
