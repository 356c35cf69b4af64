// The change feed against a model: random writes, batches, deletes, expiry, splits, merges,
// restarts and crashes. Whatever happened, replaying what a reader was given makes the container's
// state, and the reader of all versions was given every version, in order. ORRERY_FEED_SEED and
// ORRERY_FEED_ROUNDS choose another run or a longer one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>

#include "base/rounds_test_support.h"
#include "engine/durable_test_support.h"
#include "json/document.h"
#include "json/item.h"

namespace orrery::engine {
namespace {

using partition::OperationKind;
using testing_support::DurableEngine;

constexpr int kKeys = 6;
constexpr int kIds = 10;

uint64_t from_environment(const char* name, uint64_t standard) {
    const char* text = std::getenv(name);
    return text == nullptr ? standard : std::strtoull(text, nullptr, 10);
}

using Name = std::pair<std::string, std::string>;  ///< key, id

/// The item's name and its value `n`.
struct Seen {
    Name name;
    int64_t n = 0;
};
Seen seen_of(const partition::StoredItem& item) {
    json::Arena arena;
    const auto document = json::decode_document(*item.document);
    EXPECT_TRUE(document.ok());
    const auto values = document->values_at({{"pk"}, {"id"}, {"n"}}, arena);
    EXPECT_TRUE(values.ok());
    return {{std::string((*values)[0].as_string()), std::string((*values)[1].as_string())},
            (*values)[2].as_int64()};
}

/// Reads the feed page by page; what it was given survives crashes of the server, as a client's
/// would.
class Reader {
public:
    Reader(bool all_versions, uint32_t page_items)
        : all_versions_(all_versions), page_items_(page_items) {}

    void start_from_now(DurableEngine& server) {
        ChangeFeedRequest request = this->request();
        request.from_now = true;
        const auto answer = server.engine().read_changes(*server.container("c"), request);
        ASSERT_TRUE(answer.ok()) << answer.error().message;
        ASSERT_TRUE(answer->changes.empty());
        position_ = answer->position;
    }
    /// Some pages, or all there are.
    void read(DurableEngine& server, int pages) {
        for (; pages != 0; --pages) {
            ChangeFeedRequest request = this->request();
            request.continuation = position_;
            const auto answer = server.engine().read_changes(*server.container("c"), request);
            ASSERT_TRUE(answer.ok()) << answer.error().message;
            for (const auto& change : answer->changes) take(change);
            position_ = answer->position;
            if (answer->nothing_new) return;
        }
    }
    /// What replaying everything gives.
    const std::map<Name, int64_t>& state() const { return state_; }
    /// All versions: each item's history, -1 for a delete.
    const std::map<Name, std::vector<int64_t>>& history() const { return history_; }

private:
    ChangeFeedRequest request() const {
        ChangeFeedRequest request;
        request.all_versions = all_versions_;
        request.items_max = page_items_;
        return request;
    }
    void take(const partition::Change& change) {
        if (change.current.document == nullptr) {
            ASSERT_TRUE(all_versions_);
            ASSERT_NE(change.previous.document, nullptr);
            const Seen gone = seen_of(change.previous);
            ASSERT_EQ(change.id, gone.name.second);
            ASSERT_EQ(state_[gone.name], gone.n) << "a delete of another version";
            state_.erase(gone.name);
            history_[gone.name].push_back(-1);
            return;
        }
        const Seen seen = seen_of(change.current);
        if (all_versions_ && change.previous.document != nullptr) {
            ASSERT_EQ(seen_of(change.previous).n,
                      state_.contains(seen.name) ? state_[seen.name] : -2);
        }
        state_[seen.name] = seen.n;
        history_[seen.name].push_back(seen.n);
    }

    const bool all_versions_;
    const uint32_t page_items_;
    std::string position_;
    std::map<Name, int64_t> state_;
    std::map<Name, std::vector<int64_t>> history_;
};

class FeedModel {
public:
    explicit FeedModel(uint64_t seed) : random_(seed), latest_(false, 7), versions_(true, 5) {
        server_.create_container(
            R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},)"
            R"("defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":1000}})",
            12'000);
        versions_.start_from_now(server_);
    }

