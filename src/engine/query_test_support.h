#pragma once

#include <future>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine_test_support.h"
#include "engine/light_query.h"
#include "json/item.h"
#include "json/parse.h"
#include "json/problems.h"
#include "partition/client_item.h"

/// Containers for query tests: items go in by key, queries come out page by page.
namespace orrery::engine::testing_support {

inline constexpr uint32_t kUnlimitedPage = 1'000'000;

struct QueryContainerSpec {
    /// JSON of the definition.
    std::string partition_key = R"({"paths":["/id"],"kind":"Hash","version":2})";
    std::string indexing_policy;      ///< JSON; empty: the default
    std::string computed_properties;  ///< JSON; empty: none
    bool several_partitions = false;
    std::optional<int64_t> default_ttl;
    bool planar = false;  ///< coordinates are points in a plane
};

struct QueryOutcome {
    std::optional<std::string> error;
    std::vector<std::string> rows;
    size_t pages = 0;
    std::string continuation;        ///< of the last page
    std::set<std::string> accesses;  ///< how partitions were read: "scan", "index", …
    std::set<std::string> details;   ///< … and what it was: "/a", "(/a or /b)", …
    uint64_t candidates = 0;         ///< items that were looked at …
    uint64_t loaded = 0;             ///< … and read
    std::set<std::vector<std::string>> composites;  ///< utilized, by their members
    uint64_t charged_items = 0;                     ///< loaded, as the charge counts them …
    uint64_t charged_entries = 0;                   ///< … entries of the index …
    uint64_t charged_seeks = 0;                     ///< … and look-ups
};

struct QueryOptions {
    uint32_t page_rows = kUnlimitedPage;
    std::string parameters = "null";
    bool use_index = true;
    /// JSON array of the partition key (or a prefix) to stay within; empty: the whole container.
    std::string partition_key;
};

/// One container of a TestEngine. Owned by one thread.
class QueryContainer {
public:
    /// nullopt when the definition is refused.
    static std::optional<QueryContainer> create(TestEngine& engine,
                                                const QueryContainerSpec& spec) {
        static int number = 0;
        if (engine.catalog().find_database("q") == nullptr) engine.create_database("q");
        const std::string body = definition("c" + std::to_string(++number), spec);
        json::Arena arena;
        catalog::ThroughputRequest throughput;
        if (spec.several_partitions) throughput.manual = 30'000;
        auto made = rest::by_body::create_container(engine.catalog(), "q",
                                                    *json::parse(body, arena), throughput);
        if (!made.ok()) return std::nullopt;
        CHECK(!spec.several_partitions || (*made)->ranges->ranges.size() > 1);
        return QueryContainer(engine, *made, spec);
    }
    /// Replaces the indexing policy; the index follows in the background.
    bool set_policy(const std::string& policy) {
        return set_policy(policy, spec_.computed_properties);
    }
    bool set_policy(const std::string& policy, const std::string& computed_properties) {
        spec_.indexing_policy = policy;
        spec_.computed_properties = computed_properties;
        json::Arena arena;
        auto replaced = rest::by_body::replace_container(
            engine_->catalog(), "q", container_->id,
            *json::parse(definition(container_->id, spec_), arena), "");
        if (replaced.ok()) container_ = *replaced;
        return replaced.ok();
    }
    void drop() { CHECK(engine_->catalog().delete_container("q", container_->id, "").ok()); }

    const catalog::Container& container() const { return *container_; }
    inline static uint64_t answers_in_memory = 0;

    /// Writes an item; false when it is refused.
    bool upsert(const std::string& body) {
        return execute(partition::OperationKind::kUpsert, "", body, body);
    }
    /// `body`: as it was written, for its key.
    bool remove(const std::string& body) {
        json::Arena arena;
        const std::string id(json::parse(body, arena)->member("id").as_string());
        return execute(partition::OperationKind::kDelete, id, "", body);
    }

    /// All items as clients see them, in docref order.
    std::vector<std::string> items() const {
        std::vector<std::string> out;
        FeedRequest request;
        do {
            auto feed = engine_->engine().read_feed(*container_, request);
            CHECK(feed.ok());
            for (const auto& item : feed->items)
                out.push_back(partition::client_item(*container_->settings, item));
            request.continuation = feed->continuation;
        } while (!request.continuation.empty());
        return out;
    }

