// What the account client reads and creates: errors, containers, ranges, partition keys.
#include <fmt/format.h>

#include <charconv>

#include "base/encoding.h"
#include "base/errors.h"
#include "cli/account_client.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::cli {
namespace {

/// Answers wrap items, which may be as deep as the limit.
constexpr json::ParseOptions kAnswerOptions{.depth_max = 256, .refuse_duplicate_names = false};

std::string_view advice(const HttpAnswer& answer) {
    switch (answer.status) {
        case 401:
            return " Check the key (--key, --connection-string or ORRERY_KEY) and this machine's "
                   "clock.";
        case 403:
            if (answer.sub_status() == 1014) return " Choose a partition key with more values.";
            return answer.sub_status() == 0
                       ? " A read-only key cannot write; a clock that is more than 15 minutes "
                         "off is refused too."
                       : "";
        case 404:
            return answer.sub_status() == 1003 ? " `orrery shell` lists what there is: .containers"
                                               : "";
        case 429:
            return " The container's throughput is used up: raise it, use fewer connections "
                   "(--parallel), or wait "
                   "longer (--patience).";
        case 507:
            return " Free space on the server's disk and restart it.";
        default:
            return "";
    }
}

/// What this program goes by after a refusal; most kinds it only shows.
Code code_of(int status) {
    switch (status) {
        case 400:
            return Code::kBadRequest;
        case 401:
            return Code::kUnauthorized;
        case 404:
            return Code::kResourceNotFound;
        default:
            return Code::kInternal;
    }
}

/// The JSON text inside "Message: {…}\r\nActivityId: …"; empty when the message has another form.
std::string_view nested(std::string_view message) {
    constexpr std::string_view kStart = "Message: ";
    if (!message.starts_with(kStart)) return {};
    message.remove_prefix(kStart.size());
    return message.substr(0, message.find("\r\n"));
}

std::optional<size_t> position(const json::Value& value) {
    if (!value.is_int64() || value.as_int64() < 0) return std::nullopt;
    return static_cast<size_t>(value.as_int64());
}

/// Header values are ASCII: everything else as \uXXXX, in surrogate pairs where needed.
std::string ascii_only(std::string_view json) {
    std::string out;
    for (size_t i = 0; i < json.size();) {
        const auto byte = static_cast<unsigned char>(json[i]);
        if (byte < 0x80) {
            out += json[i++];
            continue;
        }
        const size_t count = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
        uint32_t code = byte & (0xFFu >> (count + 1));
        for (size_t k = 1; k < count && i + k < json.size(); ++k)
            code = (code << 6) | (static_cast<unsigned char>(json[i + k]) & 0x3Fu);
        i += count;
        if (code >= 0x10000) {
            code -= 0x10000;
            out +=
                fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF));
        } else {
            out += fmt::format("\\u{:04x}", code);
        }
    }
    return out;
}

}  // namespace

std::string error_text(std::string_view body) {
    json::Arena arena;
    const auto parsed = json::parse(body, arena, kAnswerOptions);
    if (!parsed.ok() || !parsed->member("message").is_string()) return std::string(body);
    const std::string_view message = parsed->member("message").as_string();
    const std::string_view inner = nested(message);
    if (inner.empty()) return std::string(message.substr(0, message.find("\r\nActivityId")));
    const auto wrapped = json::parse(inner, arena, kAnswerOptions);
    if (!wrapped.ok()) return std::string(inner);
    std::string out;
    if (const json::Value texts = wrapped->member("Errors"); texts.is_array()) {
        for (const json::Value& text : texts.elements()) {
            if (!text.is_string()) continue;
            if (!out.empty()) out += ' ';
            out += text.as_string();
        }
    } else if (const json::Value problems = wrapped->member("errors"); problems.is_array()) {
        for (const json::Value& problem : problems.elements()) {
            if (!problem.member("message").is_string()) continue;
            if (!out.empty()) out += ' ';
            out += problem.member("message").as_string();
            if (problem.member("hint").is_string())
                out.append(" ").append(problem.member("hint").as_string());
        }
    }
    return out.empty() ? std::string(inner) : out;
}

std::vector<QueryProblem> query_problems(std::string_view error_body) {
    std::vector<QueryProblem> out;
    json::Arena arena;
    const auto parsed = json::parse(error_body, arena, kAnswerOptions);
    if (!parsed.ok() || !parsed->member("message").is_string()) return out;
    const auto wrapped =
        json::parse(nested(parsed->member("message").as_string()), arena, kAnswerOptions);
    if (!wrapped.ok() || !wrapped->member("errors").is_array()) return out;
    for (const json::Value& problem : wrapped->member("errors").elements()) {
        QueryProblem found;
        found.start = position(problem.member("location").member("start"));
        found.end = position(problem.member("location").member("end"));
        if (problem.member("code").is_string()) found.code = problem.member("code").as_string();
        if (problem.member("message").is_string())
            found.message = problem.member("message").as_string();
        if (problem.member("hint").is_string()) found.hint = problem.member("hint").as_string();
        out.push_back(std::move(found));
    }
    return out;
}

