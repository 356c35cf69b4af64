#include "server/main/options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "base/encoding.h"

namespace orrery::server {
namespace {

struct ServeFlags {
    std::string data = "orrery-data";
    bool memory = false;
    std::string durability = "sync";
    uint64_t cache_mb = 256;
};

CLI::App* add_serve(CLI::App& app, CommandLine& line, ServeFlags& flags) {
    auto* serve = app.add_subcommand("serve", "Run the database");
    serve->set_config("--config", "", "Read options from this file (lines 'name = value')")->envname("ORRERY_CONFIG");
    serve->allow_config_extras(CLI::config_extras_mode::error);
    auto* data = serve->add_option("--data", flags.data, "Data folder, created if missing")
                     ->envname("ORRERY_DATA")
                     ->capture_default_str();
    serve->add_flag("--memory", flags.memory, "Keep everything in memory; gone on exit")
        ->envname("ORRERY_MEMORY")
        ->excludes(data);
    serve->add_option("--port", line.serve.port, "Port for HTTP and TLS; 0 picks a free one")
        ->envname("ORRERY_PORT")
        ->capture_default_str();
    serve->add_option("--bind", line.serve.bind_address, "Address to listen on; others than loopback need --key")
        ->envname("ORRERY_BIND")
        ->capture_default_str();
    serve->add_option("--key", line.serve.keys.primary, "Account key, base64; default: the well-known emulator key")
        ->envname("ORRERY_KEY");
    serve->add_option("--secondary-key", line.serve.keys.secondary, "Second account key; default: derived from --key")
        ->envname("ORRERY_SECONDARY_KEY");
    serve->add_option("--read-only-key", line.serve.keys.primary_read_only,
                      "Key that cannot write; default: derived from --key")
        ->envname("ORRERY_READ_ONLY_KEY");
    serve->add_option("--secondary-read-only-key", line.serve.keys.secondary_read_only,
                      "Second read-only key; default: derived from --key")
        ->envname("ORRERY_SECONDARY_READ_ONLY_KEY");
    serve->add_option("--durability", flags.durability,
                      "sync: an acknowledged write survives power loss; relaxed: it survives a crash of the process "
                      "only")
        ->envname("ORRERY_DURABILITY")
        ->check(CLI::IsMember({"sync", "relaxed"}))
        ->capture_default_str();
    serve->add_option("--init", line.serve.init_file, "Create databases, containers and items from this JSON file")
        ->envname("ORRERY_INIT");
    serve->add_option("--tls-host", line.serve.tls_hosts, "Further host name or address for the TLS certificate")
        ->envname("ORRERY_TLS_HOST")
        ->delimiter(',');
    serve->add_option("--cache-mb", flags.cache_mb, "Memory for caches")
        ->envname("ORRERY_CACHE_MB")
        ->check(CLI::Range(8, 1 << 20))
        ->capture_default_str();
    serve->add_option("--log-level", line.log_level, "debug, info, warning or error")
        ->envname("ORRERY_LOG_LEVEL")
        ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
        ->capture_default_str();
    serve->add_flag("--container-log", line.container_log,
                    "When ready, print the lines that container tooling of the emulators waits for")
        ->envname("ORRERY_CONTAINER_LOG");
    serve->footer(
        "Examples:\n"
        "  orrery serve --memory --port 0                 a throw-away server on a free port\n"
        "  orrery serve --data ./data --init seed.json    durable, with databases and items to start from\n"
        "Every option can also be given as ORRERY_<NAME>, for example ORRERY_PORT=9000.");
    return serve;
}

/// Variables that people set for the emulators: honoured where the meaning carries over.
void apply_emulator_variables(CommandLine& line, ServeFlags& flags, bool storage_chosen) {
    if (const char* persist = std::getenv("AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE");
        persist != nullptr && !storage_chosen)
        flags.memory = equals_ignore_case(persist, "false");
    if (const char* address = std::getenv("AZURE_COSMOS_EMULATOR_IP_ADDRESS_OVERRIDE"); address != nullptr)
        line.serve.tls_hosts.emplace_back(address);
    if (std::getenv("AZURE_COSMOS_EMULATOR_PARTITION_COUNT") != nullptr)
        line.warnings.emplace_back(
            "AZURE_COSMOS_EMULATOR_PARTITION_COUNT has no effect: containers are not limited in number, and physical "
            "partitions follow from each container's throughput.");
}

}  // namespace

CommandLine read_command_line(int argc, char** argv) {
    CommandLine line;
    ServeFlags flags;
    CLI::App app{"Orrery: a database that speaks the Azure Cosmos DB protocol", "orrery"};
    app.require_subcommand(1);
    app.footer("Start here:  orrery serve --memory\nHelp on one command:  orrery serve --help");

    auto* serve = add_serve(app, line, flags);
    auto* check = app.add_subcommand("check", "Verify a data folder: checksums, and that its parts agree");
    check->add_option("--data", line.check_folder, "Data folder")->required()->envname("ORRERY_DATA");
    auto* health = app.add_subcommand("healthcheck", "Ask a running server whether it is ready; exit code 0 if so");
    health->add_option("--address", line.probe_address, "Address of the server")->capture_default_str();
    health->add_option("--port", line.probe_port, "Port of the server")->envname("ORRERY_PORT")->capture_default_str();
    auto* version = app.add_subcommand("version", "Print the version");

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        line.exit_code = app.exit(error);
        return line;
    }
    if (serve->parsed()) {
        line.command = Command::kServe;
        const bool storage_chosen = serve->count("--data") > 0 || serve->count("--memory") > 0;
        apply_emulator_variables(line, flags, storage_chosen);
        line.serve.data_folder = flags.memory ? std::string() : flags.data;
        line.serve.cache_bytes = flags.cache_mb << 20;
        line.serve.durability =
            flags.durability == "relaxed" ? storage::Durability::kRelaxed : storage::Durability::kSync;
    } else if (check->parsed()) {
        line.command = Command::kCheck;
    } else if (health->parsed()) {
        line.command = Command::kHealthcheck;
    } else if (version->parsed()) {
        line.command = Command::kVersion;
    }
    return line;
}

}  // namespace orrery::server
