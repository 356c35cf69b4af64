// Random operations against a simple model: what a view shows, what a crash leaves, what recovery
// brings back.

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "base/rounds_test_support.h"
#include "storage/detail/view.h"
#include "storage/fault_file_system.h"
#include "storage/light_view.h"
#include "storage/store_test_support.h"

namespace orrery::storage {
namespace {

using testing::index_key;

constexpr PartitionId kPartitions = 3;
constexpr uint64_t kItems = 40;
constexpr uint64_t kFirstPath = 7;
constexpr uint64_t kPaths = 3;
constexpr size_t kDocrefBytes = 16;

/// A toy partition: an item is a set of terms; the log keeps what each commit replaced. It shows
/// how a real one keeps derived state right through crashes.
using Terms = std::set<int>;

std::string encode(const Terms& terms) {
    std::string out;
    for (const int term : terms) append_varint(out, static_cast<uint64_t>(term));
    return out;
}
Terms decode(std::string_view bytes) {
    Terms out;
    for (ByteReader reader(bytes); !reader.at_end();) out.insert(static_cast<int>(reader.varint()));
    return out;
}
std::string item_key(PartitionId partition, uint64_t item) {
    return keys::item(partition, Docref("12345678", item));
}
std::string term_key(PartitionId partition, int term, uint64_t item) {
    // As a string term: type byte, text, end.
    return index_key(partition, kFirstPath + static_cast<uint64_t>(term) % kPaths,
                     "\x50" + std::to_string(term), item);
}
std::string counter_key(PartitionId partition) {
    return keys::index_path(partition, 1);
}
std::string lsn_key(PartitionId partition) {
    return keys::partition(partition) + "lsn";
}

struct Model {
    std::map<std::pair<PartitionId, uint64_t>, Terms> items;

