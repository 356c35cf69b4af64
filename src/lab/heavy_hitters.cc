#include "lab/heavy_hitters.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include <absl/container/flat_hash_map.h>

namespace orrery::lab {

HeavyHitters::Place HeavyHitters::lightest() {
    if (heap_.size() != weights_.size()) {
        heap_.clear();
        for (size_t i = 0; i < weights_.size(); ++i)
            heap_.emplace_back(weights_[i], static_cast<Place>(i));
        std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
    while (heap_[0].first != weights_[heap_[0].second]) {
        const std::pair<int64_t, Place> moved(weights_[heap_[0].second], heap_[0].second);
        size_t at = 0;
        for (size_t child = 1; child < heap_.size(); child = 2 * at + 1) {
            if (child + 1 < heap_.size() && heap_[child + 1].first < heap_[child].first) ++child;
            if (moved.first <= heap_[child].first) break;
            heap_[at] = heap_[child];
            at = child;
        }
        heap_[at] = moved;
    }
    return heap_[0].second;
}

void HeavyHitters::put_slot(uint64_t hash, Place place) {
    if (slots_.empty()) slots_.resize(std::bit_ceil(2 * capacity_), kNone);
    size_t at = slot_of(hash);
    while (slots_[at] != kNone) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = place;
}

void HeavyHitters::remove_slot(uint64_t hash) {
    const size_t mask = slots_.size() - 1;
    size_t hole = slot_of(hash);
    while (hashes_[slots_[hole]] != hash) hole = (hole + 1) & mask;
    // What follows moves up, unless that would put it before its own slot.
    for (size_t at = (hole + 1) & mask; slots_[at] != kNone; at = (at + 1) & mask) {
        const size_t home = slot_of(hashes_[slots_[at]]);
        if (((at - home) & mask) < ((at - hole) & mask)) continue;
        slots_[hole] = slots_[at];
        hole = at;
    }
    slots_[hole] = kNone;
}

void HeavyHitters::append(uint64_t hash, std::string_view key, int64_t weight, int64_t error,
                          Extra extra) {
    put_slot(hash, static_cast<Place>(weights_.size()));
    weights_.push_back(weight);
    errors_.push_back(error);
    extras_.push_back(extra);
    hashes_.push_back(hash);
    keys_.emplace_back(key);
}

void HeavyHitters::add(uint64_t hash, std::string_view key, int64_t weight, Extra extra) {
    total_ += weight;
    extra_total_ += extra;
    if (const Place place = find(hash); place != kNone) {
        weights_[place] += weight;
        extras_[place] += extra;
        return;
    }
    if (weights_.size() < capacity_)
        return append(hash, key, weight + missed_max_, missed_max_, extra);
    const Place place = lightest();
    remove_slot(hashes_[place]);
    put_slot(hash, place);
    errors_[place] = std::max(weights_[place], missed_max_);
    weights_[place] = errors_[place] + weight;
    extras_[place] = extra;
    hashes_[place] = hash;
    keys_[place].assign(key);
}

int64_t HeavyHitters::error_max() const {
    if (weights_.size() < capacity_) return missed_max_;
    return std::max(missed_max_, *std::min_element(weights_.begin(), weights_.end()));
}

std::vector<HeavyHitters::Entry> HeavyHitters::top(size_t count) const {
    std::vector<size_t> order(weights_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [this](size_t a, size_t b) {
        return weights_[a] != weights_[b] ? weights_[a] > weights_[b] : keys_[a] < keys_[b];
    });
    std::vector<Entry> out;
    for (const size_t at : order) {
        if (out.size() == count) break;
        out.push_back({keys_[at], weights_[at], errors_[at], extras_[at]});
    }
    return out;
}

void HeavyHitters::merge(const HeavyHitters& other) {
    const int64_t missed_here = error_max();
    const int64_t missed_there = other.error_max();
    struct Sum {
        int64_t weight = 0;
        int64_t error = 0;
        std::string key;
        Extra extra;
    };
    absl::flat_hash_map<uint64_t, Sum> sums;
    for (size_t i = 0; i < weights_.size(); ++i) {
        const bool both = other.find(hashes_[i]) != kNone;
        sums[hashes_[i]] = {weights_[i] + (both ? 0 : missed_there),
                            errors_[i] + (both ? 0 : missed_there), keys_[i], extras_[i]};
    }
    for (size_t i = 0; i < other.weights_.size(); ++i) {
        const auto [place, fresh] = sums.try_emplace(other.hashes_[i]);
        if (fresh) place->second = {missed_here, missed_here, other.keys_[i], {}};
        place->second.extra += other.extras_[i];
        place->second.weight += other.weights_[i];
        place->second.error += other.errors_[i];
    }
    std::vector<std::pair<uint64_t, Sum>> all(sums.begin(), sums.end());
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return a.second.weight > b.second.weight; });
    int64_t missed = missed_here + missed_there;
    if (all.size() > capacity_) {
        missed = std::max(missed, all[capacity_].second.weight);
        all.resize(capacity_);
    }
    const int64_t sum = total_ + other.total_;
    Extra extra_sum = extra_total_;
    extra_sum += other.extra_total_;
    *this = HeavyHitters(capacity_);
    total_ = sum;
    extra_total_ = extra_sum;
    missed_max_ = missed;
    for (const auto& [hash, entry] : all)
        append(hash, entry.key, entry.weight, entry.error, entry.extra);
}

}  // namespace orrery::lab
