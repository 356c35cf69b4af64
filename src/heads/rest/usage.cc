#include "heads/rest/usage.h"

#include <string>

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

namespace orrery::rest {
namespace {

constexpr int64_t kRefreshUs = 1'000'000;
constexpr size_t kEntriesMax = 1'000;

/// Usage texts by container, a second old at most. One for each thread: no lock on the way of every
/// answer.
class UsageCache {
public:
    /// Valid until the next call; empty when the totals cannot be read.
    std::string_view text(const Call& call, bool fresh) {
        const auto& container = *call.container();
        const int64_t now = call.door.clock().monotonic_us();
        if (entries_.size() >= kEntriesMax) entries_.clear();
        Entry& entry = entries_[container.rid_text];
        if (entry.door == &call.door && !fresh && now - entry.made_us < kRefreshUs)
            return entry.text;
        const auto usage = call.session.usage(call);
        if (!usage.ok()) return {};
        // Sizes are in KB, rounded up, as clients expect them.
        const int64_t kb = (usage->bytes + 1023) / 1024;
        entry.text = fmt::format(
            "functions={};storedProcedures={};triggers={};documentSize={};documentsSize={};"
            "documentsCount={};"
            "collectionSize={};",
            usage->functions, usage->procedures, usage->triggers, kb / 1024, kb, usage->items, kb);
        entry.made_us = now;
        entry.door = &call.door;
        return entry.text;
    }

private:
    struct Entry {
        std::string text;
        int64_t made_us = 0;
        const engine::Door* door = nullptr;
    };
    absl::flat_hash_map<std::string, Entry> entries_;
};

}  // namespace

void add_usage_headers(const Call& call) {
    thread_local UsageCache cache;
    const bool fresh = call.headers.says_true(HeaderName::kPopulateQuotaInfo);
    auto& head = call.response().head;
    head +=
        "x-ms-resource-quota: functions=50;storedProcedures=100;triggers=25;documentSize=10240;"
        "documentsSize=10485760;documentsCount=-1;collectionSize=10485760;\r\n";
    if (const std::string_view usage = cache.text(call, fresh); !usage.empty()) {
        head += "x-ms-resource-usage: ";
        head += usage;
        head += "\r\n";
    }
    static const std::string started =
        "x-ms-last-state-change-utc: " + format_http_date(call.door.clock().wall_seconds()) +
        "\r\n";
    head += started;
}

}  // namespace orrery::rest
