// Metadata: who may see and change it, what that costs, and facts about containers.
#include "base/errors.h"
#include "base/limits.h"
#include "engine/engine.h"
#include "engine/scripts.h"
#include "engine/session.h"

namespace orrery::engine {
namespace {

meter::Charge price_of(MetadataPrice price) {
    switch (price) {
        case MetadataPrice::kNone:
            break;
        case MetadataPrice::kRead:
            return meter::metadata_read();
        case MetadataPrice::kWrite:
            return meter::metadata_write();
        case MetadataPrice::kScriptWrite:
            return meter::script_write();
    }
    return {};
}

}  // namespace

Status Session::admit_metadata(Statement& statement, MetadataKind kind) const {
    if (statement.is_metadata_) return {};
    statement.is_metadata_ = true;
    return engine().admit_metadata(kind);
}

Status Session::allow(Statement& statement, Operation operation) const {
    const OperationRule& rule = rule_of(operation);
    TRY_STATUS(authorize(statement, operation, std::nullopt));
    const bool limited = rule.limited == Limited::kYes;
    if (limited) TRY_STATUS(admit_metadata(statement, rule.kind));
    if (statement.plain_price_ || rule.price == MetadataPrice::kNone) return {};
    statement.plain_price_ = price_of(rule.price);
    const bool twice = limited && rule.price == MetadataPrice::kRead && statement.terms_.strong;
    statement.outcome_.charge =
        twice ? meter::strong_read(*statement.plain_price_) : *statement.plain_price_;
    return {};
}

Result<const catalog::Catalog*> Session::look_up(Statement& statement, Operation operation) const {
    DCHECK(rule_of(operation).hand == Hand::kReads);
    TRY_STATUS(allow(statement, operation));
    return static_cast<const catalog::Catalog*>(&engine().catalog());
}

Result<catalog::Catalog*> Session::change(Statement& statement, Operation operation) const {
    DCHECK(rule_of(operation).hand == Hand::kWrites);
    TRY_STATUS(allow(statement, operation));
    return &engine().catalog();
}

catalog::DatabasePtr Session::find_database(std::string_view name) const {
    if (principal_.kind == Principal::Kind::kNobody) return nullptr;
    return engine().catalog().find_database(name);
}

Result<std::string> Session::issue_token(const catalog::Permission& permission,
                                         int64_t lifetime_seconds) const {
    TRY_STATUS(engine::authorize(principal_, Access::kMetadataWrite, {}));
    return engine().tokens().issue(permission, lifetime_seconds);
}

Status Session::check_token_resource(std::string_view link) const {
    return engine().tokens().check_resource(link);
}

std::string Session::seal_listing(const ListingScope& scope, std::string_view position) const {
    return engine().seal_listing(scope, position);
}

Result<std::string> Session::open_listing(const ListingScope& scope, std::string_view token) const {
    return engine().open_listing(scope, token);
}

Status Session::check_script(std::string_view text) const {
    return engine().scripts().check(text);
}

Result<ContainerUsage> Session::usage(const Statement& statement) const {
    const catalog::Container& container = *statement.container_;
    TRY(const auto totals, engine().totals(container));
    const auto count = [&](catalog::ChildType type) {
        catalog::ListingRequest all;
        all.items_max = limits::kPageItemsMax;
        return engine().catalog().list_scripts(container.rid, type, all).items.size();
    };
    return ContainerUsage{totals.items, totals.bytes, count(catalog::ChildType::kProcedure),
                          count(catalog::ChildType::kTrigger), count(catalog::ChildType::kUdf)};
}

Result<PartitionFacts> Session::partitions(Statement& statement,
                                           const catalog::Container& given) const {
    TRY_STATUS(allow(statement, Operation::kReadPartitions));
    TRY(const auto routed, engine().route(given));
    PartitionFacts facts;
    facts.map_version = routed.container->ranges->version;
    for (const auto& range : routed.container->ranges->ranges) {
        const auto& partition = *range.partition;
        TRY(const auto totals, partition.totals(*routed.view));
        facts.ranges.push_back({range.id, partition.identity().range, range.parents,
                                partition.lsn(), partition.birth().lsn, totals.items,
                                totals.bytes});
    }
    facts.limits = engine().catalog().range_limits();
    facts.jobs = engine().partitions().jobs(routed.container->rid);
    return facts;
}

Result<RangeJob> Session::change_ranges(Statement& statement,
                                        const catalog::RangeChange& change) const {
    TRY_STATUS(allow(statement, Operation::kChangeRanges));
    return door_.engine_.partitions().submit(change);
}

Result<std::vector<catalog::RangeForecast>> Session::forecast(
    Statement& statement, const catalog::RangeChange& change) const {
    TRY_STATUS(allow(statement, Operation::kChangeRanges));
    return engine().catalog().forecast(change);
}

Result<std::vector<RangeThroughput>> Session::throughput(
    Statement& statement, const catalog::Container& container) const {
    TRY_STATUS(allow(statement, Operation::kReadThroughput));
    const int64_t now = engine().clock().monotonic_us();
    std::vector<RangeThroughput> parts;
    for (const auto& range : container.ranges->ranges) {
        const meter::Pool* pool = range.budget->pool();
        const int64_t tokens = pool == nullptr ? 0 : pool->tokens(now);
        parts.push_back({range.id, range.budget->rate_ru(), range.budget->scaled_ru(now),
                         container.ranges->fraction(range),
                         static_cast<double>(tokens) / static_cast<double>(meter::kUnitsPerRu)});
    }
    return parts;
}

Status Session::split_overloaded(Statement& statement, const catalog::Container& container) const {
    TRY_STATUS(allow(statement, Operation::kRedistribute));
    return door_.engine_.partitions().split_overloaded(container);
}

Result<MaterializedViewFacts> Session::materialized_view(
    Statement& statement, const catalog::Container& container) const {
    TRY_STATUS(allow(statement, Operation::kReadMaterializedView));
    if (auto state = engine().materialized_views().state(container.rid)) return std::move(*state);
    MaterializedViewFacts facts;
    facts.built = container.materialized_view_built;
    return facts;
}

}  // namespace orrery::engine