    void run(uint64_t rounds) {
        for (uint64_t round = 0; round < rounds && !::testing::Test::HasFatalFailure(); ++round) {
            SCOPED_TRACE("round " + std::to_string(round));
            for (int i = 0; i < 40; ++i) write();
            disturb();
            if (pick(2) == 0) latest_.read(server_, pick(6));
            if (pick(2) == 0) versions_.read(server_, pick(6));
            if (pick(3) == 0) check();
            server_.clock().advance_us(1'500'000);
        }
        check();
    }

private:
    int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
    Name name() { return {"k" + std::to_string(pick(kKeys)), "i" + std::to_string(pick(kIds))}; }

    static partition::ItemOperation upsert(const Name& name, int64_t n, bool expires) {
        partition::ItemOperation operation;
        operation.kind = OperationKind::kUpsert;
        operation.body = R"({"id":")" + name.second + R"(","pk":")" + name.first + R"(","n":)" +
                         std::to_string(n) + (expires ? R"(,"ttl":1})" : "}");
        return operation;
    }
    void note(const Name& name, int64_t n) {
        model_[name] = n;
        history_[name].push_back(n);
    }
    void note_delete(const Name& name) {
        model_.erase(name);
        history_[name].push_back(-1);
    }

    void write() {
        const auto container = server_.container("c");
        const Name target = name();
        partition::Transaction transaction;
        transaction.epk = DurableEngine::epk_of(*container, target.first);
        const int kind = pick(10);
        std::vector<std::pair<Name, int64_t>> effects;
        if (kind < 6) {
            effects.emplace_back(target, ++counter_);
            transaction.operations.push_back(upsert(target, counter_, false));
        } else if (kind < 8) {
            if (!model_.contains(target)) return;
            effects.emplace_back(target, -1);
            partition::ItemOperation operation;
            operation.kind = OperationKind::kDelete;
            operation.id = target.second;
            transaction.operations.push_back(std::move(operation));
        } else {
            transaction.is_batch = true;
            std::set<std::string> ids;
            for (int i = 0; i < 4; ++i) {
                const Name one{target.first, "i" + std::to_string(pick(kIds))};
                if (!ids.insert(one.second).second) continue;
                effects.emplace_back(one, ++counter_);
                transaction.operations.push_back(upsert(one, counter_, false));
            }
        }
        const auto answer = server_.execute(container, std::move(transaction));
        ASSERT_TRUE(answer.result.committed)
            << answer.result.results.front().status.error().message;
        for (const auto& [one, n] : effects)
            if (n < 0)
                note_delete(one);
            else
                note(one, n);
    }

    /// Items that expire and are removed at once: nobody sees them in between.
    void expire() {
        const auto container = server_.container("c");
        std::vector<Name> names;
        for (int i = 0; i < 3; ++i) {
            const Name one = name();
            partition::Transaction transaction;
            transaction.epk = DurableEngine::epk_of(*container, one.first);
            transaction.operations.push_back(upsert(one, ++counter_, true));
            ASSERT_TRUE(server_.execute(container, std::move(transaction)).result.committed);
            note(one, counter_);
            if (std::find(names.begin(), names.end(), one) == names.end()) names.push_back(one);
        }
        server_.clock().advance_us(3'000'000);
        for (const auto& range : container->ranges->ranges)
            ASSERT_TRUE(range.partition->remove_expired(100).ok());
        for (const Name& one : names) {
            note_delete(one);
        }
    }