    std::map<std::string, std::string> index() const {
        std::map<std::string, std::string> out;
        for (const auto& [at, terms] : items) {
            for (const int term : terms) {
                out[term_key(at.first, term, at.second)] =
                    term % 5 == 0 ? std::string(kPartialTerm) : "";
            }
        }
        return out;
    }
    Count count(PartitionId partition) const {
        Count out;
        for (const auto& [at, terms] : items) {
            if (at.first == partition) {
                ++out.items;
                out.bytes += static_cast<int64_t>(terms.size());
            }
        }
        return out;
    }
};

/// Index changes and counters from one version of an item to another.
void diff(PartitionId partition, uint64_t item, const std::optional<Terms>& before,
          const std::optional<Terms>& after, IndexDelta& delta, Count& count) {
    const Terms none;
    const Terms& old_terms = before ? *before : none;
    const Terms& new_terms = after ? *after : none;
    for (const int term : old_terms) {
        if (!new_terms.contains(term)) delta.remove(term_key(partition, term, item));
    }
    for (const int term : new_terms) {
        if (!old_terms.contains(term)) delta.add(term_key(partition, term, item), term % 5 == 0);
    }
    count.items += (after ? 1 : 0) - (before ? 1 : 0);
    count.bytes += static_cast<int64_t>(new_terms.size()) - static_cast<int64_t>(old_terms.size());
}

/// Replaces (nullopt: deletes) one item.
void apply(CommitScope& scope, PartitionId partition, uint64_t item,
           const std::optional<Terms>& after) {
    const std::string key = item_key(partition, item);
    const auto old = *scope.get(Family::kItems, key);
    std::optional<Terms> before;
    if (old) before = decode(*old);
    const auto last = *scope.get(Family::kMeta, lsn_key(partition));
    const Lsn lsn = (last ? load_u64_le(last->data()) : 0) + 1;
    std::string encoded_lsn;
    append_u64_le(encoded_lsn, lsn);
    scope.put(Family::kMeta, lsn_key(partition), encoded_lsn);
    const std::string log = keys::log(partition, lsn, Docref("12345678", item));
    scope.put(Family::kLog, log, before ? "1" : "0");
    if (before) scope.put(Family::kImages, log, *old);
    after ? scope.put(Family::kItems, key, encode(*after)) : scope.remove(Family::kItems, key);
    IndexDelta delta;
    Count count;
    diff(partition, item, before, after, delta, count);
    scope.index(partition, lsn, std::move(delta));
    scope.count(counter_key(partition), count);
}

/// What a partition does after a crash: per item above the covered LSN, its oldest image out, the
/// present version in.
void recover(Store& store) {
    const ViewPtr view = store.view();
    for (const ReplayNeed& need : store.replay_needs()) {
        IndexDelta delta;
        Count count;
        std::set<uint64_t> seen;
        Lsn up_to = need.covered_lsn;
        auto cursor = view->scan(Family::kLog, keys::log_from(need.partition, need.covered_lsn + 1),
                                 keys::partition(need.partition + 1));
        for (; cursor->valid(); cursor->next()) {
            const auto at = *keys::decode_log(cursor->key());
            up_to = at.lsn;
            if (!seen.insert(at.docref.item_number()).second) continue;
            std::optional<Terms> before;
            if (cursor->value() == "1") {
                const auto image = *view->get(Family::kImages, cursor->key());
                ASSERT_TRUE(image.has_value()) << "an image inside the window is gone";
                before = decode(*image);
            }
            std::optional<Terms> after;
            const auto present =
                *view->get(Family::kItems, item_key(need.partition, at.docref.item_number()));
            if (present) after = decode(*present);
            diff(need.partition, at.docref.item_number(), before, after, delta, count);
        }
        ASSERT_TRUE(cursor->status().ok());
        store.replay(need.partition, up_to, std::move(delta),
                     {{counter_key(need.partition), count}});
    }
}

Model read_model(const View& view) {
    Model model;
    // With an end: the iterator is one that other views have used.
    auto cursor = view.scan(Family::kItems, "", keys::partition(kPartitions + 1));
    for (; cursor->valid(); cursor->next()) {
        const auto at = *keys::decode_item(cursor->key());
        model.items[{at.partition, at.docref.item_number()}] = decode(cursor->value());
    }
    EXPECT_TRUE(cursor->status().ok());
    return model;
}

std::vector<std::pair<std::string, std::string>> entries(Cursor& cursor) {
    std::vector<std::pair<std::string, std::string>> out;
    for (; cursor.valid(); cursor.next()) out.emplace_back(cursor.key(), cursor.value());
    EXPECT_TRUE(cursor.status().ok());
    return out;
}

/// Entries by term: number, and whether one of them is partial.
using Counted = std::map<std::string, std::pair<uint64_t, bool>>;

Counted count_terms(const std::map<std::string, std::string>& index, const std::string& path) {
    Counted out;
    for (auto it = index.lower_bound(path); it != index.end() && it->first.starts_with(path);
         ++it) {
        const size_t term_bytes = it->first.size() - path.size() - kDocrefBytes;
        auto& [count, partial] = out[it->first.substr(path.size(), term_bytes)];
        ++count;
        partial |= !it->second.empty();
    }
    return out;
}

/// Counts per term, whole paths and single terms, agree with the entries wherever the store has
/// them. Returns how often it did.
int expect_counts(const View& view, const std::map<std::string, std::string>& index) {
    int compared = 0;
    for (PartitionId partition = 1; partition <= kPartitions; ++partition) {
        for (uint64_t i = 0; i < kPaths; ++i) {
            const std::string path =
                keys::index_path(partition, kFirstPath + i + keys::kReservedPathHashes);
            const Counted expected = count_terms(index, path);
            note_walk(view, path, 100);
            const auto counts = term_counts(view, path, kDocrefBytes, "", "", 100);
            EXPECT_TRUE(counts.ok());
            if (!counts.ok() || !*counts) continue;
            ++compared;
            Counted found;
            (*counts)->each([&](std::string_view term, uint64_t count, bool partial) {
                // A term that once had a partial entry may still be called so.
                const auto it = expected.find(std::string(term));
                EXPECT_TRUE(partial || it == expected.end() || !it->second.second);
                found[std::string(term)] = {count, it != expected.end() && it->second.second};
            });
            EXPECT_EQ(found, expected);
            for (const auto& [term, count] : expected) {
                const auto one = term_counts(view, path, kDocrefBytes, term, term + '\xFF', 100);
                if (!one.ok() || !*one) continue;
                uint64_t sum = 0;
                (*one)->each([&](std::string_view, uint64_t n, bool) { sum += n; });
                EXPECT_EQ(sum, count.first);
            }
        }
    }
    return compared;
}

/// How often a list in memory was there to be read.
int lists_compared = 0;

detail::PostingLists& lists_of(const View& view) {
    return static_cast<const detail::ViewBase&>(view).impl().database().posting_lists();
}

/// One term's entries, through the filters; and the same within a budget.
void expect_term(const View& view, const std::map<std::string, std::string>& index,
                 std::mt19937_64& random) {
    std::string begin = term_key(static_cast<PartitionId>(1 + random() % kPartitions),
                                 static_cast<int>(random() % 32), 0);
    begin.resize(begin.size() - kDocrefBytes);
    const std::string end = begin + std::string(kDocrefBytes + 1, '\xFF');
    std::vector<std::pair<std::string, std::string>> expected(index.lower_bound(begin),
                                                              index.lower_bound(end));
    ASSERT_EQ(entries(*view.scan(Family::kIndex, begin, end)), expected);
    // Now and then the list is to be made, so that others grow old.
    if (random() % 2 == 0) lists_of(view).note_walk(begin, 1000);
    ASSERT_EQ(entries(*view.scan(Family::kIndex, begin, end)), expected);
    const auto files = static_cast<const detail::ViewBase&>(view).impl().index_files();
    if (files.generation != 0 && lists_of(view).find(begin, files.table) != nullptr)
        ++lists_compared;
    const auto jumping = view.scan(Family::kIndex, begin, end);
    for (int i = 0; i < 10; ++i) {
        std::string target = begin;
        target.append(Docref("12345678", random() % (kItems + 2)).bytes());
        if (random() % 10 == 0) target = random() % 2 == 0 ? begin : end;
        const auto at = std::find_if(expected.begin(), expected.end(),
                                     [&](const auto& entry) { return entry.first >= target; });
        jumping->seek(target);
        ASSERT_EQ(jumping->valid(), at != expected.end());
        if (at != expected.end()) {
            ASSERT_EQ(jumping->key(), at->first);
            ASSERT_EQ(jumping->value(), at->second);
        }
    }
    auto backward = entries(*view.scan(Family::kIndex, begin, end, Direction::kBackward));
    std::reverse(backward.begin(), backward.end());
    ASSERT_EQ(backward, expected);
    ReadBudget budget{.steps_left = random() % 200};
    const auto light = in_memory(view, budget);
    std::vector<std::pair<std::string, std::string>> found;
    const auto cursor = light->scan(Family::kIndex, begin, end);
    for (; cursor->valid(); cursor->next()) found.emplace_back(cursor->key(), cursor->value());
    ASSERT_EQ(cursor->status().ok(), !budget.exceeded);
    if (!budget.exceeded) {
        ASSERT_EQ(found, expected);
    }
}

/// Index, counters and items of the view agree with the model, in both directions and after seeks.
int counts_compared = 0;
void expect_equal(const View& view, const Model& model, std::mt19937_64& random) {
    ASSERT_EQ(read_model(view).items, model.items);
    const auto index = model.index();
    const std::vector<std::pair<std::string, std::string>> expected(index.begin(), index.end());
    ASSERT_EQ(entries(*view.scan(Family::kIndex, "", "")), expected);
    auto backward = entries(*view.scan(Family::kIndex, "", "", Direction::kBackward));
    std::reverse(backward.begin(), backward.end());
    ASSERT_EQ(backward, expected);
    for (int i = 0; i < 5; ++i) {
        const auto random_key = [&] {
            return term_key(static_cast<PartitionId>(random() % (kPartitions + 1)),
                            static_cast<int>(random() % 30), random() % kItems);
        };
        std::string begin = random_key();
        std::string end = random_key();
        if (end < begin) std::swap(begin, end);
        const std::string target = random_key();
        const auto low = index.lower_bound(std::max(begin, target));
        auto forward = view.scan(Family::kIndex, begin, end);
        forward->seek(target);
        const bool found = low != index.end() && low->first < end;
        ASSERT_EQ(forward->valid(), found);
        if (found) {
            ASSERT_EQ(forward->key(), low->first);
        }
        auto high = target >= end ? index.lower_bound(end) : index.upper_bound(target);
        auto back = view.scan(Family::kIndex, begin, end, Direction::kBackward);
        back->seek(target);
        const bool found_back = high != index.begin() && std::prev(high)->first >= begin;
        ASSERT_EQ(back->valid(), found_back);
        if (found_back) {
            ASSERT_EQ(back->key(), std::prev(high)->first);
        }
        ASSERT_EQ((*view.get(Family::kIndex, target)).has_value(), index.contains(target));
    }
    for (int i = 0; i < 5; ++i) expect_term(view, index, random);
    counts_compared += expect_counts(view, index);
    for (PartitionId partition = 1; partition <= kPartitions; ++partition) {
        const auto count = view.count(counter_key(partition));
        ASSERT_EQ(count->items, model.count(partition).items);
        ASSERT_EQ(count->bytes, model.count(partition).bytes);
    }
}

Terms random_terms(std::mt19937_64& random) {
    Terms terms;
    for (uint64_t n = random() % 12; n > 0; --n) terms.insert(static_cast<int>(random() % 30));
    return terms;
}

StoreOptions small_options(const FaultFileSystem& faults) {
    StoreOptions options;
    options.folder = "/data/store";
    options.file_system = faults.file_system();
    options.block_cache_bytes = 1 << 20;
    options.index_table_bytes = 20'000;  // many tables
    return options;
}

TEST(StoreModel, RandomOperationsViewsFlushesAndReopens) {
    std::mt19937_64 random(1);
    FaultFileSystem faults;
    Model model;
    for (int session = 0; session < 4; ++session) {
        auto opened = Store::open(small_options(faults));
        ASSERT_TRUE(opened.ok()) << opened.error().message;
        Store& store = **opened;
        ASSERT_TRUE(store.replay_needs().empty());
        ASSERT_TRUE(store.start().ok());
        std::vector<std::pair<ViewPtr, Model>> held;
        for (int i = 0; i < 1500; ++i) {
            const auto partition = static_cast<PartitionId>(1 + random() % kPartitions);
            const uint64_t item = random() % kItems;
            std::optional<Terms> after;
            if (random() % 4 != 0) after = random_terms(random);
            ASSERT_TRUE(testing::commit(store, [&](CommitScope& scope) {
                            apply(scope, partition, item, after);
                            return true;
                        }).ok());
            after ? void(model.items[{partition, item}] = *after)
                  : void(model.items.erase({partition, item}));
            if (random() % 300 == 0) held.emplace_back(store.view(), model);
            if (random() % 400 == 0) {
                ASSERT_TRUE(store.flush().ok());
            }
            if (random() % 100 == 0) expect_equal(*store.view(), model, random);
            if (HasFatalFailure()) return;
        }
        for (const auto& [view, then] : held) {
            expect_equal(*view, then, random);
            if (HasFatalFailure()) return;
        }
        EXPECT_GT(store.statistics().index_tables_written, 5U);
        held.clear();
        ASSERT_TRUE(store.close().ok());
    }
    EXPECT_GT(counts_compared, 100);
    EXPECT_GT(lists_compared, 100);
}

/// Writers run until the power goes. Every acknowledged state must be there afterwards, and what is
/// there must be a state that some writer asked for; index and counters must match it after replay.
void crash_rounds(FaultFileSystem::Loss loss, Durability durability, int count, uint64_t seed) {
    std::mt19937_64 random(seed);
    FaultFileSystem faults;
    Model durable;  // last acknowledged
    for (int round = 0; round < count; ++round) {
        StoreOptions options = small_options(faults);
        options.durability = durability;
        // Each thread owns its items; the newest change may be in doubt.
        constexpr uint64_t kThreads = 4;
        std::array<Model, kThreads> acknowledged;
        std::array<std::optional<std::pair<std::pair<PartitionId, uint64_t>, std::optional<Terms>>>,
                   kThreads>
            doubt;
        {
            auto opened = Store::open(options);
            ASSERT_TRUE(opened.ok()) << opened.error().message << " in round " << round;
            Store& store = **opened;
            recover(store);
            if (::testing::Test::HasFatalFailure()) return;
            ASSERT_TRUE(store.start().ok());
            expect_equal(*store.view(), durable, random);
            if (::testing::Test::HasFatalFailure()) return;
            std::vector<std::thread> threads;
            for (uint64_t t = 0; t < kThreads; ++t) {
                acknowledged[t] = durable;
                threads.emplace_back([&, t, thread_seed = random()] {
                    std::mt19937_64 own(thread_seed);
                    while (true) {
                        const auto partition = static_cast<PartitionId>(1 + own() % kPartitions);
                        const uint64_t item = (own() % (kItems / kThreads)) * kThreads + t;
                        std::optional<Terms> after;
                        if (own() % 4 != 0) after = random_terms(own);
                        const std::pair<PartitionId, uint64_t> at{partition, item};
                        doubt[t] = {at, after};
                        if (!testing::commit(store, [&](CommitScope& scope) {
                                 apply(scope, partition, item, after);
                                 return true;
                             }).ok()) {
                            return;
                        }
                        after ? void(acknowledged[t].items[at] = *after)
                              : void(acknowledged[t].items.erase(at));
                    }
                });
            }
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));
            faults.cut_power();
            for (std::thread& thread : threads) thread.join();
            ASSERT_FALSE(store.health().ok());
            ASSERT_TRUE(store.view()->get(Family::kItems, item_key(1, 1)).ok());  // reads go on
        }
        faults.restore_power(loss, random());
        auto opened = Store::open(options);
        ASSERT_TRUE(opened.ok()) << opened.error().message << " in round " << round;
        const Model now = read_model(*(*opened)->view());
        for (PartitionId partition = 1; partition <= kPartitions; ++partition) {
            for (uint64_t item = 0; item < kItems; ++item) {
                const std::pair<PartitionId, uint64_t> at{partition, item};
                const uint64_t owner = item % kThreads;
                const auto find = [&](const Model& model) -> std::optional<Terms> {
                    const auto it = model.items.find(at);
                    if (it == model.items.end()) return std::nullopt;
                    return it->second;
                };
                const auto found = find(now);
                const bool as_acknowledged = found == find(acknowledged[owner]);
                const bool as_doubtful =
                    doubt[owner] && doubt[owner]->first == at && found == doubt[owner]->second;
                if (durability == Durability::kSync) {
                    ASSERT_TRUE(as_acknowledged || as_doubtful) << "round " << round;
                }
            }
        }
        durable = now;
    }
}

TEST(StoreModel, CrashDropsEverythingUnsynced) {
    crash_rounds(FaultFileSystem::Loss::kEverything, Durability::kSync, rounds(12), 11);
}

TEST(StoreModel, CrashKeepsPartOfTheLastWrite) {
    crash_rounds(FaultFileSystem::Loss::kKeepPrefix, Durability::kSync, rounds(12), 12);
}

TEST(StoreModel, CrashTearsTheLastWrite) {
    crash_rounds(FaultFileSystem::Loss::kTornSectors, Durability::kSync, rounds(12), 13);
}

TEST(StoreModel, CrashUnderRelaxedDurabilityKeepsAConsistentState) {
    crash_rounds(FaultFileSystem::Loss::kEverything, Durability::kRelaxed, rounds(4), 14);
    crash_rounds(FaultFileSystem::Loss::kKeepPrefix, Durability::kRelaxed, rounds(4), 15);
    crash_rounds(FaultFileSystem::Loss::kTornSectors, Durability::kRelaxed, rounds(4), 16);
}

}  // namespace
}  // namespace orrery::storage
