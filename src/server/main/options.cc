#include "server/main/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/encoding.h"
#include "base/errors.h"
#include "base/system.h"
#include "cli/commands.h"
#include "cli/endpoint.h"
#include "server/config_file.h"

namespace orrery::server {
namespace {

constexpr int kPortMax = 65'535;
constexpr int kWrongArguments = 2;

struct ServeFlags {
    std::string config;
    std::string data = "orrery-data";
    bool memory = false;
    std::string durability = "sync";
    uint64_t cache_mb = 256;
    bool unthrottled = false;
    std::string charge_profile = "current";
    std::string consistency = "Session";
    std::string default_priority = "high";
    uint64_t split_storage_mb = 50 << 10;
    uint64_t logical_partition_mb = 20 << 10;
    bool no_auto_split = false;
    bool no_recording = false;
};

/// Budgets and prices.
void add_throughput(CLI::App& serve, CommandLine& line, ServeFlags& flags) {
    auto& account = line.serve.account;
    auto* unthrottled =
        serve.add_flag("--unthrottled", flags.unthrottled,
                       "Never answer 429: charges are reported, budgets are not enforced");
    unthrottled->envname("ORRERY_UNTHROTTLED");
    serve
        .add_flag("--serverless", line.serve.throughput.serverless,
                  "No provisioned throughput: 5,000 RU/s for every physical partition, offers are "
                  "refused")
        ->envname("ORRERY_SERVERLESS");
    serve
        .add_flag("--burst", line.serve.throughput.burst,
                  "Partitions below 3,000 RU/s bank what they do not use, for up to five minutes")
        ->envname("ORRERY_BURST");
    serve
        .add_option("--charge-profile", flags.charge_profile,
                    "current: the service's present price of an item's size; classic: that of old "
                    "spreadsheets")
        ->envname("ORRERY_CHARGE_PROFILE")
        ->check(CLI::IsMember({"current", "classic"}))
        ->capture_default_str();
    serve
        .add_option(
            "--consistency", flags.consistency,
            "The account's default level; reads cost twice under Strong and BoundedStaleness")
        ->envname("ORRERY_CONSISTENCY")
        ->check(
            CLI::IsMember({"Strong", "BoundedStaleness", "Session", "ConsistentPrefix", "Eventual"},
                          CLI::ignore_case))
        ->capture_default_str();
    serve
        .add_option("--default-priority", flags.default_priority,
                    "Priority of requests that name none; low ones are refused first")
        ->envname("ORRERY_DEFAULT_PRIORITY")
        ->check(CLI::IsMember({"high", "low"}))
        ->capture_default_str();
    serve
        .add_option("--metadata-ru", account.metadata_ru,
                    "Budget of metadata requests in RU/s, 240 in the service; 0: none")
        ->envname("ORRERY_METADATA_RU")
        ->check(CLI::Range(0, 1'000'000))
        ->capture_default_str();
    serve
        .add_flag("--control-plane-limits", account.control_plane_limits,
                  "The service's limits on management requests per five minutes: 500 creates, 500 "
                  "reads, 25 changes "
                  "of throughput")
        ->envname("ORRERY_CONTROL_PLANE_LIMITS");
}

CLI::App* add_serve(CLI::App& app, CommandLine& line, ServeFlags& flags) {
    auto* serve = app.add_subcommand("serve", "Run the database");
    serve
        ->add_option("--config", flags.config, "Read options from this file (lines 'name = value')")
        ->envname("ORRERY_CONFIG");
    serve->add_option("--data", flags.data, "Data folder, created if missing; not with --memory")
        ->envname("ORRERY_DATA")
        ->capture_default_str();
    serve->add_flag("--memory", flags.memory, "Keep everything in memory; gone on exit")
        ->envname("ORRERY_MEMORY");
    serve->add_option("--port", line.serve.port, "Port for HTTP and TLS; 0 picks a free one")
        ->type_name("UINT")
        ->envname("ORRERY_PORT")
        ->check(CLI::Range(0, kPortMax))
        ->default_str(std::to_string(line.serve.port.number));
    serve
        ->add_option("--bind", line.serve.bind_address,
                     "Address to listen on; others than loopback need --key")
        ->envname("ORRERY_BIND")
        ->capture_default_str();
    serve
        ->add_option("--key", line.serve.keys.primary,
                     "Account key, base64; default: the well-known emulator key")
        ->envname("ORRERY_KEY");
    serve
        ->add_option("--secondary-key", line.serve.keys.secondary,
                     "Second account key; default: derived from --key")
        ->envname("ORRERY_SECONDARY_KEY");
    serve
        ->add_option("--read-only-key", line.serve.keys.primary_read_only,
                     "Key that cannot write; default: derived from --key")
        ->envname("ORRERY_READ_ONLY_KEY");
    serve
        ->add_option("--secondary-read-only-key", line.serve.keys.secondary_read_only,
                     "Second read-only key; default: derived from --key")
        ->envname("ORRERY_SECONDARY_READ_ONLY_KEY");
    serve
        ->add_option("--durability", flags.durability,
                     "sync: an acknowledged write survives power loss; relaxed: it survives a "
                     "crash of the process "
                     "only")
        ->envname("ORRERY_DURABILITY")
        ->check(CLI::IsMember({"sync", "relaxed"}))
        ->capture_default_str();
    serve
        ->add_option("--init", line.serve.init_file,
                     "Create databases, containers and items from this JSON file")
        ->envname("ORRERY_INIT");
    serve
        ->add_option("--tls-host", line.serve.tls_hosts,
                     "Further host name or address for the TLS certificate")
        ->envname("ORRERY_TLS_HOST")
        ->delimiter(',');
    serve->add_option("--cache-mb", flags.cache_mb, "Memory for caches")
        ->envname("ORRERY_CACHE_MB")
        ->check(CLI::Range(8, 1 << 20))
        ->capture_default_str();
    add_throughput(*serve, line, flags);
    serve
        ->add_option("--split-storage-mb", flags.split_storage_mb,
                     "A physical partition with more data is split")
        ->envname("ORRERY_SPLIT_STORAGE_MB")
        ->check(CLI::Range(1, 1 << 30))
        ->capture_default_str();
    serve
        ->add_option("--split-throughput", line.serve.range_limits.throughput,
                     "RU/s that one physical partition serves; a container with more is split")
        ->envname("ORRERY_SPLIT_THROUGHPUT")
        ->check(CLI::Range(100, 1'000'000))
        ->capture_default_str();
    serve
        ->add_flag("--no-auto-split", flags.no_auto_split,
                   "Split physical partitions on demand only")
        ->envname("ORRERY_NO_AUTO_SPLIT");
    serve
        ->add_option("--logical-partition-mb", flags.logical_partition_mb,
                     "Most that the items of one partition key value may take")
        ->envname("ORRERY_LOGICAL_PARTITION_MB")
        ->check(CLI::Range(1, 1 << 30))
        ->capture_default_str();
    serve->add_option("--log-level", line.log_level, "debug, info, warning or error")
        ->envname("ORRERY_LOG_LEVEL")
        ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
        ->capture_default_str();
    serve
        ->add_flag("--no-recording", flags.no_recording,
                   "Do not record what requests do: metrics and the Design Lab stay empty")
        ->envname("ORRERY_NO_RECORDING");
    serve
        ->add_flag("--container-log", line.container_log,
                   "When ready, print the lines that container tooling of the emulators waits for")
        ->envname("ORRERY_CONTAINER_LOG");
    serve->footer(
        "Examples:\n"
        "  orrery serve --memory --port 0                 a throw-away server on a free port\n"
        "  orrery serve --data ./data --init seed.json    durable, with databases and items to "
        "start from\n"
        "Every option can also be given as ORRERY_<NAME>, for example ORRERY_PORT=9000, or as a "
        "line\n"
        "'port = 9000' of the --config file. The command line wins over variables, these over the "
        "file.");
    return serve;
}

/// Variables that people set for the emulators: honoured where the meaning carries over.
void apply_emulator_variables(CommandLine& line, ServeFlags& flags, bool storage_chosen) {
    if (const auto persist = environment_variable("AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE");
        persist && !storage_chosen)
        flags.memory = equals_ignore_case(*persist, "false");
    if (auto address = environment_variable("AZURE_COSMOS_EMULATOR_IP_ADDRESS_OVERRIDE"))
        line.serve.tls_hosts.push_back(*std::move(address));
    if (environment_variable("AZURE_COSMOS_EMULATOR_PARTITION_COUNT"))
        line.warnings.emplace_back(
            "AZURE_COSMOS_EMULATOR_PARTITION_COUNT has no effect: containers are not limited in "
            "number, and physical "
            "partitions follow from each container's throughput.");
}

/// --data and --memory exclude each other. If the command line has one, variables for the other are
/// ignored.
void let_command_line_choose_storage(CLI::App& serve, int argc, char** argv) {
    const auto given = [&](const std::string& name) {
        return std::any_of(argv, argv + argc, [&](std::string_view argument) {
            return argument == name || argument.starts_with(name + "=");
        });
    };
    if (given("--data")) serve.get_option("--memory")->envname("");
    if (given("--memory")) serve.get_option("--data")->envname("");
}

/// What the configuration file adds to the command line: a `--name=value` for each line whose
/// option was given neither there nor as a variable. --data and --memory are one choice.
Result<std::vector<std::string>> arguments_from_file(const CLI::App& serve, const std::string& path,
                                                     bool memory) {
    TRY(const auto settings, read_config_file(path));
    const bool storage_chosen = serve.count("--data") > 0 || memory;
    std::vector<std::string> arguments;
    for (const auto& setting : settings) {
        const CLI::Option* option = serve.get_option_no_throw("--" + setting.name);
        if (option == nullptr || setting.name == "config" || setting.name == "help")
            return errors::bad_request(fmt::format(
                "{}:{}: '{}' is not an option of 'orrery serve'. 'orrery serve --help' lists them.",
                path, setting.line, setting.name));
        const bool of_storage = setting.name == "data" || setting.name == "memory";
        if (option->count() == 0 && !(of_storage && storage_chosen))
            arguments.push_back("--" + setting.name + "=" + setting.value);
    }
    return arguments;
}

/// Misspelt variables would otherwise do nothing and say nothing.
void warn_of_unknown_variables(const CLI::App& app, CommandLine& line) {
    std::vector<std::string> known(std::begin(cli::kClientVariables),
                                   std::end(cli::kClientVariables));
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        for (const CLI::Option* option : command->get_options())
            known.push_back(option->get_envname());
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::string_view name = text.substr(0, text.find('='));
        if (!name.starts_with("ORRERY_")) continue;
        if (std::find(known.begin(), known.end(), name) == known.end())
            line.warnings.push_back(
                fmt::format("the variable {} has no effect: no option of orrery has that name "
                            "('orrery serve --help' lists them)",
                            name));
    }
}

/// The error of the command itself: it is missing or unknown. Empty: the command is known, and
/// something else is wrong.
std::string command_problem(CLI::App& app, int argc, char** argv) {
    CLI::App* at = &app;
    std::string said;
    for (int i = 1; !at->get_subcommands({}).empty(); ++i) {
        std::string known;
        CLI::App* next = nullptr;
        for (CLI::App* each : at->get_subcommands({})) {
            known += (known.empty() ? "" : ", ") + each->get_name();
            if (i < argc && each->check_name(argv[i])) next = each;
        }
        const std::string before = said.empty() ? said : said + " ";
        if (i >= argc || argv[i][0] == '-')
            return fmt::format("a command is missing. There are: {}. Help: orrery {}--help", known,
                               before);
        if (next == nullptr)
            return fmt::format("there is no command '{}{}'. There are: {}. Help: orrery {}--help",
                               before, argv[i], known, before);
        said = before + argv[i];
        at = next;
    }
    return {};
}

}  // namespace

