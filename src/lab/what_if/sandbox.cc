#include "lab/what_if/sandbox.h"

#include <future>

#include "base/log.h"
#include "json/parse.h"
#include "query/computed.h"

namespace orrery::lab {
namespace {

constexpr uint64_t kCacheBytes = 8 << 20;
constexpr uint64_t kBlockCacheBytes = 32 << 20;
constexpr int64_t kManualPerPartition = 6000;  ///< RU/s at creation that give one more partition

/// An empty text: the default policy.
Result<index::IndexingPolicy> read_policy(const std::string& text) {
    if (text.empty()) return index::parse_indexing_policy({});
    json::Arena arena;
    TRY(const auto policy, json::parse(text, arena));
    return index::parse_indexing_policy(policy);
}

}  // namespace

Sandbox::Sandbox() : cache_(kCacheBytes), workers_("what-if", 1) {}

Result<std::unique_ptr<Sandbox>> Sandbox::open(const Options& options) {
    std::unique_ptr<Sandbox> sandbox(new Sandbox());
    TRY_STATUS(sandbox->start(options));
    return sandbox;
}

Status Sandbox::start(const Options& options) {
    TRY(auto account, engine::Account::create({}, {}));
    account_ = std::make_unique<engine::Account>(std::move(account));
    storage::StoreOptions store_options;
    store_options.clock = &clock_;
    store_options.block_cache_bytes = kBlockCacheBytes;
    TRY(store_, storage::Store::open(store_options));
    catalog::RangeLimits limits;
    limits.automatic = false;
    TRY(catalog_,
        catalog::Catalog::load(
            {*store_, cache_, workers_, clock_, query::compile_computed_properties, {}, limits}));
    TRY_STATUS(store_->start());
    engine_ = std::make_unique<engine::Engine>(
        engine::Engine::Deps{*store_, *catalog_, workers_, clock_, *account_});
    TRY_STATUS(catalog_->create_database({"lab", {}}).status().clone());
    catalog::NewContainer copy;
    copy.id = "copy";
    const auto kind =
        options.key_paths.size() > 1 ? partition::KeyKind::kMultiHash : partition::KeyKind::kHash;
    TRY(copy.definition.key, partition::make_partition_key_definition(kind, 2, options.key_paths));
    TRY(copy.definition.indexing, read_policy(options.indexing_policy));
    copy.throughput.manual = options.partitions > 1 ? options.partitions * kManualPerPartition
                                                    : std::max<int64_t>(400, options.throughput);
    TRY(container_, catalog_->create_container("lab", std::move(copy)));
    const auto offer = catalog_->offer_of(container_->rid_text);
    if (offer != nullptr && offer->value() != options.throughput) {
        const catalog::OfferChange change{options.throughput, {}};
        TRY_STATUS(catalog_->replace_offer(offer->rid, change, catalog::Migrate::kNo, {})
                       .status()
                       .clone());
        container_ = catalog_->find_container("lab", "copy");
    }
    return {};
}

Sandbox::~Sandbox() {
    if (engine_ != nullptr) engine_->stop_background();
    workers_.stop();
    if (store_ != nullptr)
        if (const Status status = store_->close(); !status.ok()) log::error(status.error().message);
    container_.reset();
    engine_.reset();
    catalog_.reset();
    store_.reset();
}

engine::TransactionAnswer Sandbox::execute(std::string epk, partition::ItemOperation operation,
                                           const engine::RequestTerms& terms) {
    partition::Transaction transaction;
    transaction.epk = std::move(epk);
    transaction.operations.push_back(std::move(operation));
    std::promise<engine::TransactionAnswer> answered;
    auto answer = answered.get_future();
    engine_->execute(
        container_, std::move(transaction), terms,
        [&answered](engine::TransactionAnswer outcome) { answered.set_value(std::move(outcome)); });
    return answer.get();
}

}  // namespace orrery::lab
