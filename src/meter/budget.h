#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "meter/charge.h"
#include "meter/token_bucket.h"

/// Provisioned throughput at work: who is admitted, and what is left (docs/throughput.md).
namespace orrery::meter {

enum class Priority : uint8_t { kHigh, kLow };

/// What a request says about itself.
struct Traffic {
    Priority priority = Priority::kHigh;
    uint8_t bucket = 0;  ///< throughput bucket 1..5; 0: none
};

struct Verdict {
    bool admitted = true;
    bool burst = false;  ///< from banked tokens
    int64_t retry_after_ms = 0;
};

inline constexpr int64_t kUnitsPerUsPerRu = kUnitsPerRu / 1'000'000;
inline constexpr size_t kThroughputBuckets = 5;

/// What a pool is made from.
struct PoolRates {
    int64_t units_per_us = 0;  ///< the share of the throughput; 21 per RU/s
    bool autoscale = false;
    bool burst = false;  ///< bank unused tokens; only below 3,000 RU/s
    std::array<uint8_t, kThroughputBuckets> bucket_percent{};  ///< 0: not defined
    uint8_t default_bucket = 0;                                ///< 1..5; 0: none
    friend bool operator==(const PoolRates&, const PoolRates&) = default;
};

/// The throughput of one physical partition, or one such part of a shared database's throughput.
/// Thread-safe, lock-free.
class Pool {
public:
    /// Begins with a full second, or with what `before` has left and has seen.
    Pool(const PoolRates& rates, int64_t now_us, const Pool* before);

    const PoolRates& rates() const { return rates_; }
    int64_t tokens(int64_t now_us) const { return main().tokens(now_us); }

    /// Admits while tokens are left; low priority only while there are plenty.
    Verdict admit(int64_t now_us, const Traffic& traffic) const;
    /// Takes the charge of admitted work; the pool may be in debt then.
    void settle(int64_t now_us, const Traffic& traffic, int64_t units);
    /// True when background work may run: it leaves half of a second's tokens.
    bool has_leftovers(int64_t now_us) const;

    /// RU/s that autoscale has scaled to: the mean use of the last five seconds, at least a tenth
    /// of the maximum. The share itself when it is not autoscale. In u per microsecond.
    int64_t scaled_units_per_us(int64_t now_us) const;

private:
    /// Second number (24 bits) and thousands of u used in it (40 bits), in one word.
    static constexpr size_t kSeconds = 8;

    const TokenBucket& main() const { return rates_.burst ? bank_ : regular_; }
    void count(int64_t now_us, int64_t units);
    uint8_t bucket_of(const Traffic& traffic) const;

    const PoolRates rates_;
    TokenBucket regular_;
    TokenBucket bank_;         ///< burst: unused tokens of up to five minutes
    TokenBucket burst_speed_;  ///< burst: at most 3,000 RU/s in all
    std::vector<std::unique_ptr<TokenBucket>> buckets_;  ///< by number - 1; null: not defined
    std::array<std::atomic<uint64_t>, kSeconds> used_{};
};

/// What a physical partition may use. The pool can be exchanged while requests run (another
/// throughput, a split); a charge that meets the exchange may be booked on the old one. Without a
/// pool everything is admitted. Thread-safe; admission takes no lock.
class PartitionBudget {
public:
    void install(std::shared_ptr<Pool> pool);
    /// Null: nothing was installed yet. Valid as long as this budget.
    Pool* pool() const { return pool_.load(std::memory_order_acquire); }
    std::shared_ptr<Pool> shared_pool() const;
    /// A child of a split begins with what its parent has left.
    void inherit(const PartitionBudget& parent) { install(parent.shared_pool()); }

    Verdict admit(int64_t now_us, const Traffic& traffic) const {
        const Pool* current = pool();
        return current == nullptr ? Verdict{} : current->admit(now_us, traffic);
    }
    void settle(int64_t now_us, const Traffic& traffic, Charge charge) const {
        if (Pool* current = pool()) current->settle(now_us, traffic, charge.units);
    }
    bool has_leftovers(int64_t now_us) const {
        const Pool* current = pool();
        return current == nullptr || current->has_leftovers(now_us);
    }
    /// Work that is done but paid in the background.
    void owe(Charge charge) { owed_.fetch_add(charge.units, std::memory_order_relaxed); }
    /// Pays of it at most a tenth of a second's throughput; once a second.
    void pay_owed(int64_t now_us);
    Charge owed() const { return {owed_.load(std::memory_order_relaxed)}; }

    /// Provisioned RU/s (autoscale: the maximum); 0 without a pool.
    double rate_ru() const;
    /// What autoscale has scaled to.
    double scaled_ru(int64_t now_us) const;

private:
    std::atomic<Pool*> pool_{nullptr};
    std::atomic<int64_t> owed_{0};
    mutable std::mutex mutex_;
    /// Former pools stay here, because a request may still look at them. Changes are rare.
    std::vector<std::shared_ptr<Pool>> kept_;  // guarded by mutex_
};

}  // namespace orrery::meter
