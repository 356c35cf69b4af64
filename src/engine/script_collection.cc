// What scripts do to their container, translated to operations of one transaction.
#include "engine/script_collection.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/errors.h"
#include "base/limits.h"
#include "json/document.h"
#include "json/parse.h"
#include "json/problems.h"
#include "json/write.h"
#include "partition/client_item.h"
#include "query/query.h"

namespace orrery::engine {
namespace {

using partition::ItemOperation;
using partition::OperationKind;

/// Text bytes that one script may write.
constexpr uint64_t kWrittenBytesMax = 32ULL << 20;

std::string_view text_of(const json::Value& value) {
    return value.is_string() ? value.as_string() : std::string_view();
}

/// Etags come with the quotes that `_etag` has, or without.
std::string etag_of(const json::Value& value) {
    std::string_view text = text_of(value);
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
        text = text.substr(1, text.size() - 2);
    return std::string(text);
}

Result<partition::IndexingDirective> directive_of(const json::Value& value) {
    if (value.is_undefined()) return partition::IndexingDirective::kDefault;
    const std::string_view text = text_of(value);
    if (equals_ignore_case(text, "default")) return partition::IndexingDirective::kDefault;
    if (equals_ignore_case(text, "include")) return partition::IndexingDirective::kInclude;
    if (equals_ignore_case(text, "exclude")) return partition::IndexingDirective::kExclude;
    return errors::bad_request(
        "The option 'indexAction' must be 'default', 'include' or 'exclude'.");
}

/// -1 is the server's choice.
Result<uint32_t> page_size_of(const json::Value& options) {
    const json::Value size = options.member("pageSize");
    if (size.is_undefined()) return limits::kPageItemsDefault;
    const double wanted = size.is_number() ? size.as_double() : 0;
    if (wanted == -1) return limits::kPageItemsMax;
    if (!(wanted >= 1) || wanted != std::floor(wanted))
        return errors::bad_request("The option 'pageSize' must be -1 or a whole number from 1 on.");
    return static_cast<uint32_t>(std::min<double>(wanted, limits::kPageItemsMax));
}

std::string quoted(std::string_view text) {
    std::string out;
    json::write_string(out, text);
    return out;
}

/// What callbacks of scripts know a failure by: the numbers of the service's HTTP protocol.
int script_number(Code code) {
    if (errors::is_bad_request(code)) return 400;
    if (errors::is_absence(code)) return 404;
    if (errors::is_duplicate(code)) return 409;
    if (errors::is_rate_limit(code)) return 429;
    switch (code) {
        case Code::kForbidden:
        case Code::kSharedDatabaseFull:
        case Code::kLogicalPartitionFull:
            return 403;
        case Code::kRequestTimeout:
        case Code::kScriptTimeout:
            return 408;
        case Code::kRangeGone:
        case Code::kRangeSwitching:
            return 410;
        case Code::kPreconditionFailed:
        case Code::kPatchConditionFailed:
            return 412;
        case Code::kEntityTooLarge:
        case Code::kScriptMemory:
            return 413;
        case Code::kRetryWith:
        case Code::kWriteConflict:
            return 449;
        case Code::kScriptsBusy:
        case Code::kScriptsStuck:
        case Code::kServiceUnavailable:
            return 503;
        case Code::kStorageReadOnly:
            return 507;
        default:
            return 500;
    }
}

std::string error_answer(const Error& error) {
    return fmt::format(R"({{"error":{{"number":{0},"body":{1}}},"options":{{"statusCode":{0}}}}})",
                       script_number(error.code), quoted(json::error_text(error)));
}

}  // namespace

void ScriptBudget::add(meter::Charge charge) {
    charge_ += charge;
    if (charge_ <= settled_) return;
    engine_.settle(*range_, terms_, {charge_.units - settled_.units});
    settled_ = charge_;
}

std::optional<std::string> ScriptCollection::call(std::string_view operation,
                                                  std::string_view arguments) {
    if (!scope_.budget.accepts()) return std::nullopt;
    json::Arena arena;
    json::ParseOptions options;
    options.depth_max = limits::kNestingDepthMax + 8;
    const meter::Charge before = scope_.budget.charge();
    const auto request = json::parse(arguments, arena, options);
    Result<std::string> answer =
        request.ok() ? answer_to(operation, *request) : Result<std::string>(request.error());
    if (answer.ok()) return std::move(answer).value();
    // A call that failed before it became an operation costs what such a failed request costs.
    if (operation != "evaluate" && scope_.budget.charge() == before)
        scope_.budget.add(meter::failure(answer.error().code, scope_.engine.pricing(scope_.bill)));
    return error_answer(answer.error());
}

Result<std::string> ScriptCollection::answer_to(std::string_view operation,
                                                const json::Value& request) {
    if (operation == "create") return write(OperationKind::kCreate, request);
    if (operation == "upsert") return write(OperationKind::kUpsert, request);
    if (operation == "replace") return write(OperationKind::kReplace, request);
    if (operation == "delete") return write(OperationKind::kDelete, request);
    if (operation == "read") return read(request);
    if (operation == "feed") return feed(request);
    if (operation == "query") return query(request);
    if (operation == "evaluate") return evaluate(request);
    return errors::internal("A script's operation of an unknown kind.");
}

std::string ScriptCollection::options_text(int status, std::string_view more) const {
    int64_t bytes = 0;
    for (const auto& range : scope_.routed.container->ranges->ranges)
        bytes += range.partition->bytes();
    const uint64_t bytes_max = scope_.engine.catalog().range_limits().storage_bytes *
                               scope_.routed.container->ranges->ranges.size();
    return fmt::format(
        R"({{"statusCode":{},"currentCollectionSizeInMB":{},"maxCollectionSizeInMB":{}{}}})",
        status, bytes >> 20, bytes_max >> 20, more);
}

partition::OperationResult ScriptCollection::run(ItemOperation operation) {
    partition::OperationResult result = scope_.steps.run(std::move(operation));
    scope_.budget.add(scope_.engine.price(result, {}, scope_.bill));
    return result;
}

Result<std::string> ScriptCollection::target_id(const json::Value& request) {
    const json::Value rid = request.member("rid");
    if (!rid.is_string()) return std::string(text_of(request.member("id")));
    const auto& container = *scope_.routed.container;
    const auto number = catalog::parse_item_rid(container.rid, rid.as_string());
    if (!number) return errors::not_found();
    return scope_.steps.id_of(
        storage::Docref(partition::docref_prefix(container.settings->key, scope_.epk), *number));
}

Result<std::string> ScriptCollection::write(OperationKind kind, const json::Value& request) {
    const json::Value options = request.member("options");
    ItemOperation operation;
    operation.kind = kind;
    if (kind == OperationKind::kReplace || kind == OperationKind::kDelete) {
        TRY(operation.id, target_id(request));
    }
    if (kind != OperationKind::kDelete) operation.body = json::to_text(request.member("body"));
    if (kind != OperationKind::kCreate) operation.if_match = etag_of(options.member("etag"));
    TRY(operation.directive, directive_of(options.member("indexAction")));
    if (scope_.steps.bytes_written() + operation.body.size() > kWrittenBytesMax)
        return errors::entity_too_large(kWrittenBytesMax);
    const partition::OperationResult result = run(std::move(operation));
    if (!result.status.ok()) return result.status.error();
    const int status = result.created ? 201 : kind == OperationKind::kDelete ? 204 : 200;
    std::string answer = "{";
    if (result.has_item)
        answer += "\"resource\":" +
                  partition::client_item(*scope_.routed.container->settings, result.item) + ",";
    return answer + "\"options\":" + options_text(status) + "}";
}

Result<std::string> ScriptCollection::read(const json::Value& request) {
    ItemOperation operation;
    operation.kind = OperationKind::kRead;
    TRY(operation.id, target_id(request));
    operation.if_none_match = etag_of(request.member("options").member("ifNoneMatch"));
    const partition::OperationResult result = run(std::move(operation));
    if (!result.status.ok()) return result.status.error();
    if (result.not_modified)
        return R"({"options":)" + options_text(304, R"(,"notModified":true)") + "}";
    return "{\"resource\":" +
           partition::client_item(*scope_.routed.container->settings, result.item) +
           ",\"options\":" + options_text(200, R"(,"notModified":false)") + "}";
}

Result<std::string> ScriptCollection::feed(const json::Value& request) {
    const json::Value options = request.member("options");
    partition::FeedRequest page;
    TRY(page.items_max, page_size_of(options));
    page.range = scope_.epk.empty() ? partition::EpkRange{"", std::string(1, '\0')}
                                    : partition::range_of_key(scope_.epk);
    page.bytes_max = limits::kResponsePageBytesMax;
    if (const json::Value from = options.member("continuation"); !from.is_undefined()) {
        auto position = hex_decode(text_of(from));
        if (!position || position->empty())
            return errors::bad_request("The option 'continuation' is not one of an earlier page.");
        page.resume_after = std::move(*position);
    }
    TRY(const auto found, scope_.range.partition->read_feed(*scope_.routed.view, page));
    const meter::Pricing by = scope_.engine.pricing(scope_.bill);
    meter::Charge charge;
    std::string answer = "{\"resource\":[";
    partition::ItemWriter writer(*scope_.routed.container->settings);
    for (const auto& item : found.items) {
        if (answer.back() != '[') answer += ',';
        TRY(const auto document, json::decode_document(*item.document));
        writer.append(answer, document, item.docref);
        charge += meter::point_read(document.text_bytes(), by);
    }
    scope_.budget.add(meter::feed_page(charge, by));
    std::string more;
    if (!found.resume_after.empty())
        more = R"(,"continuation":")" + hex_encode_upper(found.resume_after) + "\"";
    return answer + "],\"options\":" + options_text(200, more) + "}";
}

