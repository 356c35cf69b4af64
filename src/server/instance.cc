#include "server/instance.h"

#include <algorithm>
#include <thread>

#include "base/errors.h"
#include "base/log.h"
#include "base/worker_pool.h"
#include "catalog/catalog.h"
#include "engine/door.h"
#include "engine/engine.h"
#include "engine/scripts.h"
#include "heads/explorer/explorer_head.h"
#include "heads/rest/rest_head.h"
#include "lab/lab.h"
#include "lab/pages.h"
#include "lab/recorder.h"
#include "lab/recording_file.h"
#include "net/http_protocol.h"
#include "net/server.h"
#include "net/tls.h"
#include "partition/item_cache.h"
#include "query/computed.h"
#include "server/init_file.h"

namespace orrery::server {
namespace {

constexpr int64_t kStopGraceMs = 1000;
/// Early enough to answer the scripts that cannot be interrupted before the grace period ends.
constexpr int64_t kStopScriptsMs = 500;
constexpr size_t kWorkersMin = 4;

bool is_loopback(const std::string& address) {
    return address == "localhost" || address == "::1" || address.starts_with("127.");
}

/// Gives each request to the head whose paths it names.
class HttpFront final : public net::HttpHandler {
public:
    explicit HttpFront(rest::RestHead& rest)
        : rest_(rest), explorer_(explorer::built_in_assets()) {}

    void handle(std::unique_ptr<net::HttpExchange> exchange) override {
        if (explorer::ExplorerHead::serves(exchange->request.target))
            return explorer_.handle(std::move(exchange));
        rest_.handle(std::move(exchange));
    }
    void refuse(int status, std::string_view why, net::HttpResponse& response) override {
        rest_.refuse(status, why, response);
    }

private:
    rest::RestHead& rest_;
    explorer::ExplorerHead explorer_;
};

class InstanceImpl final : public Instance {
public:
    ~InstanceImpl() override {
        if (const Status status = stop(); !status.ok()) log::error(status.error().message);
        release();
    }

    Status open(const InstanceOptions& options) {
        TRY(auto account, engine::Account::create(options.keys, options.account));
        account_ = std::make_unique<engine::Account>(std::move(account));
        if (!is_loopback(options.bind_address) && account_->uses_well_known_key())
            return Status(errors::bad_request(
                "Binding to " + options.bind_address +
                " needs a key of your own: everybody knows the emulator key. Pass --key with "
                "base64 of random bytes, "
                "for example: --key \"$(openssl rand -base64 64 | tr -d '\\n')\"."));
        const bool memory = options.data_folder.empty();

        storage::StoreOptions store_options;
        store_options.folder = options.data_folder;
        store_options.durability = options.durability;
        store_options.block_cache_bytes = options.cache_bytes / 2;
        store_options.clock = &clock_;
        TRY(store_, storage::Store::open(store_options));
        TRY(tls_, memory ? net::TlsIdentity::create_in_memory(options.tls_hosts)
                         : net::TlsIdentity::load_or_create(options.data_folder + "/tls",
                                                            options.tls_hosts));
        cache_ = std::make_unique<partition::ItemCache>(options.cache_bytes / 2);
        workers_ = std::make_unique<WorkerPool>(
            "worker", std::max<size_t>(kWorkersMin, std::thread::hardware_concurrency()));
        catalog::ThroughputSettings throughput = options.throughput;
        throughput.throttled = options.account.throttled;
        throughput.partition_ru_max = options.range_limits.throughput;
        TRY(catalog_, catalog::Catalog::load({*store_, *cache_, *workers_, clock_,
                                              query::compile_computed_properties, throughput,
                                              options.range_limits}));
        TRY_STATUS(store_->start());
        engine_ = std::make_unique<engine::Engine>(
            engine::Engine::Deps{*store_, *catalog_, *workers_, clock_, *account_});
        if (!options.init_file.empty()) TRY_STATUS(apply_init_file(options.init_file, *engine_));
        engine_->start_background();
        recorder_ = std::make_unique<lab::Recorder>(clock_);
        if (!memory && options.recording)
            lab::keep_recording(*recorder_, *catalog_, options.data_folder + "/lab");
        pages_ = std::make_unique<lab::Pages>(*engine_, *recorder_);
        lab_ = std::make_unique<lab::Lab>(*engine_, *recorder_);
        rest::RestHead::Options head;
        head.authority_pem = tls_->authority_pem();
        head.pages = pages_.get();
        head.lab = lab_.get();
        head.open_metrics = is_loopback(options.bind_address);
        door_ =
            std::make_unique<engine::Door>(*engine_, options.recording ? recorder_.get() : nullptr);
        head_ = std::make_unique<rest::RestHead>(*door_, std::move(head));
        front_ = std::make_unique<HttpFront>(*head_);
        network_ = std::make_unique<net::Server>();
        TRY(endpoints_,
            open_listeners(*network_, {.bind_address = options.bind_address, .tls = tls_.get()},
                           {{"NoSQL", "http", options.port, net::http_protocol(*front_)}}));
        return network_->start();
    }

