#include "heads/rest/hybrid_row.h"

#include <array>
#include <bit>

#include "base/bytes.h"
#include "base/crc32.h"
#include "base/encoding.h"
#include "base/errors.h"

namespace orrery::rest::hybrid_row {
namespace {

constexpr uint8_t kVersion = 0x81;
constexpr uint32_t kSegmentSchema = 2147473648;
constexpr uint32_t kRecordSchema = 2147473649;
constexpr uint32_t kOperationSchema = 2145473648;
constexpr uint32_t kResultSchema = 2145473649;
constexpr size_t kSegmentBytes = 10;  ///< version, schema, presence, length

/// Types of sparse values, those that a batch has and null.
enum SparseType : uint8_t {
    kNull = 1,
    kFalse = 2,
    kTrue = 3,
    kInt32 = 7,
    kUint32 = 11,
    kFloat64 = 16,
    kUtf8 = 20,
};

/// Columns of an operation, numbered from 1 on as paths are.
constexpr std::array<std::string_view, 12> kOperationColumns = {"operationType",
                                                                "resourceType",
                                                                "partitionKey",
                                                                "effectivePartitionKey",
                                                                "id",
                                                                "binaryId",
                                                                "resourceBody",
                                                                "indexingDirective",
                                                                "ifMatch",
                                                                "ifNoneMatch",
                                                                "timeToLiveInSeconds",
                                                                "minimalReturnPreference"};
constexpr uint64_t kOperationNamedPath = kOperationColumns.size() + 1;
constexpr uint8_t kOperationPresenceBits = 0x7F;

/// Numbers of the sparse columns of a result.
constexpr uint8_t kResultRetryAfter = 5;
constexpr uint8_t kResultCharge = 6;

/// Reads one body. Remembers where it is, so that a refusal can say it.
class StreamReader {
public:
    explicit StreamReader(std::string_view body) : body_(body), in_(body) {}

    Result<std::vector<Operation>> read(size_t operations_max) {
        std::vector<Operation> operations;
        TRY(const auto first, row_start());
        if (first != kSegmentSchema)
            return malformed("the stream does not begin with a Segment row");
        TRY_STATUS(skip_segment());
        size_t count = 0;
        while (!in_.at_end()) {
            TRY(const auto schema, row_start());
            if (schema == kSegmentSchema) {
                TRY_STATUS(skip_segment());
                continue;
            }
            if (schema != kRecordSchema) return malformed("expected a Record row");
            TRY(const auto record, record_body());
            if (++count > operations_max) continue;  // counted for the text of the refusal
            TRY(auto operation, this->operation(record, count - 1));
            operations.push_back(operation);
        }
        if (count > operations_max)
            return errors::bad_request(
                "Batch request has more operations than what is supported: " +
                std::to_string(count) + ", at most " + std::to_string(operations_max) + ".");
        return operations;
    }

private:
    size_t offset() const { return body_.size() - in_.rest().size(); }

    Error malformed(std::string_view what) const {
        return errors::bad_request("The binary batch is malformed at byte " +
                                   std::to_string(offset()) + ": " + std::string(what) + ".");
    }
    static Error malformed_operation(size_t index, std::string_view what) {
        return errors::bad_request("Batch operation " + std::to_string(index) +
                                   " of the binary batch is malformed: " + std::string(what) + ".");
    }

    /// Version and schema of the row that begins here.
    Result<uint32_t> row_start() {
        const uint8_t version = in_.u8();
        const uint32_t schema = in_.u32_le();
        if (!in_.ok()) return malformed("it ends inside the head of a row");
        if (version != kVersion) return malformed("a row does not begin with 81");
        return schema;
    }

    /// A segment's comment and schema texts mean nothing to a batch; its length says where they
    /// end.
    Status skip_segment() {
        const uint8_t presence = in_.u8();
        const uint32_t length = in_.u32_le();
        if (!in_.ok()) return Status(malformed("it ends inside a Segment row"));
        if (presence != 1) return Status(malformed("a Segment row has no length"));
        if (length < kSegmentBytes || length - kSegmentBytes > in_.rest().size())
            return Status(malformed("a Segment row has a length of " + std::to_string(length) +
                                    ", which is not inside the body"));
        in_.fixed(length - kSegmentBytes);
        return {};
    }

    Result<std::string_view> record_body() {
        const uint32_t length = in_.u32_le();
        const uint32_t sum = in_.u32_le();
        if (!in_.ok()) return malformed("it ends inside a Record row");
        if (length > in_.rest().size())
            return malformed("a record of " + std::to_string(length) +
                             " bytes goes beyond the body's end");
        const std::string_view bytes = in_.rest().substr(0, length);
        if (crc32(bytes) != sum) return malformed("the checksum of a record does not match");
        in_.fixed(length);
        return bytes;
    }

