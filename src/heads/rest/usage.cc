#include "heads/rest/usage.h"

#include <mutex>
#include <string>

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

namespace orrery::rest {
namespace {

constexpr int64_t kRefreshUs = 1'000'000;
constexpr size_t kEntriesMax = 20'000;

/// Usage texts by container rid. Internally locked.
class UsageCache {
public:
    std::string text(const Call& call, bool fresh) {
        const auto& container = *call.container;
        const int64_t now = call.engine.clock().monotonic_us();
        {
            const std::lock_guard lock(mutex_);
            const auto found = entries_.find(container.rid_text);
            if (found != entries_.end() && !fresh && now - found->second.made_us < kRefreshUs)
                return found->second.text;
        }
        const auto totals = call.engine.totals(container);
        if (!totals.ok()) return {};
        // Sizes are in KB, rounded up, as clients expect them.
        const int64_t kb = (totals->bytes + 1023) / 1024;
        std::string text = fmt::format(
            "functions=0;storedProcedures=0;triggers=0;documentSize={};documentsSize={};documentsCount={};"
            "collectionSize={};",
            kb / 1024, kb, totals->items, kb);
        const std::lock_guard lock(mutex_);
        if (entries_.size() >= kEntriesMax) entries_.clear();
        entries_[container.rid_text] = {text, now};
        return text;
    }

private:
    struct Entry {
        std::string text;
        int64_t made_us = 0;
    };
    std::mutex mutex_;
    absl::flat_hash_map<std::string, Entry> entries_;  // guarded by mutex_
};

}  // namespace

void add_usage_headers(const Call& call) {
    static UsageCache cache;
    const bool fresh = call.headers.has(HeaderName::kPopulateQuotaInfo);
    auto& response = call.response();
    response.head +=
        "x-ms-resource-quota: functions=50;storedProcedures=100;triggers=25;documentSize=10240;"
        "documentsSize=10485760;documentsCount=-1;collectionSize=10485760;\r\n";
    const std::string usage = cache.text(call, fresh);
    if (!usage.empty()) response.add_header("x-ms-resource-usage", usage);
    static const std::string started = format_http_date(call.engine.clock().wall_seconds());
    response.add_header("x-ms-last-state-change-utc", started);
}

}  // namespace orrery::rest
