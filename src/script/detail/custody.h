#pragma once

#include <atomic>
#include <cstdint>

namespace orrery::script::detail {

/// Who may touch what belongs to a run: its own thread while that does the server's work; nobody
/// while it is inside JavaScript; and, once it does not come out in time, whoever takes it over.
/// Internally synchronised: what the thread wrote before enter() is seen by who takes over, and the
/// thread goes on only after that is done.
class Custody {
public:
    /// The thread goes into JavaScript. False: it has been given up and must not.
    bool enter() {
        // While the server's work is done, nobody else changes this.
        const uint64_t now = state_.load(std::memory_order_relaxed);
        if ((now & kPlaces) != kServer) return false;
        state_.store((now + kOneVisit) | kScript, std::memory_order_release);
        return true;
    }
    /// It comes out again. False: it has been given up, and the request has its answer.
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