    static Result<Operation> operation(std::string_view record, size_t index) {
        ByteReader row(record);
        const uint8_t version = row.u8();
        const uint32_t schema = row.u32_le();
        const uint8_t presence = row.u8();
        const auto type = static_cast<int32_t>(row.u32_le());
        const auto resource = static_cast<int32_t>(row.u32_le());
        if (!row.ok()) return malformed_operation(index, "it ends before its first columns");
        if (version != kVersion || schema != kOperationSchema)
            return malformed_operation(index, "it is no BatchOperation row");
        if ((presence & ~kOperationPresenceBits) != 0)
            return malformed_operation(index, "it has columns that the schema does not");
        Operation operation;
        const auto has = [&](int bit) { return (presence >> bit & 1) != 0; };
        if (has(0)) operation.operation_type = type;
        if (has(1)) operation.resource_type = resource;
        std::optional<std::string_view>* const variable[] = {
            &operation.partition_key, &operation.effective_partition_key, &operation.id,
            &operation.binary_id, &operation.resource_body};
        for (int i = 0; i < 5; ++i)
            if (has(i + 2)) *variable[i] = row.bytes();
        if (!row.ok()) return malformed_operation(index, "a column goes beyond the record's end");
        for (const auto& text : {operation.partition_key, operation.id})
            if (text && !is_valid_utf8(*text))
                return malformed_operation(index, "a text is not UTF-8");
        while (!row.at_end()) TRY_STATUS(sparse_field(row, operation, index));
        return operation;
    }

    /// The column that a sparse field belongs to, by number or by name.
    static Result<std::string_view> sparse_path(ByteReader& row, size_t index) {
        const uint64_t path = row.varint();
        if (row.ok() && path > 0 && path < kOperationNamedPath) return kOperationColumns[path - 1];
        std::string_view name;
        if (row.ok() && path > kOperationNamedPath &&
            path - kOperationNamedPath <= row.rest().size())
            name = row.fixed(static_cast<size_t>(path - kOperationNamedPath));
        if (name.empty()) return malformed_operation(index, "a field has no path");
        if (!is_valid_utf8(name))
            return malformed_operation(index, "the name of a field is not UTF-8");
        return name;
    }

    static Status sparse_field(ByteReader& row, Operation& operation, size_t index) {
        const uint8_t type = row.u8();
        TRY(const auto name, sparse_path(row, index));
        if (type == kNull) return {};
        const auto wrong_type = [&] {
            return Status(malformed_operation(
                index, "'" + std::string(name) + "' has a value of type " + std::to_string(type)));
        };
        const std::array<std::pair<std::string_view, std::optional<std::string_view>*>, 3> texts = {
            {{"indexingDirective", &operation.indexing_directive},
             {"ifMatch", &operation.if_match},
             {"ifNoneMatch", &operation.if_none_match}}};
        for (const auto& [text_name, target] : texts) {
            if (name != text_name) continue;
            if (type != kUtf8) return wrong_type();
            *target = row.bytes();
            if (!row.ok() || !is_valid_utf8(**target))
                return Status(
                    malformed_operation(index, "'" + std::string(name) + "' is no UTF-8 text"));
            return {};
        }
        if (name == "timeToLiveInSeconds") {
            if (type != kInt32) return wrong_type();
            operation.time_to_live_seconds = static_cast<int32_t>(row.u32_le());
            if (!row.ok()) return Status(malformed_operation(index, "it ends inside a number"));
            return {};
        }
        if (name == "minimalReturnPreference") {
            if (type != kFalse && type != kTrue) return wrong_type();
            operation.minimal_return = type == kTrue;
            return {};
        }
        return Status(
            malformed_operation(index, "'" + std::string(name) + "' is no sparse field of it"));
    }

    const std::string_view body_;
    ByteReader in_;
};

void append_row_start(std::string& out, uint32_t schema) {
    out.push_back(static_cast<char>(kVersion));
    append_u32_le(out, schema);
}

}  // namespace

Result<std::vector<Operation>> read_operations(std::string_view body, size_t operations_max) {
    return StreamReader(body).read(operations_max);
}

void append_segment(std::string& out) {
    append_row_start(out, kSegmentSchema);
    out.push_back(1);
    append_u32_le(out, kSegmentBytes);
}

void append_result(std::string& out, const OperationResult& result) {
    std::string row;
    row.reserve(64 + result.etag.size() + result.body.size());
    append_row_start(row, kResultSchema);
    row.push_back(static_cast<char>(0b0011 | (result.etag.empty() ? 0 : 0b0100) |
                                    (result.body.empty() ? 0 : 0b1000)));
    append_u32_le(row, static_cast<uint32_t>(result.status));
    append_u32_le(row, static_cast<uint32_t>(result.sub_status));
    if (!result.etag.empty()) append_bytes(row, result.etag);
    if (!result.body.empty()) append_bytes(row, result.body);
    if (result.retry_after_ms > 0) {
        row.push_back(static_cast<char>(kUint32));
        append_varint(row, kResultRetryAfter);
        append_u32_le(row, result.retry_after_ms);
    }
    row.push_back(static_cast<char>(kFloat64));
    append_varint(row, kResultCharge);
    append_u64_le(row, std::bit_cast<uint64_t>(result.request_charge));
    append_row_start(out, kRecordSchema);
    append_u32_le(out, static_cast<uint32_t>(row.size()));
    append_u32_le(out, crc32(row));
    out += row;
}

}  // namespace orrery::rest::hybrid_row