Error answer_error(const HttpAnswer& answer) {
    Error error;
    error.code = code_of(answer.status);
    error.details.retry_after_ms = answer.retry_after_ms();
    std::string text = error_text(answer.body);
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
        text.pop_back();
    error.message =
        answer.sub_status() == 0
            ? fmt::format("The server answered {}: {}{}", answer.status, text, advice(answer))
            : fmt::format("The server answered {}/{}: {}{}", answer.status, answer.sub_status(),
                          text, advice(answer));
    return error;
}

std::vector<std::string> parse_key_path(std::string_view path) {
    std::vector<std::string> out;
    size_t at = 0;
    while (at < path.size()) {
        if (path[at] == '/') ++at;
        if (at < path.size() && path[at] == '"') {
            const size_t close = path.find('"', at + 1);
            out.emplace_back(
                path.substr(at + 1, close == std::string_view::npos ? close : close - at - 1));
            at = close == std::string_view::npos ? path.size() : close + 1;
            continue;
        }
        const size_t end = std::min(path.find('/', at), path.size());
        out.emplace_back(path.substr(at, end - at));
        at = end;
    }
    return out;
}

std::string partition_key_header(const ContainerInfo& container, const json::Value& item) {
    if (container.system_key) return "[]";
    std::string out = "[";
    for (const auto& path : container.key_paths) {
        if (out.size() > 1) out += ',';
        json::Value value = item;
        for (const std::string& name : path) value = value.member(name);
        if (value.is_scalar())
            json::write(out, value, json::NumberForm::kCanonical);
        else
            out += "{}";
    }
    return ascii_only(out + "]");
}

Result<Created> create_missing(AccountClient& client, const NewContainer& wanted) {
    const auto create = [&](AccountClient::Request request) -> Result<bool> {
        request.method = "POST";
        TRY(const auto answer, client.send(request));
        if (answer.status != 201 && answer.status != 409) return answer_error(answer);
        return answer.status == 201;
    };
    Created out;
    std::string database = R"({"id":)";
    json::write_string(database, wanted.name.database);
    database += '}';
    TRY(out.database, create({.resource = database_feed(), .body = database}));
    std::string definition = R"({"id":)";
    json::write_string(definition, wanted.name.container);
    definition += R"(,"partitionKey":{"paths":[)";
    for (size_t i = 0; i < wanted.key_paths.size(); ++i) {
        if (i > 0) definition += ',';
        json::write_string(definition, wanted.key_paths[i]);
    }
    definition += fmt::format(R"(],"kind":"{}","version":2}}}})",
                              wanted.key_paths.size() == 1 ? "Hash" : "MultiHash");
    Headers headers;
    if (wanted.throughput > 0)
        headers.emplace_back("x-ms-offer-throughput", std::to_string(wanted.throughput));
    TRY(out.container, create({.resource = container_feed(wanted.name.database),
                               .headers = headers,
                               .body = definition}));
    return out;
}

Result<ContainerInfo> read_container(AccountClient& client, const ContainerName& name) {
    TRY(const auto answer,
        client.call({.resource = container_resource(name.database, name.container),
                     .headers = {{"x-ms-documentdb-populatequotainfo", "true"}}}));
    json::Arena arena;
    TRY(const auto parsed, json::parse(answer.body, arena, kAnswerOptions));
    ContainerInfo out;
    out.name = name;
    out.definition = answer.body;
    if (parsed.member("_rid").is_string()) out.rid = parsed.member("_rid").as_string();
    const json::Value key = parsed.member("partitionKey");
    if (const json::Value paths = key.member("paths"); paths.is_array())
        for (const json::Value& path : paths.elements())
            if (path.is_string()) out.key_paths.push_back(parse_key_path(path.as_string()));
    out.system_key = key.is_undefined() ||
                     (key.member("systemKey").is_bool() && key.member("systemKey").as_bool());
    constexpr std::string_view kCount = "documentsCount=";
    const std::string_view usage = answer.header("x-ms-resource-usage");
    if (const size_t at = usage.find(kCount); at != std::string_view::npos)
        std::from_chars(usage.data() + at + kCount.size(), usage.data() + usage.size(),
                        out.item_count);
    return out;
}

Result<std::vector<KeyRange>> read_ranges(AccountClient& client, const ContainerName& name) {
    TRY(const auto answer, client.call({.resource = range_feed(name.database, name.container),
                                        .headers = {{"x-ms-max-item-count", "-1"}}}));
    json::Arena arena;
    TRY(const auto parsed, json::parse(answer.body, arena, kAnswerOptions));
    const json::Value found = parsed.member("PartitionKeyRanges");
    std::vector<KeyRange> out;
    if (found.is_array())
        for (const json::Value& range : found.elements()) {
            const auto text = [&](std::string_view member) {
                const json::Value value = range.member(member);
                return value.is_string() ? std::string(value.as_string()) : std::string();
            };
            out.push_back({text("id"), text("minInclusive"), text("maxExclusive")});
        }
    if (out.empty())
        return errors::internal("The server named no partition key ranges for " + name.text() +
                                ".");
    return out;
}

}  // namespace orrery::cli
