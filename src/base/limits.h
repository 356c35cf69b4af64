#pragma once

#include <cstdint>

/// Every limit of the protocol, in one place (docs/protocol.md). Each has tests at and above it.
namespace orrery::limits {

inline constexpr uint64_t kItemBytesMax = 2 * 1024 * 1024;
inline constexpr uint64_t kRequestBodyBytesMax = 2 * 1024 * 1024;
/// What the wire may carry for an item: white space does not count against kItemBytesMax.
inline constexpr uint64_t kWireBodyBytesMax = 4 * 1024 * 1024;
inline constexpr uint64_t kResponsePageBytesMax = 4 * 1024 * 1024;
inline constexpr uint32_t kItemIdBytesMax = 1023;
inline constexpr uint32_t kNameCharactersMax = 255;
inline constexpr uint32_t kPartitionKeyBytesMax = 2048;
inline constexpr uint32_t kPartitionKeyPathsMax = 3;
inline constexpr uint32_t kNestingDepthMax = 128;
inline constexpr uint32_t kBatchOperationsMax = 100;
inline constexpr uint32_t kPatchOperationsMax = 10;
inline constexpr uint32_t kUniqueKeysMax = 10;
inline constexpr uint32_t kUniqueKeyPathsMax = 16;
inline constexpr uint32_t kIndexPathsMax = 1500;
inline constexpr uint32_t kCompositePathsMax = 8;
inline constexpr uint32_t kCompositePathsTotalMax = 100;
inline constexpr uint32_t kSpatialIndexesMax = 1500;
inline constexpr uint32_t kGeometryPointsMax = 4096;
inline constexpr uint32_t kComputedPropertiesMax = 20;
inline constexpr uint32_t kSharedDatabaseContainersMax = 25;
inline constexpr uint32_t kEncryptionKeysMax = 20;  ///< per database
inline constexpr int64_t kTtlSecondsMax = 2'147'483'647;
/// Thirty days: what the service's continuous backups keep at most.
inline constexpr int64_t kFeedRetentionMinutesMax = 30 * 24 * 60;
inline constexpr uint32_t kPageItemsDefault = 100;
inline constexpr uint32_t kPageItemsMax = 1000;
inline constexpr int64_t kTokenSkewSecondsMax = 15 * 60;
inline constexpr int64_t kResourceTokenSecondsDefault = 3600;
inline constexpr int64_t kResourceTokenSecondsMin = 10;
inline constexpr int64_t kResourceTokenSecondsMax = 86'400;
inline constexpr int64_t kThroughputMin = 400;
inline constexpr int64_t kThroughputMax = 1'000'000;
inline constexpr int64_t kThroughputStep = 100;
inline constexpr int64_t kAutoscaleMin = 1'000;
inline constexpr int64_t kAutoscaleStep = 1'000;

}  // namespace orrery::limits
