#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/encoding.h"
#include "base/errors.h"
#include "base/random.h"
#include "catalog/catalog_impl.h"

namespace orrery::catalog {
namespace {

constexpr size_t kSecretBytes = 32;

/// Database numbers of an account start at random, so that clients which survive the account (a
/// test server that was started anew) do not take its resources for those they knew.
uint32_t random_first_database() {
    constexpr uint32_t kFirst = 0x0100'0000;
    constexpr uint32_t kSpan = 0x6000'0000;
    return kFirst + static_cast<uint32_t>(random_u64() % kSpan);
}

Error inconsistent(std::string_view what) {
    return errors::internal(
        fmt::format("The catalog is damaged: {}. Run `orrery check` on the data folder.", what));
}

}  // namespace

/// Records that wait for others while the catalog is read.
struct Loaded {
    std::vector<records::Container> containers;
    absl::flat_hash_map<storage::PartitionId, records::Partition> partitions;
    std::vector<records::Offer> offers;
    std::vector<records::MaterializedView> materialized_views;
    std::vector<records::Move> moves;
};

Result<std::unique_ptr<Catalog>> Catalog::load(const Deps& deps) {
    auto catalog = std::make_unique<CatalogImpl>(deps);
    TRY_STATUS(catalog->load_all());
    return std::unique_ptr<Catalog>(std::move(catalog));
}

Status CatalogImpl::load_all() {
    state_.account.next_database = random_first_database();
    Loaded loaded;
    const storage::ViewPtr view = deps_.store.view();
    const std::string begin = records::catalog_prefix();
    const auto cursor = view->scan(storage::Family::kMeta, begin, prefix_successor(begin));
    for (; cursor->valid(); cursor->next())
        TRY_STATUS(load_record(cursor->key(), cursor->value(), loaded));
    TRY_STATUS(cursor->status());
    TRY_STATUS(load_containers(loaded));
    TRY_STATUS(load_offers(loaded));
    TRY_STATUS(link_materialized_views(loaded.materialized_views));
    if (!state_.account_stored) {
        state_.account.secret.resize(kSecretBytes);
        random_bytes(state_.account.secret.data(), kSecretBytes);
    }
    secret_ = state_.account.secret;
    roll_back_moves(loaded);
    return replay();
}

// Keys come in the order of their kinds: a parent before its children.
Status CatalogImpl::load_record(std::string_view key, std::string_view value, Loaded& loaded) {
    const auto kind = records::kind_of(key);
    if (!kind)
        return Status(inconsistent("unknown record " + hex_encode_upper(key) +
                                   ", perhaps of a newer version of this server"));
    const auto read = [](auto result, auto use) -> Status {
        if (!result.ok()) return std::move(result).take_status();
        return use(std::move(result).value());
    };
    switch (*kind) {
        case records::Kind::kAccount:
            return read(records::decode_account(key, value),
                        [&](records::Account record) -> Status {
                            state_.account = std::move(record);
                            state_.account_stored = true;
                            return {};
                        });
        case records::Kind::kDatabase:
            return read(
                records::decode_database(key, value), [&](records::Database record) -> Status {
                    DatabaseNode node;
                    node.database = make_database(record);
                    node.record = std::move(record);
                    const DatabasePtr database = node.database;
                    state_.databases.add(database->rid.number, database->id, std::move(node));
                    return {};
                });
        case records::Kind::kContainer:
            return read(records::decode_container(key, value),
                        [&](records::Container record) -> Status {
                            loaded.containers.push_back(std::move(record));
                            return {};
                        });
        case records::Kind::kPartition:
            return read(records::decode_partition(key, value),
                        [&](records::Partition record) -> Status {
                            loaded.partitions.emplace(record.id, std::move(record));
                            return {};
                        });
        case records::Kind::kOffer:
            return read(records::decode_offer(key, value), [&](records::Offer record) -> Status {
                loaded.offers.push_back(std::move(record));
                return {};
            });
        case records::Kind::kUser:
            return read(records::decode_user(key, value), [&](records::User record) -> Status {
                DatabaseNode* database = state_.databases.find_number(record.rid.database.number);
                if (database == nullptr) return Status(inconsistent("a user without database"));
                UserNode node;
                node.user = make_user(record, database->database);
                node.record = std::move(record);
                const UserPtr user = node.user;
                database->users.add(user->rid.number, user->id, std::move(node));
                return {};
            });
        case records::Kind::kPermission:
            return read(records::decode_permission(key, value),
                        [&](const records::Permission& record) -> Status {
                            DatabaseNode* database =
                                state_.databases.find_number(record.rid.user.database.number);
                            UserNode* user =
                                database == nullptr
                                    ? nullptr
                                    : database->users.find_number(record.rid.user.number);
                            if (user == nullptr)
                                return Status(inconsistent("a permission without user"));
                            user->permissions.add(record.rid.number, record.id,
                                                  {make_permission(record, user->user)});
                            return {};
                        });
        case records::Kind::kEncryptionKey:
            return read(
                records::decode_encryption_key(key, value),
                [&](const records::EncryptionKey& record) -> Status {
                    DatabaseNode* database =
                        state_.databases.find_number(record.rid.database.number);
                    if (database == nullptr)
                        return Status(inconsistent("a client encryption key without database"));
                    database->encryption_keys.add(
                        record.rid.number, record.id,
                        {make_encryption_key(record, database->database)});
                    return {};
                });
        case records::Kind::kMaterializedView:
            return read(records::decode_materialized_view(key, value),
                        [&](records::MaterializedView record) -> Status {
                            loaded.materialized_views.push_back(std::move(record));
                            return {};
                        });
        case records::Kind::kMove:
            return read(records::decode_move(key, value), [&](records::Move record) -> Status {
                loaded.moves.push_back(std::move(record));
                return {};
            });
        case records::Kind::kRangeRequest:
            return read(records::decode_range_request(key, value),
                        [&](RangeRequest request) -> Status {
                            kept_requests_.push_back(std::move(request));
                            return {};
                        });
        case records::Kind::kScript:
            return read(records::decode_script(key, value), [&](records::Script record) -> Status {
                DatabaseNode* database =
                    state_.databases.find_number(record.container.database.number);
                if (database == nullptr) return Status(inconsistent("a script without database"));
                const ScriptPtr script = make_script(std::move(record));
                database->scripts[script->container.number]
                    .of(script->type)
                    .add(script->number, script->id, {script});
                return {};
            });
    }
    return Status(inconsistent("unknown record"));
}

namespace {

/// Containers are mostly alike but for their names: each distinct definition is read once.
class Definitions {
public:
    struct Known {
        ContainerDefinitionPtr definition;
        partition::ContainerSettings settings;
        std::string bytes;  ///< as it is written from now on
    };
    explicit Definitions(const index::ComputedCompiler& compiler) : compiler_(compiler) {}

