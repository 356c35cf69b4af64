#pragma once

#include <atomic>
#include <cstdint>

namespace orrery::script::detail {

/// Decides who may touch the state of a run: its own thread while it does the server's work; nobody
/// while it is inside JavaScript; the thread that takes it over, once it does not come out in time.
/// Internally synchronised: the thread that takes over sees what the run's thread wrote before
/// enter(), and the run's thread goes on only after the take-over is done.
class Custody {
public:
    /// The thread enters JavaScript. False: it was given up and must not enter.
    bool enter() {
        // While the server's work is done, nobody else changes this.
        const uint64_t now = state_.load(std::memory_order_relaxed);
        if ((now & kPlaces) != kServer) return false;
        state_.store((now + kOneVisit) | kScript, std::memory_order_release);
        return true;
    }
    /// The thread leaves JavaScript. False: it was given up, and the request has been answered.
    bool leave() {
        uint64_t now = state_.load(std::memory_order_relaxed);
        if ((now & kPlaces) == kScript &&
            state_.compare_exchange_strong(now, now & ~kPlaces, std::memory_order_acq_rel))
            return true;
        while (((now = state_.load(std::memory_order_acquire)) & kPlaces) == kTaken)
            state_.wait(now, std::memory_order_acquire);
        return false;
    }
    bool given_up() const { return (state_.load(std::memory_order_acquire) & kPlaces) == kGivenUp; }

    // For another thread.

    /// Names the visit to JavaScript that lasts; 0: the thread is not there.
    uint64_t visit() const {
        const uint64_t now = state_.load(std::memory_order_relaxed);
        return (now & kPlaces) == kScript ? now : 0;
    }
    /// True: that visit still lasts, and the thread cannot leave before give_up().
    bool take(uint64_t visit) {
        return state_.compare_exchange_strong(visit, (visit & ~kPlaces) | kTaken,
                                              std::memory_order_acq_rel);
    }
    void give_up() {
        state_.store(kGivenUp, std::memory_order_release);
        state_.notify_all();
    }

private:
    // The place in the low bits, above it the number of visits.
    static constexpr uint64_t kServer = 0;
    static constexpr uint64_t kScript = 1;
    static constexpr uint64_t kTaken = 2;
    static constexpr uint64_t kGivenUp = 3;
    static constexpr uint64_t kPlaces = 3;
    static constexpr uint64_t kOneVisit = 4;
    std::atomic<uint64_t> state_{kServer};
};

}  // namespace orrery::script::detail
