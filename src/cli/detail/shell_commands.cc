// The shell's commands: everything that begins with a dot.
#include <fmt/format.h>

#include <charconv>

#include "base/errors.h"
#include "cli/detail/shell_session.h"
#include "cli/text_layout.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::cli::detail {
namespace {

constexpr json::ParseOptions kAnswerOptions{.depth_max = 256, .refuse_duplicate_names = false};
constexpr int64_t kPageItemsMax = 1000;

Error usage(std::string_view text) {
    return errors::bad_request(fmt::format("It reads: {}", text));
}

/// "ann" or "[\"ann\",5]" as a partition key header.
Result<std::string> key_header(std::string_view text) {
    json::Arena arena;
    const auto parsed = json::parse(text, arena);
    json::Value value = parsed.ok() ? *parsed : json::Value::string(text);
    if (value.is_array()) return json::to_text(value);
    if (value.is_object())
        return errors::bad_request(
            "A partition key is a text, a number, true, false, null, or an array of them.");
    return "[" + json::to_text(value) + "]";
}

struct IdAndKey {
    std::string id;
    std::string key;  ///< header
};
/// "ID KEY": an id with blanks stands in quotes; the key is the rest of the line.
Result<IdAndKey> id_and_key(std::string_view rest, std::string_view command) {
    const size_t end = rest.starts_with('"') ? rest.find('"', 1) : rest.find_first_of(" \t");
    const std::string_view id =
        rest.starts_with('"') ? rest.substr(1, end - 1) : rest.substr(0, end);
    const size_t key = end == std::string_view::npos ? end : rest.find_first_not_of(" \t", end + 1);
    if (id.empty() || key == std::string_view::npos)
        return usage(
            fmt::format("{0} ID KEY, for example {0} 1 ann, or {0} 1 [\"ann\",5]", command));
    TRY(std::string header, key_header(rest.substr(key)));
    return IdAndKey{std::string(id), std::move(header)};
}

}  // namespace

const std::vector<ShellSession::Command>& ShellSession::commands() {
    static const std::vector<Command> all = {
        {".help", "", "this list", &ShellSession::command_help},
        {".databases", "", "the account's databases", &ShellSession::command_databases},
        {".containers", "", "all containers", &ShellSession::command_containers},
        {".use", "DATABASE/CONTAINER", "choose where queries go", &ShellSession::command_use},
        {".definition", "", "the container's policies, as JSON", &ShellSession::command_definition},
        {".ranges", "", "its physical partitions", &ShellSession::command_ranges},
        {".read", "ID KEY", "one item by id and partition key (a point read)",
         &ShellSession::command_read},
        {".upsert", "{JSON}", "write one item", &ShellSession::command_upsert},
        {".delete", "ID KEY", "delete one item", &ShellSession::command_delete},
        {".format", "table|json|jsonl|csv", "how rows are shown", &ShellSession::command_format},
        {".page", "COUNT", "rows per page, 1 to 1000", &ShellSession::command_page},
        {".set", "@NAME VALUE",
         "a parameter for queries; VALUE is JSON or text; without arguments: list",
         &ShellSession::command_set},
        {".unset", "@NAME", "forget a parameter", &ShellSession::command_unset},
        {".timing", "on|off", "rows, charge and time after each query",
         &ShellSession::command_timing},
        {".system", "on|off", "show _rid, _etag, _ts and the like in tables",
         &ShellSession::command_system},
        {".metrics", "on|off", "the server's query metrics", &ShellSession::command_metrics},
        {".plan", "on|off", "how the query was carried out (Orrery)", &ShellSession::command_plan},
        {".charge", "on|off", "the charge, term by term (Orrery)", &ShellSession::command_charge},
        {".history", "", "what was entered before", &ShellSession::command_history},
        {".quit", "", "leave; Ctrl-D does the same", &ShellSession::command_quit},
    };
    return all;
}

Status ShellSession::run_command(const std::string& line) {
    std::string text = line;
    text.erase(text.find_last_not_of(" \t;") + 1);
    const auto words = split_words(text);
    const size_t blank = text.find_first_of(" \t");
    const size_t rest_at =
        blank == std::string::npos ? text.size() : text.find_first_not_of(" \t", blank);
    const std::string_view rest =
        rest_at == std::string::npos ? std::string_view() : std::string_view(text).substr(rest_at);
    for (const Command& command : commands())
        if (!words.empty() &&
            (command.name == words[0] || (words[0] == ".exit" && command.name == ".quit")))
            return (this->*command.run)(words, rest);
    return Status(errors::bad_request(fmt::format("There is no command '{}'. .help lists all.",
                                                  words.empty() ? text : words[0])));
}