CommandLine read_command_line(int argc, char** argv) {
    CommandLine line;
    if (argc > 0) line.program = argv[0];
    ServeFlags flags;
    CLI::App app{"Orrery: a database that speaks the Azure Cosmos DB protocol", "orrery"};
    app.require_subcommand(1);
    app.footer(
        "Start here:  orrery serve --memory        then, in another terminal:  orrery shell\n"
        "Help with examples on one command:  orrery import --help");

    auto* serve = add_serve(app, line, flags);
    auto* check =
        app.add_subcommand("check", "Verify a data folder: checksums, and that its parts agree");
    check->add_option("--data", line.check_folder, "Data folder")
        ->required()
        ->envname("ORRERY_DATA");
    auto* health = app.add_subcommand(
        "healthcheck", "Ask a running server whether it is ready; exit code 0 if so");
    health->add_option("--address", line.probe_address, "Address of the server")
        ->capture_default_str();
    health->add_option("--port", line.probe_port, "Port of the server")
        ->envname("ORRERY_PORT")
        ->check(CLI::Range(1, kPortMax))
        ->capture_default_str();
    auto* version = app.add_subcommand("version", "Print the version");
    cli::Commands client;
    client.add_to(app);

    let_command_line_choose_storage(*serve, argc, argv);
    try {
        app.parse(argc, argv);
        if (serve->parsed() && !flags.config.empty()) {
            const auto from_file = arguments_from_file(*serve, flags.config, flags.memory);
            if (!from_file.ok()) {
                fmt::print(stderr, "orrery: {}\n", from_file.error().message);
                line.exit_code = kWrongArguments;
                return line;
            }
            // CLI11 takes them in reverse.
            std::vector<std::string> all(argv + 1, argv + argc);
            all.insert(all.end(), from_file->begin(), from_file->end());
            std::reverse(all.begin(), all.end());
            app.parse(std::move(all));
        }
    } catch (const CLI::RequiredError& error) {
        const std::string problem = command_problem(app, argc, argv);
        if (!problem.empty())
            fmt::print(stderr, "orrery: {}\n", problem);
        else
            app.exit(error);
        line.exit_code = kWrongArguments;
        return line;
    } catch (const CLI::ParseError& error) {
        // Help that was asked for comes this way too.
        line.exit_code = app.exit(error) == 0 ? 0 : kWrongArguments;
        return line;
    }
    if (serve->parsed() && flags.memory && serve->count("--data") > 0) {
        fmt::print(
            stderr,
            "orrery: --data and --memory (or ORRERY_DATA and ORRERY_MEMORY, or these lines of "
            "the configuration file) exclude each other. Give one of them.\n");
        line.exit_code = kWrongArguments;
        return line;
    }
    if (serve->parsed()) {
        line.command = Command::kServe;
        warn_of_unknown_variables(app, line);
        const bool storage_chosen = serve->count("--data") > 0 || serve->count("--memory") > 0;
        apply_emulator_variables(line, flags, storage_chosen);
        line.serve.data_folder = flags.memory ? std::string() : flags.data;
        line.serve.cache_bytes = flags.cache_mb << 20;
        auto& account = line.serve.account;
        account.throttled = !flags.unthrottled;
        account.charges = flags.charge_profile == "classic" ? meter::ChargeProfile::kClassic
                                                            : meter::ChargeProfile::kCurrent;
        account.consistency = engine::parse_consistency(flags.consistency)
                                  .value_or(engine::ConsistencyLevel::kSession);
        account.default_priority =
            flags.default_priority == "low" ? meter::Priority::kLow : meter::Priority::kHigh;
        line.serve.range_limits.storage_bytes = flags.split_storage_mb << 20;
        line.serve.range_limits.logical_partition_bytes = flags.logical_partition_mb << 20;
        line.serve.range_limits.automatic = !flags.no_auto_split;
        line.serve.recording = !flags.no_recording;
        line.serve.durability = flags.durability == "relaxed" ? storage::Durability::kRelaxed
                                                              : storage::Durability::kSync;
    } else if (check->parsed()) {
        line.command = Command::kCheck;
    } else if (health->parsed()) {
        line.command = Command::kHealthcheck;
    } else if (version->parsed()) {
        line.command = Command::kVersion;
    } else if (line.client = client.chosen(); line.client) {
        line.command = Command::kClient;
    }
    return line;
}

}  // namespace orrery::server