    void change_ranges(bool merge, bool crash) {
        const auto container = server_.container("c");
        const auto& ranges = container->ranges->ranges;
        catalog::RangeChange change;
        change.container = container->rid;
        const size_t at = static_cast<size_t>(pick(static_cast<int>(ranges.size())));
        if (merge) {
            if (ranges.size() < 2) return;
            const size_t left = std::min(at, ranges.size() - 2);
            change.range_ids = {ranges[left].id, ranges[left + 1].id};
        } else {
            if (ranges.size() > 6) return;
            change.range_ids = {ranges[at].id};
        }
        catalog::RangeProgress progress;
        const auto step = static_cast<catalog::RangeProgress::Step>(pick(6));
        bool photographed = false;
        // The disk as a crash at this step would leave it. Writes in between were never
        // acknowledged by a server that crashed, so there are none.
        if (crash)
            progress.on_step = [&](catalog::RangeProgress::Step reached) {
                if (reached != step || photographed) return;
                photographed = true;
                server_.photograph();
            };
        // A range may have too few keys, or too much throughput to be merged.
        (void)server_.catalog().change_ranges(change, progress);
        if (crash) server_.crash();
    }

    void disturb() {
        switch (pick(10)) {
            case 0:
            case 1:
                return change_ranges(false, false);
            case 2:
                return change_ranges(true, false);
            case 3:
                return change_ranges(false, true);
            case 4:
                return change_ranges(true, true);
            case 5:
                return server_.restart();
            case 6:
                return server_.crash();
            case 7:
                return expire();
            case 8:
                for (const auto now = server_.container("c");
                     const auto& range : now->ranges->ranges)
                    ASSERT_TRUE(range.partition->trim_log(50).ok());
                return;
            default:
                ASSERT_TRUE(server_.store().flush().ok());
        }
    }

    std::map<Name, int64_t> stored() {
        std::map<Name, int64_t> out;
        FeedRequest request;
        request.items_max = 13;
        do {
            const auto page = server_.engine().read_feed(*server_.container("c"), request);
            EXPECT_TRUE(page.ok());
            if (!page.ok()) return out;
            for (const auto& item : page->items) {
                const Seen seen = seen_of(item);
                EXPECT_TRUE(out.emplace(seen.name, seen.n).second) << "an item twice in a feed";
            }
            request.continuation = page->continuation;
        } while (!request.continuation.empty());
        return out;
    }

    void check() {
        ASSERT_EQ(stored(), model_);
        versions_.read(server_, -1);
        ASSERT_EQ(versions_.state(), model_);
        ASSERT_EQ(versions_.history(), history_);
        latest_.read(server_, -1);
        // The latest versions say nothing of deletes: what is left over must have been deleted.
        for (const auto& [one, n] : model_) {
            const auto found = latest_.state().find(one);
            ASSERT_TRUE(found != latest_.state().end()) << one.first << "/" << one.second;
            ASSERT_EQ(found->second, n) << one.first << "/" << one.second;
        }
        // Versions of one item come in their order.
        for (const auto& [one, versions] : latest_.history())
            ASSERT_TRUE(std::is_sorted(versions.begin(), versions.end()))
                << one.first << "/" << one.second;
        // Whoever starts from the beginning is given exactly what there is, each item once.
        Reader fresh(false, 11);
        fresh.read(server_, -1);
        ASSERT_EQ(fresh.state(), model_);
        for (const auto& [one, versions] : fresh.history())
            ASSERT_EQ(versions.size(), 1U) << one.first << "/" << one.second;
        std::vector<std::string> findings;
        const auto view = server_.store().view();
        for (const auto now = server_.container("c"); const auto& range : now->ranges->ranges)
            ASSERT_TRUE(range.partition->check(*view, findings).ok());
        ASSERT_EQ(findings, std::vector<std::string>());
    }

    std::mt19937_64 random_;
    DurableEngine server_{false};
    Reader latest_;
    Reader versions_;
    int64_t counter_ = 0;
    std::map<Name, int64_t> model_;
    std::map<Name, std::vector<int64_t>> history_;
};

TEST(FeedModel, ReplayIsTheContainer) {
    const uint64_t seed = from_environment("ORRERY_FEED_SEED", 20'261'116);
    const uint64_t rounds = from_environment("ORRERY_FEED_ROUNDS", orrery::rounds(25u));
    SCOPED_TRACE("ORRERY_FEED_SEED=" + std::to_string(seed));
    FeedModel(seed).run(rounds);
}

}  // namespace
}  // namespace orrery::engine
