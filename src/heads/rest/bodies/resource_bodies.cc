#include "heads/rest/bodies/resource_bodies.h"

#include "base/encoding.h"
#include "base/errors.h"
#include "heads/rest/bodies/encryption_body.h"
#include "heads/rest/bodies/members.h"
#include "json/write.h"
#include "partition/partition_key.h"

namespace orrery::rest {
namespace {

using catalog::ChildType;
using catalog::TriggerOperation;

std::string_view script_name(ChildType type) {
    return type == ChildType::kTrigger ? "trigger"
           : type == ChildType::kUdf   ? "user-defined function"
                                       : "stored procedure";
}

/// The components of a resourcePartitionKey in header form.
Result<std::string> read_resource_key(const json::Value& value) {
    if (is_absent(value)) return std::string();
    if (!value.is_array() || value.elements().empty())
        return errors::bad_request(
            "The property 'resourcePartitionKey' of the permission must be an array of key "
            "values.");
    json::Arena arena;
    TRY(const partition::PartitionKeyComponents components,
        partition::parse_partition_key_header(json::to_text(value), arena));
    return partition::partition_key_json(components);
}

}  // namespace

Result<std::string> read_database_body(const json::Value& body) {
    TRY(std::string id, body_id(body));
    TRY_STATUS(refuse_unknown(body, "A database", {"id"}));
    return id;
}

Result<std::string> read_user_body(const json::Value& body) {
    TRY(std::string id, body_id(body));
    TRY_STATUS(refuse_unknown(body, "A user", {"id"}));
    return id;
}

Result<catalog::NewPermission> read_permission_body(const json::Value& body) {
    catalog::NewPermission out;
    TRY(out.id, body_id(body));
    TRY_STATUS(refuse_unknown(body, "A permission",
                              {"id", "permissionMode", "resource", "resourcePartitionKey"}));
    const json::Value mode = body.member("permissionMode");
    if (is_absent(mode)) return errors::missing_property("permissionMode");
    if (!mode.is_string() || (!equals_ignore_case(mode.as_string(), "read") &&
                              !equals_ignore_case(mode.as_string(), "all")))
        return errors::bad_request(
            "The property 'permissionMode' of the permission must be 'Read' or 'All'.");
    out.mode = equals_ignore_case(mode.as_string(), "all") ? catalog::PermissionMode::kAll
                                                           : catalog::PermissionMode::kRead;
    const json::Value resource = body.member("resource");
    if (is_absent(resource)) return errors::missing_property("resource");
    if (!resource.is_string())
        return errors::bad_request("The property 'resource' of the permission must be a string.");
    out.resource = resource.as_string();
    TRY(out.partition_key, read_resource_key(body.member("resourcePartitionKey")));
    return out;
}

Result<catalog::NewScript> read_script_body(const json::Value& body, ChildType type) {
    catalog::NewScript out;
    TRY(out.id, body_id(body));
    const json::Value text = body.member("body");
    if (is_absent(text)) return errors::missing_property("body");
    if (!text.is_string())
        return errors::bad_request(
            "The property 'body' of a script must be a string with JavaScript.");
    out.body = text.as_string();
    const std::string what = "A " + std::string(script_name(type));
    if (type != ChildType::kTrigger) {
        TRY_STATUS(refuse_unknown(body, what, {"id", "body"}));
        return out;
    }
    TRY_STATUS(refuse_unknown(body, what, {"id", "body", "triggerType", "triggerOperation"}));
    const json::Value when = body.member("triggerType");
    if (is_absent(when)) return errors::missing_property("triggerType");
    const bool pre = when.is_string() && equals_ignore_case(when.as_string(), "Pre");
    if (!pre && !(when.is_string() && equals_ignore_case(when.as_string(), "Post")))
        return errors::bad_request(
            "The property 'triggerType' of the trigger must be 'Pre' or 'Post'.");
    out.runs_after = !pre;
    const json::Value operation = body.member("triggerOperation");
    if (is_absent(operation)) return errors::missing_property("triggerOperation");
    for (const TriggerOperation one :
         {TriggerOperation::kAll, TriggerOperation::kCreate, TriggerOperation::kUpdate,
          TriggerOperation::kDelete, TriggerOperation::kReplace}) {
        if (!operation.is_string() ||
            !equals_ignore_case(operation.as_string(), catalog::trigger_operation_name(one)))
            continue;
        out.operation = one;
        return out;
    }
    return errors::bad_request(
        "The property 'triggerOperation' of the trigger must be 'All', 'Create', 'Update', "
        "'Delete' or 'Replace'.");
}

Result<catalog::NewEncryptionKey> read_encryption_key_body(const json::Value& body) {
    catalog::NewEncryptionKey out;
    TRY(out.id, body_id(body));
    TRY(out.key, read_wrapped_key(body));
    return out;
}

}  // namespace orrery::rest
