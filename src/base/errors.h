#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

/// Every error that a client can see is made here: HTTP status, sub-status and text in one table.
namespace orrery::errors {

namespace sub_status {
inline constexpr int kPartitionKeyMismatch = 1001;
inline constexpr int kCrossPartitionNotServable = 1004;
inline constexpr int kCollectionRidMismatch = 1024;
inline constexpr int kSessionNotAvailable = 1002;
inline constexpr int kOwnerNotFound = 1003;
inline constexpr int kNameCacheStale = 1000;
inline constexpr int kRangeGone = 1002;
inline constexpr int kSplitRunning = 1007;
inline constexpr int kSharedDatabaseQuota = 1010;
inline constexpr int kPartitionFull = 1014;
inline constexpr int kBatchResponseTooLarge = 3402;
inline constexpr int kRequestRateTooLarge = 3200;
}  // namespace sub_status

/// The `code` member of an error body: "BadRequest", "NotFound", …
std::string_view code_name(int http_status);

// 400
Error bad_request(std::string message);
Error bad_json(std::string_view what, uint64_t offset);
Error bad_header(std::string_view name, std::string_view value, std::string_view expected);
/// A feature the server knows and does not offer (yet): never accepted and ignored.
Error not_supported(std::string_view feature, std::string_view advice);
Error missing_property(std::string_view name);
Error invalid_id(std::string_view why);
/// An item's `ttl` that is neither -1 nor a positive integer; `value` is its JSON text.
Error invalid_ttl(std::string_view value);
Error missing_partition_key();
Error partition_key_mismatch();
Error collection_rid_mismatch();
/// `nested_json` = {"errors":[…]} as one JSON text.
Error query_compile(std::string nested_json);

// 401, 403
Error unauthorized(std::string message);
Error forbidden(std::string message);
Error shared_database_full(std::string message);
Error logical_partition_full(std::string message);

// 404, 405, 408, 409, 410, 412, 413, 415
Error not_found();                                ///< the item itself
Error resource_not_found(std::string_view what);  ///< database, user, script, route …: 404/0
Error owner_not_found(std::string_view what);     ///< the parent is missing: 404/1003
Error session_not_available();
Error method_not_allowed(std::string_view method, std::string_view resource);
Error request_timeout(std::string message);
Error conflict();
Error unique_key_conflict();
Error range_gone(std::string_view range_id);
/// A split or merge is being completed: 410/1007.
Error range_switching(std::string_view range_id);
Error precondition_failed();
Error patch_condition_failed();
Error entity_too_large(uint64_t limit_bytes);
Error batch_response_too_large();

// 424, 429, 449
Error failed_dependency();
Error request_rate_too_large(int64_t retry_after_ms);
Error retry_with();

// 500, 503, 507
Error internal(std::string message);
Error service_unavailable(std::string message);
/// The store is read-only after a full or damaged disk; `why` says what happened and what to do.
Error storage_read_only(std::string_view why);

}  // namespace orrery::errors
