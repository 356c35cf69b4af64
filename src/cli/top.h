#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/account_client.h"

namespace orrery::cli {

enum class TopOrder : uint8_t { kLoad, kStorage, kName };

struct TopOptions {
    double interval_seconds = 1;
    bool once = false;  ///< one view as plain text
    bool json = false;  ///< with once: as JSON
    TopOrder order = TopOrder::kLoad;
    std::string container;  ///< "shop/orders": only this one; empty: all
};

/// A live view of the physical partitions, from Orrery's own endpoints. Exit code.
int run_top(const TopOptions& options, const AccountClient::Shared& account);

struct TopPartition {
    std::string container;  ///< "shop/orders"
    std::string id;
    std::string min;
    std::string max;
    double charge_per_second = 0;  ///< mean of the last full seconds
    double requests_per_second = 0;
    double throttled_per_second = 0;
    double provisioned = 0;  ///< RU/s
    int64_t items = 0;
    int64_t bytes = 0;
    double load() const { return provisioned > 0 ? charge_per_second / provisioned : 0; }
};
struct TopOperation {
    std::string name;
    int64_t requests = 0;  ///< in the last minute
    int64_t p50_us = 0;
    int64_t p99_us = 0;
};
struct TopData {
    std::string endpoint;
    int64_t now = 0;  ///< seconds since 1970
    int64_t resident_bytes = 0;
    size_t containers = 0;
    size_t containers_left_out = 0;  ///< idle ones beyond what is asked for each time
    std::vector<TopOperation> operations;
    std::vector<TopPartition> partitions;
};

enum class TopStyle : uint8_t { kPlain, kTerminal };
/// The view as text, each line at most `width` columns, at most `height` lines (0: all).
std::string top_text(TopData data, TopOrder order, size_t width, size_t height, TopStyle style);
std::string top_json(const TopData& data);
Result<TopData> read_top(AccountClient& client, const std::string& only_container);

}  // namespace orrery::cli
