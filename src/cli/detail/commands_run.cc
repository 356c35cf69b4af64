// From what the command line said to the commands themselves.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/errors.h"
#include "cli/completion.h"
#include "cli/detail/commands_state.h"
#include "cli/interrupt.h"

namespace orrery::cli {
namespace {

constexpr int kUsageExit = 2;

int refuse(const Status& status) {
    fmt::print(stderr, "orrery: {}\n", status.error().message);
    return kUsageExit;
}

/// "a|b|c" of CLI11's description of a choice: TEXT:{a,b,c}.
std::vector<std::string> choices_of(const CLI::Option& option) {
    std::vector<std::string> out;
    const std::string type = option.get_type_name();
    const size_t open = type.find('{');
    const size_t close = type.find('}', open == std::string::npos ? 0 : open);
    if (open == std::string::npos || close == std::string::npos) return out;
    std::string list = type.substr(open + 1, close - open - 1);
    size_t at = 0;
    while (at <= list.size()) {
        const size_t end = std::min(list.find(',', at), list.size());
        out.push_back(list.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

std::vector<CommandWord> words_of(const CLI::App& app) {
    std::vector<CommandWord> out;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        CommandWord word{command->get_name(), command->get_description(), {}, {}};
        for (const CLI::Option* option : command->get_options()) {
            if (option->get_lnames().empty()) {
                if (option->get_positional() && word.choices.empty())
                    word.choices = choices_of(*option);
                continue;
            }
            word.options.push_back({"--" + option->get_lnames().front(), option->get_description(),
                                    option->get_items_expected_max() > 0, false,
                                    choices_of(*option)});
        }
        // Commands of commands (orrery lab …) are its choices.
        for (const CLI::App* inner : command->get_subcommands([](const CLI::App*) { return true; }))
            word.choices.push_back(inner->get_name());
        out.push_back(std::move(word));
    }
    return out;
}

}  // namespace

template <typename Run>
int Commands::State::with_account(Run run) {
    const auto settings = resolve_connection(connection);
    if (!settings.ok()) return refuse(settings.status());
    const auto shared = AccountClient::share(
        *settings, {.patience_ms = static_cast<int64_t>(patience_seconds * 1000)}, &traffic);
    if (!shared.ok()) return refuse(shared.status());
    const InterruptGuard guard;
    return run(*shared);
}

namespace {

Result<char> delimiter_of(const std::string& text) {
    if (text == "\\t") return '\t';
    if (text.size() == 1 && text[0] != '"' && text[0] != '\n' && text[0] != '\r') return text[0];
    return errors::bad_request(
        fmt::format("--delimiter '{}' is not one character (\\t for a tab; not a quote).", text));
}

}  // namespace

int Commands::State::run_shell_command() {
    if (!shell_container.empty()) {
        auto name = parse_container_name(shell_container);
        if (!name.ok()) return refuse(name.status());
        shell_options.container = std::move(*name);
    }
    if (!shell_format.empty()) {
        const auto format = parse_result_format(shell_format);
        if (!format.ok()) return refuse(format.status());
        shell_options.format = *format;
    }
    for (const std::string& parameter : shell_parameters)
        if (const Status added = add_parameter(parameter, shell_options.parameters); !added.ok())
            return refuse(added);
    return with_account(
        [&](const AccountClient::Shared& account) { return run_shell(shell_options, account); });
}

int Commands::State::run_import_command() {
    ImportOptions& options = import_options;
    auto name = parse_container_name(import_container);
    if (!name.ok()) return refuse(name.status());
    options.container = std::move(*name);
    if (!import_format.empty()) {
        const auto format = parse_file_format(import_format);
        if (!format.ok()) return refuse(format.status());
        options.format = *format;
    }
    options.mode = import_mode == "create" ? WriteMode::kCreate
                   : import_mode == "skip" ? WriteMode::kSkip
                                           : WriteMode::kUpsert;
    const auto delimiter = delimiter_of(import_delimiter);
    if (!delimiter.ok()) return refuse(delimiter.status());
    options.csv.delimiter = *delimiter;
    options.csv.default_type = import_types == "text" ? CsvType::kText : CsvType::kInfer;
    options.csv.infer_quoted = import_types == "infer-quoted";
    options.csv.nested = !import_flat;
    options.csv.empty = import_empty == "null"   ? CsvOptions::Empty::kNull
                        : import_empty == "text" ? CsvOptions::Empty::kText
                                                 : CsvOptions::Empty::kOmit;
    for (const std::string& column : import_columns)
        if (const Status added = add_column_type(column, options.csv); !added.ok())
            return refuse(added);
    return with_account(
        [&](const AccountClient::Shared& account) { return run_import(options, account); });
}

int Commands::State::run_export_command() {
    auto name = parse_container_name(export_container);
    if (!name.ok()) return refuse(name.status());
    export_options.container = std::move(*name);
    if (!export_format.empty()) {
        const auto format = parse_file_format(export_format);
        if (!format.ok()) return refuse(format.status());
        export_options.format = *format;
    }
    const auto delimiter = delimiter_of(export_delimiter);
    if (!delimiter.ok()) return refuse(delimiter.status());
    export_options.delimiter = *delimiter;
    return with_account(
        [&](const AccountClient::Shared& account) { return run_export(export_options, account); });
}

int Commands::State::run_bench_command() {
    auto name = parse_container_name(bench_container);
    if (!name.ok()) return refuse(name.status());
    bench_options.container = std::move(*name);
    return with_account(
        [&](const AccountClient::Shared& account) { return run_bench(bench_options, account); });
}

int Commands::State::run_lab_command() {
    if (!lab_options.file.empty()) return run_lab_report(lab_options, nullptr);
    return with_account([&](const AccountClient::Shared& account) {
        return run_lab_report(lab_options, &account);
    });
}

int Commands::State::run_top_command() {
    top_options.order = top_order == "storage" ? TopOrder::kStorage
                        : top_order == "name"  ? TopOrder::kName
                                               : TopOrder::kLoad;
    top_options.once = top_options.once || top_options.json;
    return with_account(
        [&](const AccountClient::Shared& account) { return run_top(top_options, account); });
}

int Commands::State::run_completion_command() const {
    const ShellKind kind = completion_shell == "zsh"    ? ShellKind::kZsh
                           : completion_shell == "fish" ? ShellKind::kFish
                                                        : ShellKind::kBash;
    fmt::print("{}", completion_file(kind, app->get_name(), words_of(*app)));
    return 0;
}

}  // namespace orrery::cli
