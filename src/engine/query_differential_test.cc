#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/rounds_test_support.h"
#include "engine/query_generator_test_support.h"
#include "engine/query_reference_test_support.h"
#include "engine/query_test_support.h"

// Random items, changes and queries: with and without index, over one and several partitions, by
// pages and at once, in the whole container and within one partition key, the engine must answer
// what the evaluator answers over the same items.
//
//   ORRERY_DIFFERENTIAL_SECONDS   how long to look; default: a fixed number of rounds
//   ORRERY_DIFFERENTIAL_SEED      first seed, default 1; every round has its own
//   ORRERY_DIFFERENTIAL_FAILURES  end after so many differences, default 8
//
// A difference is reduced to the fewest changes and members that still show it.
namespace orrery::engine {
namespace {

using testing_support::compare_rows;
using testing_support::QueryContainer;
using testing_support::QueryContainerSpec;
using testing_support::QueryGenerator;
using testing_support::QueryOptions;
using testing_support::QueryOutcome;
using testing_support::Reference;
using testing_support::ReferenceRun;
using testing_support::TestEngine;

/// One change of the container, repeatable.
struct Change {
    enum class Kind { kUpsert, kRemove, kFlush, kWait, kPolicy } kind = Kind::kUpsert;
    std::string body;  ///< of the item; the policy
};
constexpr const char* kChangeNames[] = {"upsert", "remove", "flush", "wait", "policy"};
constexpr int64_t kWaitSeconds = 3;

struct Case {
    QueryContainerSpec spec;
    bool may_refuse_order = false;  ///< the policy leaves paths out
    std::vector<Change> changes;
    std::string query;
    QueryOptions options;
};

void apply(QueryContainer& container, TestEngine& engine, const Change& change) {
    switch (change.kind) {
        case Change::Kind::kUpsert:
            CHECK(container.upsert(change.body));
            return;
        case Change::Kind::kRemove:
            container.remove(change.body);
            return;
        case Change::Kind::kFlush:
            CHECK(engine.engine().store().flush().ok());
            return;
        case Change::Kind::kWait:
            return;  // moves the clock, once for all containers
        case Change::Kind::kPolicy:
            CHECK(container.set_policy(change.body));
            return;
    }
}

/// Items within the key that the options name.
std::vector<std::string> items_in_scope(const QueryContainer& container,
                                        const QueryOptions& options) {
    std::vector<std::string> items = container.items();
    if (options.partition_key.empty()) return items;
    std::erase_if(items, [&](const std::string& item) {
        json::Arena arena;
        const json::Value key = testing_support::parse_json(item, arena).member("pk");
        return "[" + json::to_text(key) + "]" != options.partition_key;
    });
    return items;
}

/// What is wrong with the engine's answer; empty: nothing.
std::string verdict(const QueryContainer& container, const Case& c,
                    const std::vector<std::string>& items,
                    std::map<std::string, uint64_t>* accesses = nullptr) {
    const Reference reference = ReferenceRun(items, c.options.parameters).run(c.query);
    const QueryOutcome outcome = container.query(c.query, c.options);
    if (accesses != nullptr)
        for (const std::string& access : outcome.accesses) ++(*accesses)[access];
    // An OR with a test of values, or one beside it.
    const bool tests = c.query.find("ENDSWITH") != std::string::npos;
    if (accesses != nullptr && tests)
        for (const std::string& detail : outcome.details)
            if (detail.find(" or ") != std::string::npos) ++(*accesses)["union"];
    if (outcome.error.has_value() != reference.error.has_value()) {
        const bool order_refused = outcome.error && reference.sort_keys > 0 &&
                                   (c.may_refuse_order || !c.options.use_index) &&
                                   outcome.error->find("rder") != std::string::npos;
        if (order_refused) return "";
        return outcome.error ? "error: " + *outcome.error : "no error: " + *reference.error;
    }
    return outcome.error ? "" : compare_rows(reference, outcome.rows);
}

class Shrinker {
public:
    explicit Shrinker(Case failing) : case_(std::move(failing)) {}

    /// The smallest case found, and what is wrong with it. Empty message: it does not repeat.
    std::pair<Case, std::string> shrink() {
        message_ = attempt(case_);
        if (message_.empty()) return {case_, ""};
        drop_changes();
        drop_members();
        drop_changes();
        return {case_, message_};
    }

private:
    static constexpr int kAttemptsMax = 1500;

