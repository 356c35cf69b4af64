#include "cli/workload.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <stdexcept>

namespace orrery::cli {
namespace {

constexpr double kTheta = 0.99;

uint64_t scramble(uint64_t v) {
    v = (v ^ (v >> 33)) * 0xff51afd7ed558ccdULL;
    v = (v ^ (v >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return v ^ (v >> 33);
}

}  // namespace

Workload::Workload(const WorkloadOptions& options)
    : options_(options), state_(scramble(options.seed + 1)), created_(options.first_created) {
    if (options_.zipfian) {
        for (uint64_t i = 1; i <= options_.item_count; ++i)
            zeta_ += 1.0 / std::pow(static_cast<double>(i), kTheta);
        const double zeta2 = 1.0 + 1.0 / std::pow(2.0, kTheta);
        alpha_ = 1.0 / (1.0 - kTheta);
        eta_ = (1.0 - std::pow(2.0 / static_cast<double>(options_.item_count), 1.0 - kTheta)) /
               (1.0 - zeta2 / zeta_);
    }
}

uint64_t Workload::random() {
    state_ += 0x9e3779b97f4a7c15ULL;
    return scramble(state_);
}

uint64_t Workload::draw_key() {
    if (!options_.zipfian) return random() % options_.item_count;
    const double u = static_cast<double>(random() >> 11) / 9007199254740992.0;
    const double uz = u * zeta_;
    uint64_t rank = 0;
    if (uz >= 1.0 + std::pow(0.5, kTheta))
        rank = static_cast<uint64_t>(static_cast<double>(options_.item_count) *
                                     std::pow(eta_ * u - eta_ + 1.0, alpha_));
    else if (uz >= 1.0)
        rank = 1;
    // Popular keys are spread over the key space.
    return scramble(rank) % options_.item_count;
}

Workload::Step Workload::next() {
    const auto& name = options_.name;
    if (name == "read") return {Operation::kRead, draw_key()};
    if (name == "create") return {Operation::kCreate, created_++};
    if (name == "upsert") return {Operation::kUpsert, draw_key()};
    if (name == "mix95")
        return {random() % 100 < 95 ? Operation::kRead : Operation::kUpsert, draw_key()};
    if (name == "mix50")
        return {random() % 100 < 50 ? Operation::kRead : Operation::kUpsert, draw_key()};
    if (name == "feed") return {Operation::kFeed, 0};
    throw std::invalid_argument("unknown workload " + name);
}

std::string item_id(uint64_t key) {
    return fmt::format("item{:010}", key);
}

std::string item_json(uint64_t key, uint64_t version) {
    constexpr uint64_t kTexts = 14;
    constexpr uint64_t kNumbers = 14;
    const std::string id = item_id(key);
    std::string out;
    out.reserve(1200);
    const auto to = std::back_inserter(out);
    fmt::format_to(to, FMT_COMPILE(R"({{"id":"{}","pk":"{}")"), id, id);
    for (uint64_t i = 0; i < kTexts; ++i) {
        const uint64_t v = scramble(key * 31 + i + (i < 3 ? version * 977 : 0));
        fmt::format_to(to, FMT_COMPILE(R"(,"text{:02}":"{:016x}{:016x}")"), i, v, scramble(v));
    }
    for (uint64_t i = 0; i < kNumbers; ++i)
        fmt::format_to(to, FMT_COMPILE(R"(,"number{:02}":{})"), i,
                       scramble(key * 17 + i + (i < 3 ? version : 0)) % 1'000'000);
    out += "}";
    return out;
}

}  // namespace orrery::cli
