#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "lab/what_if/replay.h"

namespace orrery::lab {

/// What-if runs: one at a time on a thread of their own, which exists only while there is work.
/// Internally locked.
class WhatIfJobs {
public:
    static constexpr size_t kKept = 8;
    static constexpr size_t kWaitingMax = 4;
    static constexpr size_t kCandidatesMax = 8;

    explicit WhatIfJobs(const Clock& clock) : clock_(clock) {}
    /// Cancels what runs and waits for it.
    ~WhatIfJobs();

    struct Request {
        Workload workload;
        std::vector<std::vector<std::string>> candidates;  ///< empty: the best proposals
        Scale scale;
    };
    /// The run's number. A rate limit when too many wait.
    Result<uint64_t> start(Request request);
    /// {"id":…,"state":"waiting|running|done|cancelled|failed","progress":0…1,"outcomes":[…]}, or
    /// not found.
    Result<std::string> json(uint64_t id) const;
    Status cancel(uint64_t id);

private:
    enum class State : uint8_t { kWaiting, kRunning, kDone, kCancelled, kFailed };
    struct Job {
        uint64_t id = 0;
        Request request;
        std::vector<Candidate> proposals;
        State state = State::kWaiting;
        std::string error;
        std::vector<ReplayOutcome> outcomes;
        std::atomic<bool> cancelled{false};
        std::atomic<uint64_t> done{0};
        uint64_t steps = 1;
        int64_t started_us = 0;
        int64_t ended_us = 0;
    };

    void run();
    void carry_out(Job& job);
    std::shared_ptr<Job> find(uint64_t id) const;

    const Clock& clock_;
    mutable std::mutex mutex_;
    std::deque<std::shared_ptr<Job>> jobs_;  // newest last
    uint64_t next_ = 1;
    bool running_ = false;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace orrery::lab
