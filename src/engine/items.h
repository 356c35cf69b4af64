#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/requests.h"
#include "meter/charge.h"
#include "partition/client_item.h"
#include "partition/operation.h"
#include "partition/partition_key.h"

/// Operations on single items, as heads ask for them.
namespace orrery::engine {

struct ItemRead {
    std::string epk;  ///< binary, full key
    std::string id;
    std::optional<uint64_t> number;  ///< names the item instead of `id`: the number in its rid
    std::string_view if_none_match;  ///< etag without quotes, "*" or empty
};

/// Scripts that run with a write, by name.
struct Triggers {
    std::string before;  ///< empty: none
    std::string after;   ///< empty: none
    std::string body;    ///< of the request, as sent; for a patch, its operations
    std::string values;  ///< JSON object: what the scripts may read of the request, by name
    bool logging = false;
};
struct ItemWrite {
    std::string epk;
    partition::ItemOperation operation;
    std::optional<uint64_t> number;  ///< names the item instead of `operation.id`
    std::unique_ptr<Triggers> triggers;
};
struct WriteAnswer {
    partition::OperationResult result;
    std::optional<std::string> body;  ///< what a post-trigger made the answer's body
    std::string log;                  ///< of the triggers
};

/// One operation of a bulk.
struct BulkOperation {
    std::string epk;
    partition::ItemOperation operation;
    std::string partition_key;  ///< as the client wrote it, for the record
    Status refused;             ///< by the head: it is not tried
};
struct BulkAnswer {
    std::vector<partition::OperationResult> results;
    std::vector<meter::Charge> charges;
};

}  // namespace orrery::engine