    const std::vector<Endpoint>& endpoints() const override { return endpoints_; }

    Status stop() override {
        if (stopped_) return {};
        stopped_ = true;
        if (engine_ != nullptr) engine_->scripts().end_runs_in(kStopScriptsMs);
        if (network_ != nullptr) network_->stop(kStopGraceMs);
        // Commits of scripts and of views may need a worker.
        if (engine_ != nullptr) engine_->scripts().stop();
        if (engine_ != nullptr) engine_->stop_background();
        if (workers_ != nullptr) workers_->stop();
        // Closing answers the writes that are still queued: engine, heads and listeners must be
        // there.
        Status status;
        // Do this while the server still holds the folder.
        if (recorder_ != nullptr) recorder_->keep_now();
        if (store_ != nullptr) status = store_->close();
        if (stuck() == 0) release();
        return status;
    }

    size_t stuck() const override { return engine_ == nullptr ? 0 : engine_->scripts().stuck(); }

private:
    /// In the opposite order of open(). The engine waits for threads that are stuck.
    void release() {
        network_.reset();
        front_.reset();
        head_.reset();
        lab_.reset();
        pages_.reset();
        recorder_.reset();
        engine_.reset();
        door_.reset();
        catalog_.reset();
        store_.reset();
        workers_.reset();
    }

    bool stopped_ = false;
    SystemClock clock_;
    std::unique_ptr<engine::Account> account_;
    std::unique_ptr<storage::Store> store_;
    std::unique_ptr<net::TlsIdentity> tls_;
    std::unique_ptr<partition::ItemCache> cache_;
    std::unique_ptr<WorkerPool> workers_;
    std::unique_ptr<catalog::Catalog> catalog_;
    std::unique_ptr<engine::Engine> engine_;
    std::unique_ptr<lab::Recorder> recorder_;
    std::unique_ptr<lab::Pages> pages_;
    std::unique_ptr<lab::Lab> lab_;
    std::unique_ptr<engine::Door> door_;
    std::unique_ptr<rest::RestHead> head_;
    std::unique_ptr<HttpFront> front_;
    std::unique_ptr<net::Server> network_;
    std::vector<Endpoint> endpoints_;
};

}  // namespace

Result<std::unique_ptr<Instance>> Instance::start(const InstanceOptions& options) {
    auto instance = std::make_unique<InstanceImpl>();
    TRY_STATUS(instance->open(options));
    return std::unique_ptr<Instance>(std::move(instance));
}

Result<std::vector<std::string>> check_data_folder(const std::string& folder) {
    const SystemClock clock;
    storage::StoreOptions options;
    options.folder = folder;
    options.read_only = true;
    options.clock = &clock;
    TRY(const auto store, storage::Store::open(options));
    TRY_STATUS(store->verify_checksums());
    partition::ItemCache cache(0);
    WorkerPool workers("check", 1);
    TRY(const auto catalog, catalog::Catalog::load({*store, cache, workers, clock,
                                                    query::compile_computed_properties}));
    TRY_STATUS(store->start());
    const auto view = store->view();
    std::vector<std::string> findings;
    for (const auto& container : catalog->all_containers())
        for (const auto& range : container->ranges->ranges)
            TRY_STATUS(range.partition->check(*view, findings));
    return findings;
}

}  // namespace orrery::server