    std::string attempt(const Case& c) {
        ++attempts_;
        TestEngine& engine = this->engine();
        auto container = QueryContainer::create(engine, c.spec);
        CHECK(container.has_value());
        for (const Change& change : c.changes) {
            apply(*container, engine, change);
            if (change.kind == Change::Kind::kWait) engine.clock().advance_seconds(kWaitSeconds);
        }
        std::string message = verdict(*container, c, items_in_scope(*container, c.options));
        container->drop();
        return message;
    }
    TestEngine& engine() {
        // What earlier attempts left behind must not grow without bound.
        if (attempts_ % 200 == 0 || engine_ == nullptr) engine_ = std::make_unique<TestEngine>();
        return *engine_;
    }
    bool keep_if_failing(Case smaller) {
        if (attempts_ > kAttemptsMax) return false;
        std::string message = attempt(smaller);
        if (message.empty()) return false;
        case_ = std::move(smaller);
        message_ = std::move(message);
        return true;
    }
    void drop_changes() {
        for (size_t chunk = (case_.changes.size() + 1) / 2; chunk > 0; chunk /= 2) {
            for (size_t at = 0; at < case_.changes.size();) {
                Case smaller = case_;
                const auto first = smaller.changes.begin() + static_cast<ptrdiff_t>(at);
                const size_t count = std::min(chunk, smaller.changes.size() - at);
                smaller.changes.erase(first, first + static_cast<ptrdiff_t>(count));
                if (!keep_if_failing(std::move(smaller))) at += chunk;
            }
        }
    }
    void drop_members() {
        for (size_t at = 0; at < case_.changes.size(); ++at) {
            if (case_.changes[at].kind != Change::Kind::kUpsert) continue;
            json::Arena arena;
            const std::string body = case_.changes[at].body;
            for (const json::Member& member : testing_support::parse_json(body, arena).members()) {
                if (member.name == "id" || member.name == "pk") continue;
                Case smaller = case_;
                smaller.changes[at].body = without(case_.changes[at].body, member.name);
                keep_if_failing(std::move(smaller));
            }
        }
    }
    static std::string without(const std::string& body, std::string_view name) {
        json::Arena arena;
        const json::Value item = testing_support::parse_json(body, arena);
        std::vector<json::Member> members;
        for (const json::Member& member : item.members())
            if (member.name != name) members.push_back(member);
        return json::to_text(json::Value::object(members));
    }

    Case case_;
    std::string message_;
    int attempts_ = 0;
    std::unique_ptr<TestEngine> engine_;
};

std::string describe(const Case& c) {
    std::string out = "query       " + c.query + "\nparameters  " + c.options.parameters;
    if (!c.options.partition_key.empty()) out += "\nwithin key  " + c.options.partition_key;
    out += "\npage rows   " + std::to_string(c.options.page_rows);
    out += std::string("\nindex       ") + (c.options.use_index ? "used" : "not used");
    out += std::string("\npartitions  ") + (c.spec.several_partitions ? "several" : "one");
    out += "\npolicy      " + (c.spec.indexing_policy.empty() ? "default" : c.spec.indexing_policy);
    out += "\nkey         " + c.spec.partition_key;
    if (c.spec.default_ttl) out += "\ntime to live " + std::to_string(*c.spec.default_ttl);
    for (const Change& change : c.changes) {
        std::string name = kChangeNames[static_cast<size_t>(change.kind)];
        name.resize(12, ' ');
        out += "\n" + name + change.body;
    }
    return out;
}

/// One policy, a container with one and one with several partitions, a history of changes with
/// queries in between.
class Round {
public:
    using Accesses = std::map<std::string, uint64_t>;
    Round(uint64_t seed, Accesses& accesses) : seed_(seed), random_(seed), accesses_(accesses) {}