Result<std::string> ScriptCollection::query(const json::Value& request) {
    const json::Value options = request.member("options");
    QueryRequest page;
    page.text = text_of(request.member("query"));
    page.parameters = request.member("parameters");
    page.range = scope_.epk.empty() ? partition::EpkRange{"", std::string(1, '\0')}
                                    : partition::range_of_key(scope_.epk);
    page.full_epk = std::string(scope_.epk);
    TRY(page.items_max, page_size_of(options));
    page.continuation = text_of(options.member("continuation"));
    page.terms.exempt = true;  // the script's budget pays
    page.bill = scope_.bill;
    RowTexts rows("{\"resource\":[");
    page.rows = &rows;
    TRY(const QueryAnswer found, scope_.engine.query_routed(scope_.routed, page));
    scope_.budget.add(found.charge);
    std::string more;
    if (!found.continuation.empty()) more = ",\"continuation\":" + quoted(found.continuation);
    return rows.take_text("],\"options\":" + options_text(200, more) + "}");
}

/// Functions of the query language on constants.
Result<std::string> ScriptCollection::evaluate(const json::Value& request) const {
    constexpr std::array<std::string_view, 5> kFunctions = {
        "ST_DISTANCE", "ST_INTERSECTS", "ST_WITHIN", "ST_ISVALID", "ST_ISVALIDDETAILED"};
    const std::string_view function = text_of(request.member("function"));
    const json::Value arguments = request.member("arguments");
    if (std::find(kFunctions.begin(), kFunctions.end(), function) == kFunctions.end() ||
        !arguments.is_array())
        return errors::bad_request("There is no such function of geometry.");
    std::string text = "SELECT VALUE " + std::string(function) + "(";
    std::vector<std::string> names;
    for (size_t i = 0; i < arguments.elements().size(); ++i)
        names.push_back("@p" + std::to_string(i));
    std::vector<std::array<json::Member, 2>> members(names.size());
    std::vector<json::Value> list;
    for (size_t i = 0; i < names.size(); ++i) {
        text += (i == 0 ? "" : ",") + names[i];
        members[i] = {
            {{"name", json::Value::string(names[i])}, {"value", arguments.elements()[i]}}};
        list.push_back(json::Value::object(members[i]));
    }
    TRY(const auto compiled,
        query::compile(text + ")", nullptr, scope_.routed.container->settings->space));
    TRY(const auto parameters, query::Parameters::bind(*compiled, json::Value::array(list)));
    query::QueryRun run(*compiled, parameters);
    json::Arena arena;
    std::vector<json::Value> rows;
    TRY_STATUS(run.finish(arena, rows));
    if (rows.empty()) return std::string(R"({"options":{}})");
    return "{\"resource\":" + json::to_text(rows.front()) + ",\"options\":{}}";
}

}  // namespace orrery::engine