    /// All pages of a query.
    QueryOutcome query(const std::string& text, const QueryOptions& options = {}) const {
        QueryOutcome outcome;
        do {
            next_page(text, options, outcome);
            if (outcome.pages > 100'000) outcome.error = "it does not end";
        } while (!outcome.error && !outcome.continuation.empty());
        return outcome;
    }
    /// Adds the next page to `outcome`.
    void next_page(const std::string& text, const QueryOptions& options,
                   QueryOutcome& outcome) const {
        json::Arena arena;
        QueryRequest request;
        request.text = text;
        request.parameters = *json::parse(options.parameters, arena);
        request.items_max = options.page_rows;
        request.use_index = options.use_index;
        request.explain = true;
        request.continuation = outcome.continuation;
        if (!options.partition_key.empty()) {
            auto components = partition::parse_partition_key_header(options.partition_key, arena);
            CHECK(components.ok());
            const auto& key = container_->settings->key;
            const std::string epk = partition::effective_partition_key(key, *components).value();
            request.range = partition::range_of_key(epk);
            if (components->size() == key.paths.size()) request.full_epk = epk;
        }
        const auto settings = settings_now();
        auto answer = engine_->engine().query(*container_, request);
        std::string difference = compare_in_memory(request, answer);
        if (difference.empty()) difference = compare_repeated(request, answer);
        // The index followed a change of its policy meanwhile.
        if (settings != settings_now()) difference.clear();
        if (!answer.ok() || !difference.empty()) {
            outcome.error = difference.empty() ? json::error_text(answer.error()) : difference;
            return;
        }
        ++outcome.pages;
        for (const auto& access : answer->page.accesses) {
            outcome.accesses.insert(access.access);
            outcome.details.insert(access.detail);
            outcome.candidates += access.candidates;
            outcome.loaded += access.loaded;
        }
        for (const auto& work : answer->page.work) {
            outcome.charged_items += work.loaded_items;
            outcome.charged_entries += work.index_entries;
            outcome.charged_seeks += work.seeks;
        }
        const auto& composites = answer->page.index_use.utilized_composite;
        outcome.composites.insert(composites.begin(), composites.end());
        const auto& rows = answer->rows;
        if (rows.size() > options.page_rows)
            outcome.error = "a page of " + std::to_string(rows.size()) + " rows";
        for (const std::string_view row : rows) outcome.rows.emplace_back(row);
        outcome.continuation = answer->continuation;
    }

private:
    /// Whoever may not wait gets the same answer at the same price, or none. Empty: so it is.
    std::string compare_in_memory(const QueryRequest& request,
                                  const Result<QueryAnswer>& expected) const {
        if (varies(request.text)) return "";
        const auto light = query_in_memory(engine_->engine(), *container_, request);
        if (!light) return "";
        ++answers_in_memory;
        if (light->ok() != expected.ok()) return "in memory another outcome";
        if (!light->ok())
            return json::error_text(light->error()) == json::error_text(expected.error())
                       ? ""
                       : "in memory another error";
        if ((*light)->rows != expected->rows) return "in memory other rows";
        if (meter::ru_text((*light)->charge) != meter::ru_text(expected->charge))
            return "in memory another charge";
        return "";
    }

    /// What earlier runs left in memory shows in nothing but the time. Empty: so it is.
    std::string compare_repeated(const QueryRequest& request,
                                 const Result<QueryAnswer>& expected) const {
        if (!request.full_epk || !expected.ok() || varies(request.text)) return "";
        // A pass that a page continues is not there a second time, and costs more.
        const bool continued = !request.continuation.empty();
        for (int i = 0; i < 2; ++i) {
            const auto again = engine_->engine().query(*container_, request);
            if (!again.ok()) return "repeated, an error: " + again.error().message;
            if (again->rows != expected->rows) return "repeated, other rows";
            if (again->continuation.empty() != expected->continuation.empty())
                return "repeated, another end";
            if (continued) continue;
            if (meter::ru_text(again->charge) != meter::ru_text(expected->charge))
                return "repeated, another charge";
            if (again->page.position != expected->page.position)
                return "repeated, another position";
            if (accesses_text(again->page) != accesses_text(expected->page))
                return "repeated, other reports: " + accesses_text(expected->page) + " then " +
                       accesses_text(again->page);
        }
        return "";
    }
    partition::ContainerSettingsPtr settings_now() const {
        return container_->ranges->ranges[0].partition->settings();
    }
    static std::string accesses_text(const query::PageAnswer& page) {
        std::string out;
        for (const query::AccessReport& one : page.accesses)
            out += one.access + " " + one.detail + " " + std::to_string(one.candidates) + " " +
                   std::to_string(one.loaded) + " " + std::to_string(one.matched) + "; ";
        return out + std::to_string(page.retrieved_items) + " items";
    }
    static bool varies(const std::string& text) {
        for (const char* varying : {"RAND", "GUID", "rand", "guid"})
            if (text.find(varying) != std::string::npos) return true;
        return false;
    }

    QueryContainer(TestEngine& engine, catalog::ContainerPtr container, QueryContainerSpec spec)
        : engine_(&engine), container_(std::move(container)), spec_(std::move(spec)) {}

    static std::string definition(const std::string& id, const QueryContainerSpec& spec) {
        std::string body = R"({"id":")" + id + R"(","partitionKey":)" + spec.partition_key;
        if (!spec.indexing_policy.empty()) body += R"(,"indexingPolicy":)" + spec.indexing_policy;
        if (!spec.computed_properties.empty())
            body += R"(,"computedProperties":)" + spec.computed_properties;
        if (spec.planar) body += R"(,"geospatialConfig":{"type":"Geometry"})";
        if (spec.default_ttl) body += R"(,"defaultTtl":)" + std::to_string(*spec.default_ttl);
        return body + "}";
    }

    bool execute(partition::OperationKind kind, std::string id, std::string body,
                 const std::string& keyed) {
        const auto& key = container_->settings->key;
        json::Arena arena;
        auto components = json::extract(keyed, key.member_paths, arena);
        if (!components.ok()) return false;
        for (json::Value& component : *components)
            if (!component.is_scalar()) component = json::Value();
        auto epk = partition::effective_partition_key(key, *components);
        if (!epk.ok()) return false;
        partition::ItemOperation operation;
        operation.kind = kind;
        operation.id = std::move(id);
        operation.body = std::move(body);
        partition::Transaction transaction;
        transaction.epk = std::move(epk).value();
        transaction.operations.push_back(std::move(operation));
        std::promise<bool> done;
        engine_->engine().execute(container_, std::move(transaction),
                                  [&](TransactionAnswer answer) {
                                      done.set_value(answer.result.results[0].status.ok());
                                  });
        return done.get_future().get();
    }

    TestEngine* engine_;
    catalog::ContainerPtr container_;
    QueryContainerSpec spec_;
};

}  // namespace orrery::engine::testing_support