    /// False after a difference.
    bool run(TestEngine& engine) {
        Case base;
        bool composites = false;
        bool complete = false;
        base.spec.partition_key = random_.key_definition();
        if (random_.chance(25)) base.spec.default_ttl = random_.chance(50) ? -1 : 8;
        ttl_ = base.spec.default_ttl.has_value();
        base.spec.indexing_policy = random_.policy(composites, complete);
        base.may_refuse_order = !complete;
        std::vector<QueryContainer> containers;
        for (const bool several : {false, true}) {
            base.spec.several_partitions = several;
            auto made = QueryContainer::create(engine, base.spec);
            EXPECT_TRUE(made.has_value()) << "refused: " << base.spec.indexing_policy;
            if (!made) return false;
            containers.push_back(std::move(*made));
        }
        const auto change = [&](Change c) {
            for (QueryContainer& container : containers) apply(container, engine, c);
            if (c.kind == Change::Kind::kWait) engine.clock().advance_seconds(kWaitSeconds);
            base.changes.push_back(std::move(c));
        };
        id_count_ = random_.chance(10) ? 300 : 70;
        for (uint64_t n = random_.below(id_count_); n > 0; --n) change(upsert());
        bool ok = true;
        for (int i = 0; i < kQueriesPerRound && ok; ++i) {
            for (uint64_t n = random_.below(5); n > 0; --n) change(next_change());
            if (random_.chance(10)) change({Change::Kind::kFlush, ""});
            if (ttl_ && random_.chance(30)) change({Change::Kind::kWait, ""});
            if (random_.chance(2)) {
                // While the index follows, what it serves is between two policies.
                const std::string policy = random_.policy(composites, complete);
                change({Change::Kind::kPolicy, policy.empty() ? kEverything : policy});
                composites = false;
                base.may_refuse_order = true;
            }
            const auto query =
                random_.chance(20) ? random_.path_query() : random_.query(composites);
            base.query = query.text;
            base.options.parameters = query.parameters;
            for (QueryContainer& container : containers) {
                base.spec.several_partitions = &container != &containers[0];
                ok = ok && check(container, base);
            }
        }
        for (QueryContainer& container : containers) container.drop();
        return ok;
    }

private:
    static constexpr int kQueriesPerRound = 15;
    static constexpr const char* kEverything = R"({"includedPaths":[{"path":"/*"}]})";

    Change upsert() {
        // Some replace an item; its key may not change.
        const std::string id = std::to_string(random_.below(id_count_));
        std::string body = random_.item(std::stoull(id), ttl_);
        const auto known = bodies_.find(id);
        if (known != bodies_.end()) {
            const auto key_of = [](const std::string& text) {
                const size_t at = text.find(R"("pk":)") + 5;
                return std::pair(at, text.find_first_of(",}", at) - at);
            };
            const auto [old_at, old_size] = key_of(known->second);
            const auto [at, size] = key_of(body);
            body.replace(at, size, known->second.substr(old_at, old_size));
        }
        bodies_[id] = body;
        return {Change::Kind::kUpsert, body};
    }
    Change next_change() {
        if (bodies_.empty() || random_.chance(65)) return upsert();
        auto at = bodies_.begin();
        std::advance(at, static_cast<ptrdiff_t>(random_.below(bodies_.size())));
        Change out{Change::Kind::kRemove, at->second};
        bodies_.erase(at);
        return out;
    }

    /// One query in all ways over one container.
    bool check(const QueryContainer& container, const Case& base) {
        std::vector<QueryOptions> ways(3, base.options);
        ways[1].page_rows = static_cast<uint32_t>(random_.below(5) + 1);
        ways[2].use_index = false;
        ways[2].page_rows = random_.chance(50) ? 3 : testing_support::kUnlimitedPage;
        ways.push_back(base.options);
        ways[3].partition_key = "[" + random_.partition_key() + "]";
        ways[3].page_rows = random_.chance(50) ? 2 : testing_support::kUnlimitedPage;
        const std::vector<std::string> all = container.items();
        for (const QueryOptions& options : ways) {
            Case c = base;
            c.options = options;
            const std::string message =
                verdict(container, c,
                        options.partition_key.empty() ? all : items_in_scope(container, options),
                        &accesses_);
            if (message.empty()) continue;
            const auto [small, small_message] = Shrinker(c).shrink();
            ADD_FAILURE() << "seed " << seed_ << "\n"
                          << (small_message.empty()
                                  ? message + " (it does not repeat in a new container)"
                                  : small_message)
                          << "\n"
                          << describe(small);
            return false;
        }
        return true;
    }

    const uint64_t seed_;
    QueryGenerator random_;
    Accesses& accesses_;
    std::map<std::string, std::string> bodies_;  // by id
    uint64_t id_count_ = 0;
    bool ttl_ = false;
};

uint64_t environment(const char* name, uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(QueryDifferential, EngineAnswersAsTheEvaluator) {
    constexpr uint64_t kRounds = orrery::rounds(25u);
    constexpr uint64_t kRoundsForAll = 25;  // that every way to read is among them
    const uint64_t first = environment("ORRERY_DIFFERENTIAL_SEED", 1);
    const uint64_t failures_max = environment("ORRERY_DIFFERENTIAL_FAILURES", 8);
    const uint64_t seconds = environment("ORRERY_DIFFERENTIAL_SECONDS", 0);
    const auto started = std::chrono::steady_clock::now();
    std::unique_ptr<TestEngine> engine;
    Round::Accesses accesses;
    uint64_t failures = 0;
    uint64_t rounds = 0;
    uint64_t run_hits = 0;  // runs of keys that were found in memory
    for (; failures < failures_max; ++rounds) {
        const auto passed = std::chrono::steady_clock::now() - started;
        if (seconds == 0 ? rounds >= kRounds : passed > std::chrono::seconds(seconds)) break;
        if (rounds % 100 == 0) {
            if (engine != nullptr) run_hits += engine->cache().key_runs().hits();
            engine = std::make_unique<TestEngine>();
        }
        if (!Round(first + rounds, accesses).run(*engine)) ++failures;
    }
    std::printf("%llu rounds\n", static_cast<unsigned long long>(rounds));
    // A comparison of scans with scans would prove nothing.
    for (const char* access :
         {"points", "scan", "index", "index order", "sort", "index only", "union"}) {
        std::printf("  %-12s %llu\n", access, static_cast<unsigned long long>(accesses[access]));
        EXPECT_TRUE(accesses[access] > 0 || rounds < kRoundsForAll) << access;
    }
    EXPECT_TRUE(QueryContainer::answers_in_memory > 100 || rounds < kRoundsForAll);
    run_hits += engine->cache().key_runs().hits();
    std::printf("  %-12s %llu\n", "run hits", static_cast<unsigned long long>(run_hits));
    EXPECT_TRUE(run_hits > 50 || rounds < kRoundsForAll);
}

}  // namespace
}  // namespace orrery::engine
