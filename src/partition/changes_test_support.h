#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/item.h"
#include "partition/partition_test_support.h"

/// Pages of the change feed, in words that tests can compare.
namespace orrery::partition::testing {

inline std::string item(std::string_view id, std::string_view pk, int v = 0,
                        std::string_view more = "") {
    return R"({"id":")" + std::string(id) + R"(","pk":")" + std::string(pk) + R"(","v":)" +
           std::to_string(v) + std::string(more) + "}";
}

inline ContainerSettings keeping(int64_t seconds) {
    ContainerSettings settings = default_settings();
    settings.feed_retention_seconds = seconds;
    return settings;
}

inline std::string text(const StoredItem& stored) {
    if (stored.document == nullptr) return {};
    return json::decode_document(*stored.document).value().text();
}

inline Result<ChangesPage> page(Bench& bench, ChangesRequest request) {
    request.up_to = bench.partition->lsn();
    return bench.partition->read_changes(*bench.store->view(), request);
}

/// All pages from `request.after` on.
inline std::vector<Change> all(Bench& bench, ChangesRequest request, size_t* pages = nullptr) {
    std::vector<Change> out;
    for (;;) {
        auto one = page(bench, request);
        EXPECT_TRUE(one.ok()) << (one.ok() ? "" : one.error().message);
        if (!one.ok()) return out;
        if (pages != nullptr) ++*pages;
        for (Change& change : one->changes) out.push_back(std::move(change));
        EXPECT_GE(one->position, request.after);
        request.after = one->position;
        if (!one->more) {
            EXPECT_EQ(one->position, bench.partition->lsn());
            return out;
        }
    }
}

/// "id:v" of each change.
inline std::vector<std::string> names(const std::vector<Change>& changes) {
    std::vector<std::string> out;
    for (const Change& change : changes) {
        json::Arena arena;
        const std::string body = text(change.current);
        if (body.empty()) {
            out.push_back("-" + change.id);
            continue;
        }
        const auto values = json::extract(body, {{"id"}, {"v"}}, arena).value();
        out.push_back(std::string(values[0].as_string()) + ":" +
                      std::to_string(static_cast<int>(values[1].as_double())));
    }
    return out;
}

inline size_t keys_in(Bench& bench, storage::Family family) {
    size_t count = 0;
    const std::string begin = storage::keys::partition(Bench::kPartition);
    for (const auto cursor = bench.store->view()->scan(family, begin, prefix_successor(begin));
         cursor->valid(); cursor->next())
        ++count;
    return count;
}

}  // namespace orrery::partition::testing
