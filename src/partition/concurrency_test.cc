#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "partition/partition_test_support.h"
#include "partition/record.h"
#include "storage/store_test_support.h"

namespace orrery::partition {
namespace {

using namespace testing;

std::string counter_body(const std::string& id, int64_t value) {
    return R"({"id":")" + id + R"(","pk":"a","v":)" + std::to_string(value) + "}";
}
int64_t value_of(const OperationResult& result) {
    json::Arena arena;
    return json::parse(text_of(result), arena).value().member("v").as_int64();
}

void in_threads(int count, const std::function<void(int)>& work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back([&, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
}

/// LSNs in the log are dense from 1 on; returns the last.
storage::Lsn check_dense(Bench& bench) {
    const storage::ViewPtr view = bench.store->view();
    const std::string begin = storage::keys::partition(Bench::kPartition);
    const auto cursor = view->scan(storage::Family::kLog, begin, prefix_successor(begin));
    storage::Lsn last = 0;
    int64_t ts = 0;
    for (; cursor->valid(); cursor->next()) {
        const storage::Lsn lsn = storage::keys::decode_log(cursor->key())->lsn;
        EXPECT_TRUE(lsn == last || lsn == last + 1) << lsn << " after " << last;
        last = lsn;
        const LogRecord record = decode_log_record(cursor->value()).value();
        EXPECT_GE(record.ts, ts);
        ts = record.ts;
    }
    return last;
}

TEST(Concurrency, NoLostUpdateWithIfMatch) {
    Bench bench;
    constexpr int kThreads = 8;
    constexpr int kIncrements = 40;
    bench.one("a", create(counter_body("1", 0)));
    std::atomic<int> refused{0};
    in_threads(kThreads, [&](int) {
        for (int done = 0; done < kIncrements;) {
            const OperationResult now = bench.one("a", read("1"));
            const OperationResult written =
                bench.one("a", replace("1", counter_body("1", value_of(now) + 1), now.etag));
            if (end_of(written) == Ended::kOk)
                ++done;
            else if (end_of(written) == Ended::kPrecondition)
                ++refused;
            else
                FAIL() << message_of(written);
        }
    });
    EXPECT_EQ(value_of(bench.one("a", read("1"))), kThreads * kIncrements);
    EXPECT_EQ(check_dense(bench), storage::Lsn{kThreads * kIncrements + 1});
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Concurrency, PatchIncrementsNeedNoCondition) {
    Bench bench;
    // Large enough that a stale plan goes back to the workers.
    for (const size_t padding : {size_t{1}, size_t{40'000}}) {
        const std::string id = std::to_string(padding);
        bench.one("a", create(R"({"id":")" + id + R"(","pk":"a","v":0,"s":")" +
                              std::string(padding, 'x') + "\"}"));
        in_threads(8, [&](int) {
            for (int i = 0; i < 25; ++i) {
                const OperationResult result =
                    bench.one("a", patch(id, R"([{"op":"incr","path":"/v","value":1}])"));
                ASSERT_EQ(end_of(result), Ended::kOk) << message_of(result);
            }
        });
        EXPECT_EQ(value_of(bench.one("a", read(id))), 8 * 25);
    }
    EXPECT_EQ(check_dense(bench), 2U + 2 * 8 * 25);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Concurrency, OneCreateWins) {
    Bench bench;
    for (int round = 0; round < 50; ++round) {
        std::atomic<int> created{0};
        std::atomic<int> conflicts{0};
        in_threads(4, [&](int) {
            const Ended status =
                end_of(bench.one("a", create(counter_body(std::to_string(round), 1))));
            if (status == Ended::kCreated) ++created;
            if (status == Ended::kConflict) ++conflicts;
        });
        EXPECT_EQ(created, 1);
        EXPECT_EQ(conflicts, 3);
    }
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Concurrency, UniqueKeyHasOneHolder) {
    ContainerSettings settings = default_settings();
    settings.unique_keys = {{0, {{"v"}}}};
    Bench bench(settings);
    std::atomic<int> created{0};
    in_threads(8, [&](int thread) {
        for (int i = 0; i < 30; ++i) {
            const std::string id = std::to_string(thread) + "-" + std::to_string(i);
            const Ended status = end_of(bench.one("a", create(counter_body(id, i))));
            EXPECT_TRUE(status == Ended::kCreated || status == Ended::kConflict);
            if (status == Ended::kCreated) ++created;
        }
    });
    EXPECT_EQ(created, 30);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

/// Every writer knows the LSN of its acknowledged write: per item, the highest LSN is what stays.
TEST(Concurrency, LastAcknowledgedValueStays) {
    Bench bench;
    struct Seen {
        storage::Lsn lsn = 0;
        std::string text;  // empty: deleted
    };
    std::mutex mutex;
    std::map<std::string, Seen> newest;
    std::set<storage::Lsn> lsns;
    std::atomic<bool> stop{false};
    std::thread reader([&] {  // a reader must never see an item go back in time
        std::map<std::string, storage::Lsn> last;
        while (!stop) {
            for (int i = 0; i < 5; ++i) {
                const std::string id = std::to_string(i);
                const OperationResult result = bench.one("a", read(id));
                if (!result.has_item) continue;
                const storage::Lsn lsn =
                    json::decode_document(*result.item.document).value().header.lsn;
                EXPECT_GE(lsn, last[id]);
                EXPECT_GE(bench.partition->lsn(), lsn);
                last[id] = lsn;
            }
        }
    });
    std::thread clock([&] {
        while (!stop) {
            bench.clock.advance_us(300'000);
            std::this_thread::yield();
        }
    });
    in_threads(6, [&](int thread) {
        for (int i = 0; i < 150; ++i) {
            const std::string id = std::to_string((thread * 7 + i * 3) % 5);
            Transaction transaction;
            transaction.epk = epk_of("a");
            transaction.operations.push_back(
                i % 5 == 4 ? remove(id) : upsert(counter_body(id, thread * 1000 + i)));
            if (i % 3 == 0) {
                transaction.is_batch = true;
                transaction.operations.push_back(upsert(counter_body("b" + id, i)));
            }
            TransactionResult result = bench.run(std::move(transaction));
            if (!result.committed) continue;
            const std::lock_guard lock(mutex);
            EXPECT_TRUE(lsns.insert(result.lsn).second);
            Seen& seen = newest[id];
            if (seen.lsn < result.lsn) seen = {result.lsn, text_of(result.results[0])};
        }
    });
    stop = true;
    reader.join();
    clock.join();
    for (const auto& [id, seen] : newest) EXPECT_EQ(text_of(bench.one("a", read(id))), seen.text);
    EXPECT_EQ(lsns.size(), bench.partition->lsn());
    EXPECT_EQ(check_dense(bench), bench.partition->lsn());
    bench.cache->erase_partition(Bench::kPartition);
    for (const auto& [id, seen] : newest) EXPECT_EQ(text_of(bench.one("a", read(id))), seen.text);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Concurrency, SettingsChangeUnderWriters) {
    Bench bench;
    std::atomic<bool> stop{false};
    std::thread changer([&] {
        for (int i = 0; !stop; ++i) {
            ContainerSettings settings = default_settings();
            if (i % 2 == 0) settings.default_ttl = 1000;
            // In the commit order, as the catalog does it.
            const Status changed = storage::testing::commit(*bench.store, [&](auto&) {
                bench.set(std::move(settings));
                return false;
            });
            EXPECT_TRUE(changed.ok());
            const auto removed = bench.partition->remove_expired(10);
            EXPECT_TRUE(removed.ok());
        }
    });
    in_threads(4, [&](int thread) {
        for (int i = 0; i < 100; ++i) {
            const OperationResult result =
                bench.one("a", upsert(counter_body(std::to_string((thread + i) % 20), i)));
            EXPECT_TRUE(result.status.ok()) << message_of(result);
        }
    });
    stop = true;
    changer.join();
    EXPECT_EQ(bench.partition->lsn(), 400U);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

/// Whatever the cache has of an item for a view is what the view itself has, while items are
/// replaced, deleted and made again, read by their ids, and offered by readers with older views.
TEST(Concurrency, CachedVersionsAreWhatTheViewShows) {
    Bench bench;
    constexpr int kItems = 12;
    constexpr int kWriters = 3;
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> compared{0};
    std::thread reader_of_old_views([&] {
        while (!stop) {
            const storage::ViewPtr view = bench.store->view();
            const std::string begin = storage::keys::partition(Bench::kPartition);
            const std::string end = prefix_successor(begin);
            for (int pass = 0; pass < 3; ++pass) {
                const auto cursor = view->scan(storage::Family::kItems, begin, end);
                std::vector<storage::Docref> docrefs;
                std::vector<std::string> stored;
                for (; cursor->valid(); cursor->next()) {
                    docrefs.push_back(storage::keys::decode_item(cursor->key())->docref);
                    stored.emplace_back(cursor->value());
                }
                std::vector<std::shared_ptr<const std::string>> cached(docrefs.size());
                bench.partition->find_versions(*view, docrefs, cached);
                for (size_t i = 0; i < docrefs.size(); ++i) {
                    if (cached[i] == nullptr) {
                        bench.partition->offer_version(*view, docrefs[i], stored[i]);
                        continue;
                    }
                    ASSERT_EQ(*cached[i], stored[i]);
                    ++compared;
                }
            }
        }
    });
    in_threads(kWriters, [&](int thread) {
        for (int i = 0; i < 400; ++i) {
            const std::string id = std::to_string((i * 7 + thread * 5) % kItems);
            if (i % 11 == 0) {
                bench.one("a", remove(id));
            } else if (i % 3 == 0) {
                bench.one("a", read(id));
            } else {
                bench.one("a", upsert(counter_body(id, i)));
            }
        }
    });
    stop = true;
    reader_of_old_views.join();
    EXPECT_GT(compared, 100U);
}

}  // namespace
}  // namespace orrery::partition