    Result<const Known*> of(const records::Container& record) {
        const bool json = !record.json_tail.empty();
        const std::string& text = json ? record.json_tail : record.definition;
        const auto found = known_.find(text);
        if (found != known_.end()) return &found->second;
        TRY(ContainerDefinition definition,
            json ? definition_of_json(text) : decode_definition(text));
        Known known;
        TRY(known.settings, settings_of(definition, compiler_));
        known.bytes = json ? encode_definition(definition) : text;
        known.definition = std::make_shared<const ContainerDefinition>(std::move(definition));
        return &known_.emplace(text, std::move(known)).first->second;
    }

private:
    const index::ComputedCompiler& compiler_;
    std::map<std::string, Known> known_;
};

}  // namespace

Status CatalogImpl::load_containers(Loaded& loaded) {
    Definitions definitions(deps_.compile_computed);
    for (records::Container& record : loaded.containers) {
        DatabaseNode* database = state_.databases.find_number(record.rid.database.number);
        if (database == nullptr) return Status(inconsistent("a container without database"));
        std::vector<records::Partition> partitions;
        std::string expected_min;
        for (const records::Range& range : record.ranges) {
            const auto it = loaded.partitions.find(range.partition);
            if (it == loaded.partitions.end() || it->second.container != record.rid ||
                it->second.settings_version != record.settings_version ||
                it->second.epk_min != expected_min)
                return Status(
                    inconsistent("the partitions of container '" + record.id + "' do not fit"));
            expected_min = it->second.epk_max;
            partitions.push_back(std::move(it->second));
        }
        if (expected_min != partition::EpkRange().max)
            return Status(
                inconsistent("the partitions of container '" + record.id + "' do not fit"));
        TRY(const Definitions::Known* known, definitions.of(record));
        partition::ContainerSettings own = known->settings;
        TRY_STATUS(apply_index_state(record.index, own, deps_.compile_computed));
        record.definition = known->bytes;
        record.json_tail.clear();
        record.index = index_state(own);
        auto container = build_container(record, database->database, known->definition,
                                         std::move(own), partitions);
        if (!container.ok()) return std::move(container).take_status();
        const uint64_t number = record.rid.number;
        const std::string id = record.id;
        database->containers.add(number, id, {std::move(container).value(), std::move(record)});
        ++database->containers_without_offer;
    }
    return {};
}

Status CatalogImpl::load_offers(Loaded& loaded) {
    for (const records::Offer& record : loaded.offers) {
        DatabaseNode* database = state_.databases.find_number(record.database.number);
        if (database == nullptr || (record.container != 0 &&
                                    database->containers.find_number(record.container) == nullptr))
            return Status(inconsistent("an offer without resource"));
        if (record.container != 0) --database->containers_without_offer;
        state_.set_offer(record.number, make_offer(record));
    }
    for (const auto& [number, database] : state_.databases.nodes())
        refresh_budgets(*state_.databases.find_number(number));
    return {};
}

/// Targets of splits and merges that never switched are dead from now on. The next change of the
/// catalog says so for good.
void CatalogImpl::roll_back_moves(const Loaded& loaded) {
    for (const records::Move& move : loaded.moves) {
        abandoned_.push_back(records::key(move));
        for (storage::PartitionId target : move.targets) {
            dead_.push_back(target);
            deps_.store.retire_partition(target);
        }
    }
}

/// Brings derived state up to date after a crash. Partitions of deleted containers that a late
/// request wrote to need no replay: the next change retires them.
Status CatalogImpl::replay() {
    const std::vector<storage::ReplayNeed> needs = deps_.store.replay_needs();
    if (needs.empty()) return {};
    absl::flat_hash_map<storage::PartitionId, std::shared_ptr<partition::Partition>> live;
    for (const ContainerPtr& container : all_containers())
        for (const PartitionRange& range : container->ranges->ranges)
            live.emplace(range.partition->identity().id, range.partition);
    for (const storage::ReplayNeed& need : needs) {
        const auto it = live.find(need.partition);
        if (it == live.end()) {
            if (std::find(dead_.begin(), dead_.end(), need.partition) == dead_.end())
                dead_.push_back(need.partition);
        } else
            TRY_STATUS(it->second->replay_index(need.covered_lsn));
    }
    return {};
}

}  // namespace orrery::catalog
