#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "engine/control_plane.h"
#include "engine/principal.h"

namespace orrery::engine {

/// Everything that a session can be asked to do.
enum class Operation : uint8_t {
    kReadItem,
    kCreateItem,  ///< create and upsert: the id is in the body
    kWriteItem,   ///< replace, patch and delete
    kDeletePartitionKey,
    kReadFeed,
    kReadChanges,
    kQuery,
    kPlanQuery,
    kRunProcedure,

    kReadAccount,
    kReadDatabases,
    kCreateDatabase,
    kDeleteDatabase,
    kReadContainer,
    kListContainers,
    kCreateContainer,
    kReplaceContainer,
    kDeleteContainer,
    kReadConflicts,
    kReadScripts,
    kCreateScript,
    kReplaceScript,
    kDeleteScript,
    kReadUsers,
    kCreateUser,
    kReplaceUser,
    kDeleteUser,
    kReadPermissions,
    kCreatePermission,
    kReplacePermission,
    kDeletePermission,
    kReadEncryptionKeys,
    kCreateEncryptionKey,
    kReplaceEncryptionKey,
    kReadOffers,
    kReplaceOffer,

    // Beyond what the service's protocols have.
    kObserve,  ///< metrics and what the lab makes of them
    kManage,   ///< what changes something there
    kReadThroughput,
    kRedistribute,
    kSetThroughputBuckets,
    kReadPartitions,
    kChangeRanges,
    kReadMaterializedView,
    kCount,
};
inline constexpr size_t kOperations = static_cast<size_t>(Operation::kCount);

/// What a metadata operation costs.
enum class MetadataPrice : uint8_t { kNone, kRead, kWrite, kScriptWrite };
/// Whether a metadata operation sees the catalog or changes it.
enum class Hand : uint8_t { kReads, kWrites };
/// Whether the limits of metadata requests count it.
enum class Limited : bool { kNo, kYes };

/// What an operation needs and costs. Of data operations only the access counts: their prices
/// come from their work.
struct OperationRule {
    Operation operation;
    Access access;
    Hand hand = Hand::kReads;
    MetadataPrice price = MetadataPrice::kNone;
    Limited limited = Limited::kNo;
    MetadataKind kind = MetadataKind::kOther;
};

namespace rules {

constexpr OperationRule data(Operation operation, Access access) {
    return {operation, access};
}
constexpr OperationRule read(Operation operation, Access access) {
    return {operation,          access, Hand::kReads, MetadataPrice::kRead, Limited::kYes,
            MetadataKind::kRead};
}
constexpr OperationRule write(Operation operation, MetadataKind kind = MetadataKind::kOther,
                              MetadataPrice price = MetadataPrice::kWrite) {
    return {operation, Access::kMetadataWrite, Hand::kWrites, price, Limited::kYes, kind};
}
constexpr OperationRule create(Operation operation) {
    return write(operation, MetadataKind::kCreate);
}
constexpr OperationRule look(Operation operation, MetadataPrice price = MetadataPrice::kNone) {
    return {operation, Access::kMetadataRead, Hand::kReads, price};
}
constexpr OperationRule manage(Operation operation, MetadataPrice price = MetadataPrice::kNone) {
    return {operation, Access::kMetadataWrite, Hand::kWrites, price};
}

}  // namespace rules

/// In the order of Operation.
inline constexpr OperationRule kOperationRules[] = {
    rules::data(Operation::kReadItem, Access::kItemRead),
    rules::data(Operation::kCreateItem, Access::kItemCreate),
    rules::data(Operation::kWriteItem, Access::kItemWrite),
    rules::data(Operation::kDeletePartitionKey, Access::kItemWrite),
    rules::data(Operation::kReadFeed, Access::kFeedRead),
    rules::data(Operation::kReadChanges, Access::kFeedRead),
    rules::data(Operation::kQuery, Access::kFeedRead),
    rules::data(Operation::kPlanQuery, Access::kContainerRead),
    rules::data(Operation::kRunProcedure, Access::kScriptRun),
    rules::data(Operation::kReadAccount, Access::kAccountRead),
    rules::read(Operation::kReadDatabases, Access::kMetadataRead),
    rules::create(Operation::kCreateDatabase),
    rules::write(Operation::kDeleteDatabase),
    rules::read(Operation::kReadContainer, Access::kContainerRead),
    rules::read(Operation::kListContainers, Access::kMetadataRead),
    rules::create(Operation::kCreateContainer),
    rules::write(Operation::kReplaceContainer),
    rules::write(Operation::kDeleteContainer),
    rules::read(Operation::kReadConflicts, Access::kFeedRead),
    rules::read(Operation::kReadScripts, Access::kFeedRead),
    rules::write(Operation::kCreateScript, MetadataKind::kCreate, MetadataPrice::kScriptWrite),
    rules::write(Operation::kReplaceScript, MetadataKind::kOther, MetadataPrice::kScriptWrite),
    rules::write(Operation::kDeleteScript),
    rules::read(Operation::kReadUsers, Access::kMetadataRead),
    rules::create(Operation::kCreateUser),
    rules::write(Operation::kReplaceUser),
    rules::write(Operation::kDeleteUser),
    // A permission carries a token: reading one with a read-only key would let its holder write.
    rules::read(Operation::kReadPermissions, Access::kMetadataWrite),
    rules::create(Operation::kCreatePermission),
    rules::write(Operation::kReplacePermission),
    rules::write(Operation::kDeletePermission),
    rules::read(Operation::kReadEncryptionKeys, Access::kMetadataRead),
    rules::create(Operation::kCreateEncryptionKey),
    rules::write(Operation::kReplaceEncryptionKey),
    rules::read(Operation::kReadOffers, Access::kMetadataRead),
    rules::write(Operation::kReplaceOffer, MetadataKind::kThroughput),
    rules::look(Operation::kObserve),
    rules::manage(Operation::kManage),
    rules::look(Operation::kReadThroughput, MetadataPrice::kRead),
    rules::manage(Operation::kRedistribute, MetadataPrice::kWrite),
    rules::manage(Operation::kSetThroughputBuckets, MetadataPrice::kWrite),
    rules::look(Operation::kReadPartitions),
    rules::manage(Operation::kChangeRanges),
    rules::look(Operation::kReadMaterializedView),
};
constexpr const OperationRule& rule_of(Operation operation) {
    return kOperationRules[static_cast<size_t>(operation)];
}
constexpr bool rules_are_in_order() {
    for (size_t i = 0; i < kOperations; ++i)
        if (static_cast<size_t>(kOperationRules[i].operation) != i) return false;
    return true;
}
static_assert(std::size(kOperationRules) == kOperations && rules_are_in_order());

}  // namespace orrery::engine
