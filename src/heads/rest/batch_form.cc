#include "heads/rest/batch_form.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/encoding.h"
#include "base/errors.h"
#include "base/limits.h"
#include "heads/rest/handlers.h"
#include "heads/rest/hybrid_row.h"
#include "json/write.h"

namespace orrery::rest {
namespace {

using partition::OperationKind;

/// Where in the batch a refusal belongs.
std::string at(size_t index) {
    return "Batch operation " + std::to_string(index) + ": ";
}

/// An operation as either form gives it: texts, empty when absent.
struct OperationTexts {
    std::string type;
    std::string id;
    std::string partition_key;
    std::string if_match;
    std::string if_none_match;
    std::string directive;
    std::optional<std::string> body;
    bool minimal = false;
};

Error member_not_supported(std::string_view name) {
    return errors::not_supported("The member '" + std::string(name) + "' of a batch operation",
                                 "Leave it out.");
}

std::optional<OperationKind> kind_of(std::string_view type) {
    if (equals_ignore_case(type, "Create")) return OperationKind::kCreate;
    if (equals_ignore_case(type, "Upsert")) return OperationKind::kUpsert;
    if (equals_ignore_case(type, "Replace")) return OperationKind::kReplace;
    if (equals_ignore_case(type, "Patch")) return OperationKind::kPatch;
    if (equals_ignore_case(type, "Delete")) return OperationKind::kDelete;
    if (equals_ignore_case(type, "Read")) return OperationKind::kRead;
    return std::nullopt;
}

Status read_operation(OperationTexts texts, size_t index, index::GeometrySpace space,
                      partition::ItemOperation& operation) {
    const auto kind = kind_of(texts.type);
    if (!kind)
        return Status(
            errors::bad_request(at(index) + "'operationType' is '" + texts.type +
                                "'; expected Create, Upsert, Read, Delete, Replace or Patch."));
    operation.kind = *kind;
    operation.id = std::move(texts.id);
    operation.if_match = std::string(unquoted(texts.if_match));
    operation.if_none_match = std::string(unquoted(texts.if_none_match));
    TRY(operation.directive, indexing_directive(texts.directive));
    const bool takes_body = *kind != OperationKind::kDelete && *kind != OperationKind::kRead;
    if (takes_body && !texts.body)
        return Status(errors::bad_request(at(index) + "'resourceBody' must be an object."));
    if (*kind == OperationKind::kPatch) {
        TRY(operation.patch, engine::read_patch(*texts.body, space));
    } else if (takes_body) {
        operation.body = std::move(*texts.body);
    }
    if (!texts.if_none_match.empty() && *kind != OperationKind::kRead &&
        *kind != OperationKind::kCreate)
        return Status(if_none_match_on_write());
    const bool needs_id = *kind != OperationKind::kCreate && *kind != OperationKind::kUpsert;
    if (needs_id && operation.id.empty())
        return Status(errors::bad_request(at(index) + "'id' is required for " + texts.type + "."));
    return {};
}

BatchItem item_of(OperationTexts texts, size_t index, index::GeometrySpace space) {
    BatchItem item;
    item.partition_key = std::move(texts.partition_key);
    item.minimal = texts.minimal;
    item.refused = read_operation(std::move(texts), index, space, item.operation);
    return item;
}

Result<std::string> text_member(const json::Value& entry, std::string_view name, size_t index) {
    const json::Value value = entry.member(name);
    if (value.is_undefined() || value.is_null()) return std::string();
    if (!value.is_string())
        return errors::bad_request(at(index) + "'" + std::string(name) + "' must be a string.");
    return std::string(value.as_string());
}

/// An ignored member (a condition, a trigger, an expiry) would mislead the client.
Status refuse_other_members(const json::Value& entry, size_t index) {
    constexpr std::string_view kKnown[] = {
        "operationType", "id",           "partitionKey",      "ifMatch",
        "ifNoneMatch",   "resourceBody", "indexingDirective", "minimalReturnPreference"};
    for (const json::Member& member : entry.members()) {
        if (member.value.is_null() || std::ranges::find(kKnown, member.name) != std::end(kKnown))
            continue;
        const std::string name(member.name);
        if (name == "timeToLiveInSeconds" || name == "preTriggers" || name == "postTriggers")
            return Status(member_not_supported(name));
        return Status(errors::bad_request(at(index) + "'" + name + "' is no member of it."));
    }
    return {};
}

Result<OperationTexts> json_operation(const json::Value& entry, size_t index) {
    if (!entry.is_object()) return errors::bad_request(at(index) + "must be an object.");
    OperationTexts texts;
    TRY(texts.type, text_member(entry, "operationType", index));
    TRY(texts.id, text_member(entry, "id", index));
    TRY(texts.partition_key, text_member(entry, "partitionKey", index));
    TRY(texts.if_match, text_member(entry, "ifMatch", index));
    TRY(texts.if_none_match, text_member(entry, "ifNoneMatch", index));
    TRY(texts.directive, text_member(entry, "indexingDirective", index));
    TRY_STATUS(refuse_other_members(entry, index));
    const json::Value minimal = entry.member("minimalReturnPreference");
    if (!minimal.is_undefined() && !minimal.is_null() && !minimal.is_bool())
        return errors::bad_request(at(index) + "'minimalReturnPreference' must be a boolean.");
    texts.minimal = minimal.is_bool() && minimal.as_bool();
    if (const json::Value body = entry.member("resourceBody"); body.is_object())
        texts.body = json::to_text(body);
    return texts;
}

Result<std::vector<OperationTexts>> json_operations(const Call& call) {
    TRY(const auto parsed, parse_body(call));
    const json::Value& body = parsed->value;
    if (!body.is_array())
        return errors::bad_request("A batch body must be a JSON array of operations.");
    if (body.elements().size() > limits::kBatchOperationsMax)
        return errors::bad_request("Batch request has more operations than what is supported: " +
                                   std::to_string(body.elements().size()) + ", at most 100.");
    std::vector<OperationTexts> all;
    all.reserve(body.elements().size());
    for (size_t i = 0; i < body.elements().size(); ++i) {
        TRY(auto texts, json_operation(body.elements()[i], i));
        all.push_back(std::move(texts));
    }
    return all;
}

/// The name of a binary operation type; its number when there is none, for the refusal.
std::string type_name(int32_t type) {
    switch (static_cast<hybrid_row::OperationType>(type)) {
        case hybrid_row::OperationType::kCreate:
            return "Create";
        case hybrid_row::OperationType::kPatch:
            return "Patch";
        case hybrid_row::OperationType::kRead:
            return "Read";
        case hybrid_row::OperationType::kDelete:
            return "Delete";
        case hybrid_row::OperationType::kReplace:
            return "Replace";
        case hybrid_row::OperationType::kUpsert:
            return "Upsert";
    }
    return std::to_string(type);
}

Result<OperationTexts> hybrid_row_operation(const hybrid_row::Operation& operation, size_t index) {
    if (!operation.operation_type)
        return errors::bad_request(at(index) + "'operationType' is missing.");
    if (operation.resource_type && *operation.resource_type != hybrid_row::kDocumentResource)
        return errors::bad_request(at(index) + "'resourceType' is " +
                                   std::to_string(*operation.resource_type) +
                                   "; a batch holds items only (2).");
    if (operation.time_to_live_seconds) return member_not_supported("timeToLiveInSeconds");
    if (operation.effective_partition_key) return member_not_supported("effectivePartitionKey");
    if (operation.binary_id) return member_not_supported("binaryId");
    OperationTexts texts;
    texts.type = type_name(*operation.operation_type);
    texts.id = operation.id.value_or("");
    texts.partition_key = operation.partition_key.value_or("");
    texts.if_match = operation.if_match.value_or("");
    texts.if_none_match = operation.if_none_match.value_or("");
    texts.directive = operation.indexing_directive.value_or("");
    texts.minimal = operation.minimal_return.value_or(false);
    if (operation.resource_body && !operation.resource_body->empty())
        texts.body = *operation.resource_body;
    return texts;
}

Result<std::vector<OperationTexts>> hybrid_row_operations(const Call& call) {
    TRY(const auto operations,
        hybrid_row::read_operations(call.request().body, limits::kBatchOperationsMax));
    std::vector<OperationTexts> all;
    all.reserve(operations.size());
    for (size_t i = 0; i < operations.size(); ++i) {
        TRY(auto texts, hybrid_row_operation(operations[i], i));
        all.push_back(std::move(texts));
    }
    return all;
}

/// The figure that JSON shows, two decimals, as a number.
double shown_charge(meter::Charge charge) {
    const std::string text = meter::ru_text(charge);
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

int result_status(const partition::OperationResult& result) {
    if (!result.status.ok()) return status_of(result.status.error());
    if (result.not_modified) return 304;
    if (!result.has_item) return 204;
    return result.created ? 201 : 200;
}

}  // namespace

BatchForm batch_form(std::string_view body) {
    return hybrid_row::is_hybrid_row(body) ? BatchForm::kHybridRow : BatchForm::kJson;
}

Result<std::vector<BatchItem>> read_batch(const Call& call, BatchForm form) {
    TRY(auto all, form == BatchForm::kJson ? json_operations(call) : hybrid_row_operations(call));
    if (all.empty()) return errors::bad_request("A batch needs at least one operation.");
    std::vector<BatchItem> items;
    items.reserve(all.size());
    for (size_t i = 0; i < all.size(); ++i)
        items.push_back(item_of(std::move(all[i]), i, call.container()->settings->space));
    return items;
}

BatchAnswer::BatchAnswer(const Call& call, BatchForm form) : call_(call), form_(form) {
    if (form_ == BatchForm::kHybridRow)
        hybrid_row::append_segment(out_);
    else
        out_.push_back('[');
}

std::string_view BatchAnswer::content_type() const {
    return form_ == BatchForm::kJson ? "application/json" : "application/octet-stream";
}

void BatchAnswer::add(const partition::OperationResult& result, meter::Charge charge,
                      bool minimal) {
    const int status = result_status(result);
    const int sub_status = result.status.ok() ? 0 : sub_status_of(result.status.error());
    const int64_t retry_after =
        result.status.ok() ? 0 : result.status.error().details.retry_after_ms;
    const std::string etag = result.etag.empty() ? std::string() : "\"" + result.etag + "\"";
    std::string body;
    if (result.status.ok() && result.has_item && !minimal)
        body = partition::client_item(*call_.container()->settings, result.item);
    failed_ = failed_ || !result.status.ok();
    if (form_ == BatchForm::kHybridRow) {
        hybrid_row::append_result(out_, {.status = status,
                                         .sub_status = sub_status,
                                         .etag = etag,
                                         .body = body,
                                         .retry_after_ms = static_cast<uint32_t>(retry_after),
                                         .request_charge = shown_charge(charge)});
        return;
    }
    if (!first_) out_.push_back(',');
    first_ = false;
    out_ += "{\"statusCode\":" + std::to_string(status) +
            ",\"subStatusCode\":" + std::to_string(sub_status) +
            ",\"requestCharge\":" + meter::ru_text(charge);
    if (retry_after > 0) out_ += ",\"retryAfterMilliseconds\":" + std::to_string(retry_after);
    if (!etag.empty()) {
        out_ += ",\"eTag\":";
        json::write_string(out_, etag);
    }
    if (!body.empty()) out_ += ",\"resourceBody\":" + body;
    if (!result.status.ok()) {
        out_ += ",\"message\":";
        json::write_string(out_, answer_to(result.status.error()).message);
    }
    out_ += "}";
}

std::string BatchAnswer::take() {
    if (form_ == BatchForm::kJson) out_.push_back(']');
    return std::move(out_);
}

}  // namespace orrery::rest
