// How records become what is kept. Under the recorder's state mutex.
#include <algorithm>

#include "lab/recorder.h"

#include "engine/outcome.h"

namespace orrery::lab {
namespace {

constexpr int64_t kHours = 24;
constexpr int64_t kTogetherMs = 50;
constexpr size_t kPairsMax = 1000;

}  // namespace

void Recorder::apply(const engine::RequestRecord& record) const {
    sums_.add(record, [this](const UseSum& sum) { apply_sum(sum); });
    if (record.part) return;
    if (!record.inner)
        latencies_.add(static_cast<size_t>(record.operation), record.wall_seconds / 60,
                       record.duration_us);
    if (record.container == 0) return;
    if (record.operation != engine::OperationClass::kMetadata) {
        if (!engine::outcome::is_rate_limit(record.status))
            insight(record.container, record.wall_seconds).apply(record);
        if (!record.inner) apply_sequence(record);
    }
    // Operations of bulk requests have keys and charges of their own.
    if (record.key_hash != 0 && record.charge.units > 0) apply_key(record);
}

void Recorder::apply_sum(const UseSum& sum) const {
    const uint64_t throttled = engine::outcome::is_rate_limit(sum.status) ? sum.requests : 0;
    const bool placed = sum.container != 0 && sum.range != engine::RequestRecord::kNoRange;
    if (sum.inner) {
        insight(sum.container, sum.wall_seconds).apply(sum);
        // They may be refused on their own.
        if (throttled > 0 && placed)
            series_.add({sum.container, sum.range}, sum.wall_seconds, {}, 0, throttled,
                        sum.range_bytes);
        return;
    }
    if (placed) {
        series_.add({sum.container, sum.range}, sum.wall_seconds, sum.charge,
                    sum.part ? 0 : sum.requests, throttled, sum.range_bytes);
        insight(sum.container, sum.wall_seconds).apply_use(sum);
    }
    if (sum.part) return;
    if (sum.container != 0 && sum.operation != engine::OperationClass::kMetadata)
        insight(sum.container, sum.wall_seconds).apply(sum);
    CounterKey key{sum.container, sum.operation, sum.status};
    if (counters_.size() >= limits_.counters && !counters_.contains(key)) key.container = 0;
    Counter& counter = counters_[key];
    counter.requests += sum.requests;
    counter.charge += sum.charge;
    counter.request_bytes += sum.request_bytes;
    counter.response_bytes += sum.response_bytes;
}

void Recorder::apply_key(const engine::RequestRecord& record) const {
    const bool here = last_sketch_ != nullptr && last_keys_container_ == record.container &&
                      record.wall_seconds >= last_keys_from_ &&
                      record.wall_seconds < last_keys_from_ + 3600;
    if (here)
        last_keys_->last_second = record.wall_seconds;
    else
        find_sketch(record.container, record.wall_seconds);
    last_sketch_->add(record.key_hash, record.key_text(), record.charge.units,
                      {record.writes, record.grown_bytes});
}

void Recorder::find_sketch(uint64_t container, int64_t wall_seconds) const {
    const int64_t hour = wall_seconds / 3600;
    auto& keys = keys_[container];
    if (keys.hours.empty() && keys_.size() > limits_.containers) {
        auto oldest = keys_.end();
        for (auto it = keys_.begin(); it != keys_.end(); ++it)
            if (it->first != container &&
                (oldest == keys_.end() || it->second.last_second < oldest->second.last_second))
                oldest = it;
        keys_.erase(oldest);
    }
    keys.last_second = wall_seconds;
    const auto [place, fresh] = keys.hours.try_emplace(hour, kKeysPerHour);
    if (fresh) keys.hours.erase(keys.hours.begin(), keys.hours.lower_bound(hour - kHours + 1));
    last_keys_container_ = container;
    last_keys_from_ = hour * 3600;
    last_keys_ = &keys;
    last_sketch_ = &place->second;
}

Insight& Recorder::find_insight(uint64_t container, int64_t wall_seconds) const {
    const auto [place, fresh] = insights_.try_emplace(container, wall_seconds);
    if (fresh && insights_.size() > limits_.insights) {
        auto oldest = insights_.end();
        for (auto it = insights_.begin(); it != insights_.end(); ++it)
            if (it != place && (oldest == insights_.end() ||
                                it->second.last_seconds() < oldest->second.last_seconds()))
                oldest = it;
        insights_.erase(oldest);
    }
    last_container_ = container;
    last_insight_ = &place->second;
    return place->second;
}

void Recorder::apply_pair(const LastRequest& last, const engine::RequestRecord& record) const {
    const PairKey key{last.container, last.operation, record.container, record.operation};
    if (last_pair_ == nullptr || last_pair_key_ != key) {
        if (pairs_.size() >= kPairsMax && !pairs_.contains(key)) return;
        last_pair_key_ = key;
        last_pair_ = &pairs_[key];
    }
    ++last_pair_->first;
    last_pair_->second += record.charge.units;
}

void Recorder::apply_sequence(const engine::RequestRecord& record) const {
    using engine::OperationClass;
    const int64_t now_ms = record.wall_seconds * 1000 + record.wall_ms;
    if (record.connection != 0) {
        LastRequest& last = last_requests_[record.connection % kLastRequests];
        const bool same = last.connection == record.connection;
        const bool query = record.operation == OperationClass::kQuery;
        const bool soon = same && now_ms - last.at_ms <= kTogetherMs && now_ms >= last.at_ms;
        if (soon && (record.operation == OperationClass::kRead ||
                     (query && last.container != record.container)))
            apply_pair(last, record);
        uint32_t burst = 1;
        int64_t burst_ms = now_ms;
        if (query && same && !record.continued && last.operation == OperationClass::kQuery &&
            last.container == record.container && last.key_hash == record.key_hash &&
            record.key_hash != 0 && now_ms - last.burst_ms <= kTogetherMs &&
            now_ms >= last.burst_ms) {
            burst = last.burst + 1;
            burst_ms = last.burst_ms;
            if (burst >= 3)
                insight(record.container, record.wall_seconds).burst(record.key_text(), burst == 3);
        }
        last = {record.connection, record.container, now_ms, record.operation,
                record.key_hash,   burst_ms,         burst};
    }
    if (record.correlation != 0 && record.writes > 0 && record.key_hash != 0) {
        Related& related = related_[record.correlation % kLastRequests];
        const bool same =
            related.correlation == record.correlation && now_ms - related.at_ms <= kTogetherMs;
        if (!same) {
            related = {record.correlation, now_ms, record.key_hash, false,
                       std::string(record.key_text())};
            insight(record.container, record.wall_seconds).correlated_group();
        } else if (related.key_hash != record.key_hash && !related.several) {
            related.several = true;
            insight(record.container, record.wall_seconds)
                .correlated_keys(related.key, record.key_text());
        }
    }
}

}  // namespace orrery::lab