Status ShellSession::command_help(const std::vector<std::string>&, std::string_view) {
    std::vector<std::vector<std::string>> rows;
    for (const Command& command : commands())
        rows.push_back(
            {fmt::format("{} {}", command.name, command.arguments), std::string(command.help)});
    fmt::print(
        "{}\nA query ends with a semicolon and may span lines; \"c\" is the usual name of the "
        "container in it:\n"
        "  SELECT TOP 10 c.id, c.total FROM c WHERE c.customer = 'ann' ORDER BY c.total DESC;\n"
        "Tab completes words, functions, parameters and, after \"c.\", paths of the container's "
        "own data (a sample of 20 items).\n",
        table_text({{"command", false}, {"", false}}, rows, interactive_ ? terminal_width() : 0));
    return {};
}

Result<std::vector<std::string>> ShellSession::list(const Resource& feed, std::string_view member) {
    std::vector<std::string> out;
    std::string continuation;
    do {
        Headers headers = {{"x-ms-max-item-count", "1000"}};
        if (!continuation.empty()) headers.emplace_back("x-ms-continuation", continuation);
        TRY(const auto answer, client_.call({.resource = feed, .headers = headers}));
        json::Arena arena;
        TRY(const auto parsed, json::parse(answer.body, arena, kAnswerOptions));
        if (const json::Value found = parsed.member(member); found.is_array())
            for (const json::Value& entry : found.elements())
                if (entry.member("id").is_string())
                    out.emplace_back(entry.member("id").as_string());
        continuation = answer.header("x-ms-continuation");
    } while (!continuation.empty());
    return out;
}

Result<std::vector<std::string>> ShellSession::container_names() {
    std::vector<std::string> out;
    TRY(const auto databases, list(database_feed(), "Databases"));
    for (const std::string& database : databases) {
        TRY(const auto containers, list(container_feed(database), "DocumentCollections"));
        for (const std::string& container : containers) out.push_back(database + "/" + container);
    }
    return out;
}

Status ShellSession::command_databases(const std::vector<std::string>&, std::string_view) {
    TRY(const auto names, list(database_feed(), "Databases"));
    for (const std::string& name : names) fmt::print("{}\n", name);
    if (names.empty()) note("There are no databases yet. `orrery import --create` makes one.");
    return {};
}

Status ShellSession::command_containers(const std::vector<std::string>&, std::string_view) {
    TRY(known_containers_, container_names());
    for (const std::string& name : known_containers_) fmt::print("{}\n", name);
    if (known_containers_.empty())
        note("There are no containers yet. `orrery import --create` makes one.");
    return {};
}

Status ShellSession::command_use(const std::vector<std::string>& words, std::string_view) {
    if (words.size() != 2) return Status(usage(".use DATABASE/CONTAINER"));
    TRY(const auto name, parse_container_name(words[1]));
    return use(name);
}

Status ShellSession::command_definition(const std::vector<std::string>&, std::string_view) {
    TRY_STATUS(need_container());
    TRY(info_, read_container(client_, *container_));
    json::Arena arena;
    TRY(const auto parsed, json::parse(info_.definition, arena, kAnswerOptions));
    fmt::print("{}\n", pretty_json(parsed));
    return {};
}

Status ShellSession::command_ranges(const std::vector<std::string>&, std::string_view) {
    TRY_STATUS(need_container());
    TRY(const auto ranges, read_ranges(client_, *container_));
    std::vector<std::vector<std::string>> rows;
    for (const KeyRange& range : ranges) rows.push_back({range.id, range.min, range.max});
    fmt::print("{}", table_text({{"id", true}, {"minInclusive", false}, {"maxExclusive", false}},
                                rows, 0));
    return {};
}

Status ShellSession::command_read(const std::vector<std::string>&, std::string_view rest) {
    TRY_STATUS(need_container());
    TRY(const auto item, id_and_key(rest, ".read"));
    TRY(const auto answer, client_.call({.resource = item_resource(container_->database,
                                                                   container_->container, item.id),
                                         .headers = {{"x-ms-documentdb-partitionkey", item.key}}}));
    json::Arena arena;
    TRY(const auto parsed, json::parse(answer.body, arena, kAnswerOptions));
    fmt::print("{}\n", pretty_json(parsed));
    if (timing_) note(fmt::format("{:.2f} RU", answer.charge()));
    return {};
}

