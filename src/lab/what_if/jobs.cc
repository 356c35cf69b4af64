#include "lab/what_if/jobs.h"

#include <algorithm>

#include "base/errors.h"
#include "base/worker_pool.h"
#include "lab/described.h"

namespace orrery::lab {

WhatIfJobs::~WhatIfJobs() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
        for (const auto& job : jobs_) job->cancelled = true;
    }
    if (thread_.joinable()) thread_.join();
}

Result<uint64_t> WhatIfJobs::start(Request request) {
    auto job = std::make_shared<Job>();
    job->request = std::move(request);
    job->proposals = propose_candidates(job->request.workload, kCandidatesMax);
    auto& candidates = job->request.candidates;
    if (candidates.empty())
        for (const auto& proposal : job->proposals) {
            if (candidates.size() == 4) break;
            candidates.push_back(proposal.key_paths);
        }
    if (candidates.empty())
        return errors::bad_request(
            "The workload shows no property that could be a partition key; name candidates.");
    if (candidates.size() > kCandidatesMax)
        return errors::bad_request("At most 8 candidates can be compared in one run.");
    job->steps = steps_of_replay(job->request.workload) * candidates.size();
    const std::lock_guard lock(mutex_);
    if (stop_) return errors::bad_request("The server is stopping.");
    const auto waiting = std::count_if(
        jobs_.begin(), jobs_.end(), [](const auto& one) { return one->state == State::kWaiting; });
    if (static_cast<size_t>(waiting) >= kWaitingMax)
        return errors::bad_request("Four what-if runs are waiting already; cancel one, or wait.");
    job->id = next_++;
    jobs_.push_back(job);
    while (jobs_.size() > kKept && jobs_.front()->state != State::kRunning &&
           jobs_.front()->state != State::kWaiting)
        jobs_.pop_front();
    if (!running_) {
        if (thread_.joinable()) thread_.join();  // it has nothing left to do
        running_ = true;
        thread_ = std::thread([this] {
            set_thread_name("what-if");
            run();
        });
    }
    return job->id;
}

void WhatIfJobs::run() {
    while (true) {
        std::shared_ptr<Job> job;
        {
            const std::lock_guard lock(mutex_);
            for (const auto& one : jobs_)
                if (job == nullptr && one->state == State::kWaiting) job = one;
            if (job == nullptr || stop_) {
                running_ = false;
                return;
            }
            job->state = State::kRunning;
            job->started_us = clock_.monotonic_us();
        }
        carry_out(*job);
    }
}

void WhatIfJobs::carry_out(Job& job) {
    const ReplayControl control{&job.cancelled, &job.done};
    State state = State::kDone;
    std::string error;
    for (const auto& candidate : job.request.candidates) {
        auto outcome = replay(job.request.workload, candidate, job.request.scale, control);
        if (!outcome.ok()) {
            state = job.cancelled ? State::kCancelled : State::kFailed;
            error = outcome.error().message;
            break;
        }
        const std::lock_guard lock(mutex_);
        job.outcomes.push_back(std::move(outcome).value());
    }
    const std::lock_guard lock(mutex_);
    job.state = state;
    job.error = std::move(error);
    job.ended_us = clock_.monotonic_us();
    // Items and requests are not needed any more, and may be large.
    job.request.workload.items.clear();
    job.request.workload.items.shrink_to_fit();
    job.request.workload.operations.clear();
}

std::shared_ptr<WhatIfJobs::Job> WhatIfJobs::find(uint64_t id) const {
    for (const auto& job : jobs_)
        if (job->id == id) return job;
    return nullptr;
}

Status WhatIfJobs::cancel(uint64_t id) {
    const std::lock_guard lock(mutex_);
    const auto job = find(id);
    if (job == nullptr)
        return Status(
            errors::resource_not_found("There is no what-if run " + std::to_string(id) + "."));
    job->cancelled = true;
    if (job->state == State::kWaiting) job->state = State::kCancelled;
    return {};
}

Result<std::string> WhatIfJobs::json(uint64_t id) const {
    const std::lock_guard lock(mutex_);
    const auto job = find(id);
    if (job == nullptr)
        return errors::resource_not_found("There is no what-if run " + std::to_string(id) + ".");
    constexpr std::array<std::string_view, 5> kNames = {"waiting", "running", "done", "cancelled",
                                                        "failed"};
    JsonText out;
    out.begin_object()
        .member("id", job->id)
        .member("state", kNames[static_cast<size_t>(job->state)]);
    out.member("progress",
               job->state == State::kDone
                   ? 1.0
                   : std::min(1.0, static_cast<double>(job->done.load()) /
                                       static_cast<double>(std::max<uint64_t>(1, job->steps))));
    if (!job->error.empty()) out.member("error", job->error);
    out.member("elapsedMs", ((job->ended_us > 0     ? job->ended_us
                              : job->started_us > 0 ? clock_.monotonic_us()
                                                    : 0) -
                             job->started_us) /
                                1000);
    out.name("workload")
        .begin_object()
        .member("name", job->request.workload.name)
        .member("note", job->request.workload.note);
    out.member("operationsPerSecond", job->request.workload.operations_per_second);
    out.member("bytes", job->request.workload.bytes_total).end_object();
    out.name("scale")
        .begin_object()
        .member("data", job->request.scale.data)
        .member("traffic", job->request.scale.traffic);
    out.member("throughput", job->request.scale.throughput).end_object();
    out.name("proposals").raw(candidates_json(job->proposals)).name("candidates").begin_array();
    for (const auto& candidate : job->request.candidates) {
        out.begin_array();
        for (const auto& path : candidate) out.value(path);
        out.end_array();
    }
    out.end_array().name("outcomes").begin_array();
    for (const auto& outcome : job->outcomes) out.raw(outcome_json(outcome));
    out.end_array().end_object();
    return out.take();
}

}  // namespace orrery::lab
