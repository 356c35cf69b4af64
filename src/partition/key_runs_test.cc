#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "base/rounds_test_support.h"
#include "index/lookup.h"
#include "index/terms.h"
#include "partition/partition_test_support.h"

// Runs of a key against the index and the items of the same view.
namespace orrery::partition {
namespace {

using namespace testing;
using index::KeyRun;
using index::KeyRunPtr;
using index::Postings;
using index::PostingScope;
using index::TermRange;
namespace ranges = index::term_ranges;
using Path = std::vector<index::PathStep>;

const Path kV{{false, "v"}};
const Path kU{{false, "u"}};
const Path kDeep{{false, "o"}, {false, "v"}};

/// Items that lack `/u` have an entry there.
ContainerSettings settings_with_undefined() {
    ContainerSettings settings = default_settings();
    json::Arena arena;
    const auto policy = json::parse(
        R"({"includedPaths":[{"path":"/*"},{"path":"/u/?"},{"path":"/o/v/?"}]})", arena);
    settings.indexing = index::parse_indexing_policy(*policy).value();
    return settings;
}

/// Everything that terms tell apart, and what they do not.
std::string random_value(std::mt19937_64& random) {
    switch (random() % 12) {
        case 0:
            return "null";
        case 1:
            return random() % 2 == 0 ? "true" : "false";
        case 2:
        case 3:
        case 4:
            return std::to_string(random() % 8);
        case 5:
            return "-" + std::to_string(random() % 100) + ".25";
        case 6:  // above 2^53: several integers share a term
            return std::to_string(9007199254740992 + random() % 4);
        case 7:  // cut at 256 bytes
            return '"' + std::string(255 + random() % 3, 'x') + std::to_string(random() % 3) + '"';
        case 8:
            return random() % 2 == 0 ? "[1,2]" : R"({"v":3})";
        default:
            return R"("s)" + std::to_string(random() % 20) + '"';
    }
}

std::string random_body(std::mt19937_64& random, const std::string& id, const std::string& pk) {
    std::string body = R"({"id":")" + id + R"(","pk":")" + pk + '"';
    for (const char* name : {"v", "u"})
        if (random() % 6 != 0) body += ",\"" + std::string(name) + "\":" + random_value(random);
    if (random() % 3 != 0) body += R"(,"o":)" + random_value(random);
    return body + "}";
}

std::string dump(const KeyRun& run) {
    std::string out;
    for (size_t i = 0; i < run.column()->size(); ++i)
        for (size_t e = run.first_entry(i); e < run.first_entry(i + 1); ++e)
            out.append(run.column()->term(i))
                .append(run.docref(e))
                .append(run.partial(e) ? "~" : ";");
    return out;
}

/// The run as the view's items have it, made without the cache.
std::string truth(const storage::View& view, const std::string& epk, const Path& path) {
    index::KeyRunBuilder builder(1);
    const std::string prefix = storage::keys::partition(Bench::kPartition);
    const auto cursor = view.scan(storage::Family::kItems, prefix, prefix_successor(prefix));
    for (; cursor->valid(); cursor->next()) {
        const auto document = json::decode_document(cursor->value());
        if (document->header.epk != epk) continue;
        json::Arena arena;
        json::Value value = *document->value(arena);
        for (const index::PathStep& step : path) value = value.member(step.name);
        builder.add(value, storage::keys::decode_item(cursor->key())->docref);
    }
    return dump(*builder.finish());
}

KeyRunPtr build(const Bench& bench, const storage::View& view, const std::string& epk,
                const Path& path) {
    auto built = bench.partition->build_key_runs(view, epk, {path});
    EXPECT_TRUE(built.ok());
    return (*built)[0];
}

TEST(KeyRuns, WalksAreThoseOfTheIndex) {
    Bench bench(settings_with_undefined());
    std::mt19937_64 random(7);
    for (int i = 0; i < 300; ++i) {
        const std::string pk(1, static_cast<char>('a' + random() % 3));
        bench.one(pk, create(random_body(random, std::to_string(i), pk)));
        if (i == 150) {
            ASSERT_TRUE(bench.store->flush().ok());
        }
    }
    const storage::ViewPtr view = bench.store->view();
    const std::string epk = epk_of("a");
    PostingScope scope;
    scope.view = view.get();
    scope.partition = Bench::kPartition;
    scope.docref_begin = docref_prefix(key_definition(), epk);
    scope.docref_end = prefix_successor(scope.docref_begin);
    const auto runs = bench.partition->build_key_runs(*view, epk, {kV, kU, kDeep});
    ASSERT_TRUE(runs.ok());
    auto set = std::make_shared<index::KeyRuns>();
    for (const KeyRunPtr& run : *runs) set->add(run);
    uint64_t compared = 0;
    for (int round = 0; round < rounds(3000); ++round) {
        const Path& path = *std::array{&kV, &kU, &kDeep}[random() % 3];
        const uint64_t hash = index::path_hash({1, 2}, path);
        const KeyRunPtr run = set->find(hash);
        ASSERT_NE(run, nullptr);
        const auto random_term = [&] {
            return std::string(run->column()->term(random() % run->column()->size()));
        };
        // The index has no entries for items without `/v`.
        TermRange range = path == kV ? ranges::defined() : ranges::undefined();
        switch (random() % 4) {
            case 0:
                if (path != kV) range.end = ranges::defined().end;
                range.single = false;
                break;
            case 1: {
                std::string a = random_term();
                std::string b = random_term();
                if (a > b) std::swap(a, b);
                if (path == kV) a = std::max(a, range.begin);
                range = {a, b, false};
                break;
            }
            default:
                range = ranges::of_term(random_term());
                if (path == kV && range.begin == ranges::undefined().begin)
                    range = ranges::defined();
        }
        PostingScope in_index = scope;
        if (random() % 4 == 0) {
            in_index.docref_begin = std::string(run->docref(random() % run->size()));
            if (random() % 2 == 0) in_index.docref_begin.push_back('\0');
        }
        PostingScope in_run = in_index;
        in_run.runs = set;
        const auto direction =
            random() % 2 == 0 ? storage::Direction::kForward : storage::Direction::kBackward;
        Postings expected(in_index, hash, range, direction);
        Postings got(in_run, hash, range, direction);
        for (int step = 0; step < 40; ++step) {
            ASSERT_TRUE(expected.status().ok() && got.status().ok());
            ASSERT_EQ(expected.valid(), got.valid()) << round << ' ' << step;
            if (!got.valid()) break;
            ++compared;
            ASSERT_EQ(expected.term(), got.term());
            ASSERT_EQ(expected.docref(), got.docref());
            ASSERT_EQ(expected.partial(), got.partial());
            const uint64_t move = random() % 8;
            if (move == 0) {
                expected.next_term();
                got.next_term();
            } else if (move == 1) {
                // Ahead only: walks never go back.
                std::string term = random_term();
                std::string docref(run->docref(random() % run->size()));
                if (random() % 4 == 0) docref.clear();
                if (random() % 4 == 0) docref.assign(33, '\xFF');
                const auto here = std::pair(std::string(got.term()), std::string(got.docref()));
                const auto to = std::pair(term, docref);
                const bool ahead =
                    direction == storage::Direction::kForward ? to >= here : to <= here;
                if (!ahead || term < range.begin || term >= range.end) continue;
                expected.seek(term, docref);
                got.seek(term, docref);
            } else {
                expected.next();
                got.next();
            }
        }
    }
    EXPECT_GT(compared, 1000U);
}

TEST(KeyRuns, AreKeptUntilTheKeyChanges) {
    Bench bench;
    const std::string epk = epk_of("a");
    const uint64_t hash = index::path_hash({1, 2}, kV);
    bench.one("a", create(R"({"id":"1","pk":"a","v":1})"));
    const storage::ViewPtr before = bench.store->view();
    const auto find = [&](const storage::View& view) {
        return bench.partition->find_key_run(view, epk, hash);
    };
    EXPECT_EQ(find(*before), nullptr);
    const KeyRunPtr built = build(bench, *before, epk, kV);
    EXPECT_EQ(find(*before), built);
    EXPECT_EQ(bench.partition->find_key_run(*before, epk_of("b"), hash), nullptr);
    EXPECT_EQ(bench.partition->find_key_run(*before, epk, hash + 1), nullptr);

    // Another key's changes do not matter.
    bench.one("b", create(R"({"id":"1","pk":"b","v":1})"));
    EXPECT_EQ(find(*bench.store->view()), built);
    EXPECT_EQ(find(*before), built);

    bench.one("a", create(R"({"id":"2","pk":"a","v":2})"));
    const storage::ViewPtr after = bench.store->view();
    EXPECT_EQ(find(*after), nullptr);
    const KeyRunPtr newer = build(bench, *after, epk, kV);
    EXPECT_EQ(newer->size(), 2U);
    EXPECT_EQ(find(*after), newer);
    // The older view has one item fewer.
    EXPECT_EQ(find(*before), nullptr);
    // What it shows must not take the newer one's place.
    build(bench, *before, epk, kV);
    EXPECT_EQ(find(*after), newer);

    bench.one("a", remove("1"));
    EXPECT_EQ(find(*bench.store->view()), nullptr);
}

TEST(KeyRuns, HaveTheirKeyAloneAlthoughHashesBegin) {
    // Keys of the first version have short hashes; here two keys are given the same first bytes.
    Bench bench;
    bench.one("a", create(R"({"id":"1","pk":"a","v":1})"));
    const storage::ViewPtr view = bench.store->view();
    std::string other = epk_of("a");
    other.back() = static_cast<char>(other.back() ^ 1);
    ASSERT_EQ(docref_prefix(key_definition(), other), docref_prefix(key_definition(), epk_of("a")));
    EXPECT_EQ(build(bench, *view, epk_of("a"), kV)->size(), 1U);
    EXPECT_EQ(build(bench, *view, other, kV)->size(), 0U);
}

/// Whatever is found in memory is what the finder's view shows, however old that view is and
/// whoever writes meanwhile.
TEST(KeyRuns, AgreeWithEveryViewWhileOthersWrite) {
    Bench bench;
    constexpr int kKeys = 3;
    std::vector<std::string> names;
    std::vector<std::string> epks;
    for (int i = 0; i < kKeys; ++i) {
        names.push_back(std::string(1, static_cast<char>('a' + i)));
        epks.push_back(epk_of(names.back()));
    }
    const uint64_t hash = index::path_hash({1, 2}, kV);
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> looked{0};
    std::atomic<uint64_t> commits{0};
    std::vector<std::thread> writers;
    for (int w = 0; w < 2; ++w)
        writers.emplace_back([&, w] {
            std::mt19937_64 random(static_cast<uint64_t>(w));
            while (!stop) {
                const std::string& pk = names[random() % kKeys];
                const std::string id = std::to_string(random() % 6);
                if (random() % 4 == 0)
                    bench.one(pk, remove(id));
                else
                    bench.one(pk, upsert(R"({"id":")" + id + R"(","pk":")" + pk + R"(","v":)" +
                                         std::to_string(random() % 1000) + "}"));
                ++commits;
                // Moments without a writer are when runs are used.
                const uint64_t until = looked + random() % 16;
                while (looked < until && !stop) std::this_thread::yield();
            }
        });
    constexpr uint64_t kFound = rounds(2'000U);
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    std::atomic<uint64_t> found{0};
    std::atomic<uint64_t> found_by_older{0};
    std::atomic<uint64_t> wrong{0};
    std::vector<std::thread> readers;
    for (int r = 0; r < 2; ++r)
        readers.emplace_back([&, r] {
            std::mt19937_64 random(static_cast<uint64_t>(100 + r));
            storage::ViewPtr old = bench.store->view();
            while ((found < kFound || found_by_older < kFound / 10 || commits < kFound / 10) &&
                   std::chrono::steady_clock::now() < give_up) {
                ++looked;
                storage::ViewPtr view = bench.store->view();
                if (random() % 4 == 0) std::swap(view, old);
                const std::string& epk = epks[random() % kKeys];
                const KeyRunPtr run = bench.partition->find_key_run(*view, epk, hash);
                if (run == nullptr) {
                    build(bench, *view, epk, kV);
                    continue;
                }
                ++found;
                if (view->commit_number() < bench.store->view()->commit_number()) ++found_by_older;
                if (dump(*run) != truth(*view, epk, kV)) ++wrong;
            }
        });
    for (std::thread& thread : readers) thread.join();
    stop = true;
    for (std::thread& thread : writers) thread.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_GE(found, kFound);
    EXPECT_GE(found_by_older, kFound / 10);
    EXPECT_GE(commits, kFound / 10);
}

}  // namespace
}  // namespace orrery::partition