Status ShellSession::command_upsert(const std::vector<std::string>&, std::string_view rest) {
    TRY_STATUS(need_container());
    json::Arena arena;
    TRY(const auto item, json::parse(rest, arena));
    if (!item.is_object()) return Status(usage(".upsert {\"id\":\"1\", …}"));
    TRY(const auto answer,
        client_.call(
            {.method = "POST",
             .resource = item_feed(container_->database, container_->container),
             .headers = {{"content-type", "application/json"},
                         {"x-ms-documentdb-is-upsert", "true"},
                         {"x-ms-documentdb-partitionkey", partition_key_header(info_, item)}},
             .body = rest}));
    note(fmt::format("{}, {:.2f} RU", answer.status == 201 ? "Created" : "Replaced",
                     answer.charge()));
    return {};
}

Status ShellSession::command_delete(const std::vector<std::string>&, std::string_view rest) {
    TRY_STATUS(need_container());
    TRY(const auto item, id_and_key(rest, ".delete"));
    TRY(const auto answer, client_.call({.method = "DELETE",
                                         .resource = item_resource(container_->database,
                                                                   container_->container, item.id),
                                         .headers = {{"x-ms-documentdb-partitionkey", item.key}}}));
    note(fmt::format("Deleted, {:.2f} RU", answer.charge()));
    return {};
}

Status ShellSession::command_format(const std::vector<std::string>& words, std::string_view) {
    if (words.size() == 1) {
        note(result_format_name(format_));
        return {};
    }
    TRY(format_, parse_result_format(words[1]));
    return {};
}

Status ShellSession::command_page(const std::vector<std::string>& words, std::string_view) {
    int64_t count = 0;
    if (words.size() == 2)
        std::from_chars(words[1].data(), words[1].data() + words[1].size(), count);
    if (count < 1 || count > kPageItemsMax) return Status(usage(".page COUNT, from 1 to 1000"));
    query_.page_items = count;
    return {};
}

Status ShellSession::command_set(const std::vector<std::string>& words, std::string_view rest) {
    if (words.size() == 1) {
        for (const auto& [name, value] : parameters_) fmt::print("{} = {}\n", name, value);
        if (parameters_.empty()) note("No parameters are set.");
        return {};
    }
    const size_t blank = rest.find_first_of(" \t");
    if (!rest.starts_with('@') || blank == std::string_view::npos)
        return Status(usage(".set @name VALUE"));
    const std::string_view value = rest.substr(rest.find_first_not_of(" \t", blank));
    return add_parameter(std::string(rest.substr(0, blank)) + "=" + std::string(value),
                         parameters_);
}

Status ShellSession::command_unset(const std::vector<std::string>& words, std::string_view) {
    if (words.size() != 2) return Status(usage(".unset @name"));
    if (parameters_.erase(words[1]) == 0)
        return Status(errors::bad_request(fmt::format("No parameter '{}' is set.", words[1])));
    return {};
}

Status ShellSession::set_switch(const std::vector<std::string>& words, bool& value) const {
    if (words.size() == 2 && (words[1] == "on" || words[1] == "off")) {
        value = words[1] == "on";
        return {};
    }
    if (words.size() == 1) {
        note(value ? "on" : "off");
        return {};
    }
    return Status(usage(words[0] + " on|off"));
}

Status ShellSession::command_timing(const std::vector<std::string>& words, std::string_view) {
    return set_switch(words, timing_);
}
Status ShellSession::command_system(const std::vector<std::string>& words, std::string_view) {
    return set_switch(words, system_);
}
Status ShellSession::command_metrics(const std::vector<std::string>& words, std::string_view) {
    return set_switch(words, query_.metrics);
}
Status ShellSession::command_plan(const std::vector<std::string>& words, std::string_view) {
    return set_switch(words, query_.plan);
}
Status ShellSession::command_charge(const std::vector<std::string>& words, std::string_view) {
    return set_switch(words, query_.charge_explanation);
}

Status ShellSession::command_history(const std::vector<std::string>&, std::string_view) {
    if (history_)
        for (const std::string& entry : history_()) fmt::print("{}\n", entry);
    return {};
}

Status ShellSession::command_quit(const std::vector<std::string>&, std::string_view) {
    leaving_ = true;
    return {};
}

}  // namespace orrery::cli::detail
