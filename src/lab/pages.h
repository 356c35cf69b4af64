#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "engine/engine.h"
#include "lab/recorder.h"
#include "lab/storage_ranking.h"

namespace orrery::lab {

/// What the recorder knows, written for machines and for the browser. Reads sizes from the store:
/// worker thread.
class Pages {
public:
    Pages(engine::Engine& engine, const Recorder& recorder)
        : engine_(engine), recorder_(recorder), ranking_(engine.store(), engine.clock()) {}

    /// Prometheus text format 0.0.4.
    std::string prometheus() const;

    /// {"now":…, "operations":[…], "containers":[…]}: the account over the last `minutes`.
    std::string account_json(int64_t minutes) const;

    /// The physical partitions of a container: sizes, provisioned RU/s, use per minute and per
    /// second.
    Result<std::string> container_json(const catalog::Container& container, int64_t minutes,
                                       int64_t seconds) const;

    enum class TopBy : uint8_t { kCharge, kStorage };
    /// The heaviest logical partitions. `hours`: how far charges are looked back.
    Result<std::string> top_json(const catalog::Container& container, TopBy by, int64_t hours,
                                 size_t count);

    /// [{"id":"0","sizeInKB":…,"documentCount":…,"partitionKeys":[{"partitionKey":[…],"sizeInKB":…}]}]:
    /// physical partitions as the service's own statistics show them, each with its largest keys.
    Result<std::string> statistics_json(const catalog::Container& container);

    static constexpr int64_t kMinutesMax = UseSeries::kMinutes;
    static constexpr int64_t kSecondsMax = 3600;
    static constexpr size_t kTopMax = StorageRanking::kKept;

private:
    engine::Engine& engine_;
    const Recorder& recorder_;
    StorageRanking ranking_;
};

}  // namespace orrery::lab
