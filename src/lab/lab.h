#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "lab/observe.h"
#include "lab/recorder.h"
#include "lab/rules/report.h"
#include "lab/what_if/jobs.h"

namespace orrery::lab {

/// Answers questions about the design of containers. Reads the store: worker thread. Thread-safe.
class Lab {
public:
    Lab(engine::Engine& engine, Recorder& recorder)
        : engine_(engine),
          recorder_(recorder),
          ranking_(engine.store(), engine.clock()),
          what_if_(engine.clock()) {}

    /// What the rules say about all containers, or about one.
    Result<Report> report(const catalog::Container* only, const Thresholds& limits);
    /// The same about observations from elsewhere: one object or an array of them.
    Result<Report> judge(const json::Value& observations, const Thresholds& limits) const;
    Result<Observation> observe(const catalog::Container& container);
    Recorder& recorder() { return recorder_; }
    WhatIfJobs& what_if() { return what_if_; }
    /// The workload that a what-if request names: {"demo":"…"}, {"workload":{…}} or
    /// {"database":"…","container":"…"}.
    Result<Workload> workload(const json::Value& source) const;
    Result<Workload> recorded(const catalog::Container& container) const {
        return recorded_workload(engine_, recorder_, container);
    }

private:
    engine::Engine& engine_;
    Recorder& recorder_;
    StorageRanking ranking_;
    WhatIfJobs what_if_;
};

}  // namespace orrery::lab
