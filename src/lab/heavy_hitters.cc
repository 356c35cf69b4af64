#include "lab/heavy_hitters.h"

#include <algorithm>
#include <numeric>

namespace orrery::lab {

size_t HeavyHitters::take_lightest() {
    for (; ranked_next_ < ranked_.size(); ++ranked_next_) {
        const auto [weight, place] = ranked_[ranked_next_];
        if (weights_[place] != weight) continue;
        if (weight > changed_min_) break;
        return place;
    }
    ranked_.clear();
    for (size_t i = 0; i < weights_.size(); ++i) ranked_.emplace_back(weights_[i], i);
    const size_t kept = std::min(kRanked, ranked_.size());
    std::partial_sort(ranked_.begin(), ranked_.begin() + static_cast<std::ptrdiff_t>(kept),
                      ranked_.end());
    ranked_.resize(kept);
    ranked_next_ = 0;
    changed_min_ = INT64_MAX;
    return ranked_[0].second;
}

void HeavyHitters::add(uint64_t hash, std::string_view key, int64_t weight, Extra extra) {
    total_ += weight;
    extra_total_ += extra;
    if (const auto found = places_.find(hash); found != places_.end()) {
        weights_[found->second] += weight;
        note_weight(weights_[found->second]);
        extras_[found->second] += extra;
        return;
    }
    if (weights_.size() < capacity_) {
        places_.emplace(hash, weights_.size());
        weights_.push_back(weight + missed_max_);
        errors_.push_back(missed_max_);
        extras_.push_back(extra);
        hashes_.push_back(hash);
        keys_.emplace_back(key);
        return;
    }
    const size_t place = take_lightest();
    places_.erase(hashes_[place]);
    places_.emplace(hash, place);
    errors_[place] = std::max(weights_[place], missed_max_);
    weights_[place] = errors_[place] + weight;
    note_weight(weights_[place]);
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
        const bool both = other.places_.contains(hashes_[i]);
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
    for (auto& [hash, entry] : all) {
        places_.emplace(hash, weights_.size());
        weights_.push_back(entry.weight);
        errors_.push_back(entry.error);
        extras_.push_back(entry.extra);
        hashes_.push_back(hash);
        keys_.push_back(std::move(entry.key));
    }
}

}  // namespace orrery::lab
