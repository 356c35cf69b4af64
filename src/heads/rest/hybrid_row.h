#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

/// The binary form of batches (HybridRow rows in a RecordIO stream), which .NET sends and expects.
///
/// A stream is a Segment row, then for every record a Record row (length and CRC-32 of what
/// follows) and a body row. Integers are little-endian. A row:
///   version   u8       81
///   schema    i32      which columns follow
///   presence  bytes    a bit, lowest first, per nullable fixed column, then per variable column
///   fixed     bytes    all fixed columns; those that are absent take their space too
///   variable  bytes    varint length and bytes of each present one
///   sparse    bytes    until the end of the row: type u8, path varint, value
/// A path is the number of a column from 1 on, or (number of columns + 1 + length) and the name
/// itself. docs/formats/hybrid_row.md has the columns.
namespace orrery::rest::hybrid_row {

/// True when a request body is in this form: JSON never begins with this byte.
inline bool is_hybrid_row(std::string_view body) {
    return body.starts_with('\x81');
}

enum class OperationType : int32_t {
    kCreate = 0,
    kPatch = 1,
    kRead = 2,
    kDelete = 4,
    kReplace = 5,
    kUpsert = 20,
};
inline constexpr int32_t kDocumentResource = 2;

/// One operation of a request. Texts borrow from the body and are UTF-8; a column that is absent is
/// nullopt.
struct Operation {
    std::optional<int32_t> operation_type{};
    std::optional<int32_t> resource_type{};
    std::optional<std::string_view> partition_key{};  ///< JSON array
    std::optional<std::string_view> effective_partition_key{};
    std::optional<std::string_view> id{};
    std::optional<std::string_view> binary_id{};
    std::optional<std::string_view> resource_body{};  ///< any bytes; should be JSON text
    std::optional<std::string_view> indexing_directive{};
    std::optional<std::string_view> if_match{};
    std::optional<std::string_view> if_none_match{};
    std::optional<int32_t> time_to_live_seconds{};
    std::optional<bool> minimal_return{};
};

/// Reads all operations of a request body. 400 for anything that is not a well-formed stream of
/// operations (the text says where), and for more than `operations_max` of them.
Result<std::vector<Operation>> read_operations(std::string_view body, size_t operations_max);

/// One result of an answer.
struct OperationResult {
    int32_t status = 0;
    int32_t sub_status = 0;
    std::string_view etag{};  ///< with quotes; empty: none
    std::string_view body{};  ///< JSON text; empty: none
    uint32_t retry_after_ms = 0;
    double request_charge = 0;
};

/// What every answer begins with.
void append_segment(std::string& out);
void append_result(std::string& out, const OperationResult& result);

}  // namespace orrery::rest::hybrid_row
