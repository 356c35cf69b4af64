#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "catalog/catalog.h"
#include "engine/facts.h"
#include "partition/changes.h"

namespace orrery::engine {

class Engine;

/// Fills materialized views from the logs of their sources, on a thread of its own. Every change
/// makes the view agree with the item as it is now, so that a change applied twice does no harm:
/// positions are kept now and then, and after a crash it goes on from the last one. Internally
/// locked.
class MaterializedViewKeeper {
public:
    using State = MaterializedViewFacts;

    explicit MaterializedViewKeeper(Engine& engine) : engine_(engine) {}
    ~MaterializedViewKeeper() { stop(); }

    void start();
    void stop();  ///< Idempotent.

    /// Nothing: not a view, or not looked at yet.
    std::optional<State> state(const catalog::ContainerRid& view) const;

private:
    /// One view at work; the keeper's thread only.
    struct Work {
        catalog::MaterializedViewProgress progress;
        catalog::MaterializedViewProgress kept;
        int64_t kept_us = 0;
        int64_t behind_since_us = 0;  ///< 0: it is not
    };
    /// What a change does to the view.
    struct Step {
        std::string id;
        std::string epk;                  ///< where its item belongs; empty: nowhere
        std::string body;                 ///< the item
        std::vector<std::string> leaves;  ///< keys under which it must not be any more
    };

    void loop();
    /// True: there was something to do.
    Result<bool> advance(const catalog::MaterializedViewState& view, Work& work);
    Result<bool> advance_range(const catalog::MaterializedViewState& view,
                               const catalog::PartitionRange& range, Work& work);
    Result<Step> step_of(const catalog::MaterializedViewState& view,
                         const partition::Change& change) const;
    Result<std::vector<std::string>> keys_of(const catalog::Container& view,
                                             const std::string& id) const;
    Status apply(const catalog::ContainerPtr& view, std::vector<Step> steps);
    Status keep(const catalog::MaterializedViewState& view, Work& work, bool at_once);
    void note_refusal(const catalog::ContainerRid& view, const std::string& why);
    /// True: it is time to stop.
    bool pause(int64_t milliseconds);

    Engine& engine_;
    std::map<uint64_t, Work> works_;  // by the view's whole rid; the keeper's thread only
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    bool stop_ = false;                 // guarded by mutex_
    std::map<uint64_t, State> states_;  // likewise
    std::thread thread_;
};

}  // namespace orrery::engine
