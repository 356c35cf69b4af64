#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

/// Every error that a client can see is made here: code, details and text in one table.
namespace orrery::errors {

// The request is wrong.
Error bad_request(std::string message);
Error bad_json(std::string_view what, uint64_t offset);
/// A feature the server knows and does not offer (yet): never accepted and ignored.
Error not_supported(std::string_view feature, std::string_view advice);
Error missing_property(std::string_view name);
Error invalid_id(std::string_view why);
/// An item's `ttl` that is neither -1 nor a positive integer; `value` is its JSON text.
Error invalid_ttl(std::string_view value);
Error missing_partition_key();
/// A partition key whose text cannot be read.
Error invalid_partition_key(std::string_view value, std::string_view expected);
/// A listing is to go on at a place that no answer named.
Error invalid_continuation(std::string_view value);
/// A continuation token that was altered or made for another request.
Error foreign_continuation();
/// A continuation token that was cut short names an item that is not there any more.
Error continuation_cut();
/// A position in the change feed that was altered or made for another request.
Error foreign_feed_position();
/// It was made for another part of the container.
Error feed_position_elsewhere();
/// It counts more changes than the range has had.
Error feed_position_ahead(std::string_view position, std::string_view range_id, uint64_t last);
/// Versions and deletes behind it are no longer kept.
Error feed_history_gone();
Error partition_key_mismatch();
Error collection_rid_mismatch();
/// Precondition: there is a problem.
Error query_compile(std::vector<QueryProblem> problems);

// It is not allowed, or there is no room.
Error unauthorized(std::string message);
Error forbidden(std::string message);
/// A resource token for one partition key value was used without it.
Error outside_token_key();
Error shared_database_full(std::string message);
Error logical_partition_full(std::string message);
Error entity_too_large(uint64_t limit_bytes);
Error batch_response_too_large();
/// One request needs more memory than one may have.
Error memory_limit(uint64_t limit_bytes);

// What it names is not there, or not here.
Error not_found();                                ///< the item itself
Error resource_not_found(std::string_view what);  ///< database, user, script, route …
Error owner_not_found(std::string_view what);     ///< the parent is missing
Error session_not_available();
Error range_gone(std::string_view range_id);
/// A split or merge is being completed.
Error range_switching(std::string_view range_id);
/// The transaction has ended: its time was up, or the server was started again.
Error transaction_gone(std::string_view id);
Error cursor_gone(std::string_view id);
/// A write came to a region that only reads.
Error not_the_writer(std::string_view region);
/// The region has left the account.
Error region_gone(std::string_view region);

// It does not fit what is there.
Error conflict();
Error unique_key_conflict();
/// A table, type or index of that name is there already.
Error schema_exists(std::string_view name);
Error precondition_failed();
Error patch_condition_failed();
Error failed_dependency();
Error retry_with();
/// Two transactions wrote the same item; this one came second.
Error write_conflict();

// Not now, and the server's own failures.
Error request_rate_too_large(int64_t retry_after_ms);
Error request_timeout(std::string message);
Error service_unavailable(std::string message);
/// The write may or may not have been carried out; there is no way to find out.
Error outcome_unknown();
Error internal(std::string message);
/// The store is read-only after a full or damaged disk; `why` says what happened and what to do.
Error storage_read_only(std::string_view why);

// Groups of codes that are answered alike below the heads.

/// The request is wrong whatever is stored.
bool is_bad_request(Code code);
/// Nothing of that name is there (or not yet, for a session).
bool is_absence(Code code);
/// Something of that name or key is there already.
bool is_duplicate(Code code);
/// A budget is used up: try again after `retry_after_ms`.
bool is_rate_limit(Code code);
/// Not the request is at fault: the same one may succeed later.
bool is_server_failure(Code code);

}  // namespace orrery::errors
