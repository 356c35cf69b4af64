#include "cli/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/detail/commands_state.h"

namespace orrery::cli {

void Commands::State::add_connection(CLI::App& command, double patience) {
    command
        .add_option("--endpoint", connection.endpoint,
                    "Account to talk to (ORRERY_ENDPOINT); default: http://127.0.0.1:8081, the "
                    "local server")
        ->group("Account");
    command
        .add_option("--key", connection.key,
                    "Its key (ORRERY_KEY); default on loopback: the emulators' well-known key")
        ->group("Account");
    command
        .add_option("--connection-string", connection.connection_string,
                    "Instead of both: AccountEndpoint=…;AccountKey=…; (ORRERY_CONNECTION_STRING)")
        ->group("Account");
    command
        .add_option(
            "--ca", connection.ca,
            "Trust this PEM file too, or the authority of this server's data folder (ORRERY_CA)")
        ->group("Account");
    command
        .add_flag("--insecure", connection.insecure,
                  "Accept any certificate; for servers of your own only")
        ->group("Account");
    command
        .add_option_function<double>(
            "--patience", [this](const double& value) { patience_seconds = value; },
            fmt::format(
                "Seconds to try a request again when throttled (429) or cut off; default {:g}",
                patience))
        ->check(CLI::Range(0.0, 86'400.0))
        ->group("Account");
    command.preparse_callback([this, patience](size_t) { patience_seconds = patience; });
}

void Commands::State::add_shell() {
    shell = app->add_subcommand("shell", "Query an account in SQL, interactively or from a script");
    shell->add_option("container", shell_container, "DATABASE/CONTAINER to begin with")
        ->type_name("DATABASE/CONTAINER");
    shell->add_option("-e,--execute", shell_options.statements, "Run these statements and leave")
        ->type_name("SQL")
        ->take_all()
        ->allow_extra_args(false);
    shell
        ->add_option("-f,--format", shell_format,
                     "How rows are shown; default: table on a terminal, jsonl otherwise")
        ->check(CLI::IsMember({"table", "json", "jsonl", "csv"}));
    shell
        ->add_option("-p,--parameter", shell_parameters,
                     "@name=VALUE for queries; VALUE is JSON or text")
        ->take_all()
        ->allow_extra_args(false);
    shell->add_option("--page", shell_options.page_items, "Rows per page")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    shell->add_flag("--keep-going", shell_options.keep_going,
                    "A script goes on after a statement that failed");
    shell->add_flag("-q,--quiet", shell_options.quiet, "No line with rows, charge and time");
    add_connection(*shell, 30);
    shell->footer(
        "Examples:\n"
        "  orrery shell                                          the local server; .help inside\n"
        "  orrery shell shop/orders -e 'SELECT VALUE COUNT(1) FROM c'\n"
        "  orrery shell shop/orders -p @who=ann -e 'SELECT * FROM c WHERE c.customer = @who' -f "
        "csv > ann.csv\n"
        "  orrery shell shop/orders < report.sql\n"
        "  orrery shell --connection-string \"$AZURE_COSMOS\" shop/orders\n"
        "\n"
        "Azure's gateway does not merge ORDER BY, GROUP BY, DISTINCT and aggregates over several "
        "physical partitions; there, name a\n"
        "partition key in the WHERE clause. Orrery answers every query whole.");
}

void Commands::State::add_import() {
    import = app->add_subcommand("import", "Write the items of a file into a container");
    import->add_option("source", import_options.source, "File, or - for the standard input")
        ->required()
        ->type_name("FILE");
    import->add_option("container", import_container, "Where to: DATABASE/CONTAINER")
        ->required()
        ->type_name("DATABASE/CONTAINER");
    import
        ->add_option("--format", import_format,
                     "Default: by the file's name. mongo: extended JSON of mongoexport")
        ->check(CLI::IsMember({"json", "jsonl", "csv", "tsv", "mongo"}));
    import
        ->add_option(
            "--mode", import_mode,
            "An item that is there already: upsert replaces it, create fails, skip leaves it")
        ->check(CLI::IsMember({"upsert", "create", "skip"}))
        ->capture_default_str();
    import->add_option("--parallel", import_options.parallel, "Connections")
        ->check(CLI::Range(size_t{1}, kParallelMax))
        ->capture_default_str();
    import
        ->add_option(
            "--rejects", import_options.rejects,
            "Put items that are refused here and go on; default: the first one ends the import")
        ->type_name("FILE");
    import->add_flag("--resume", import_options.resume,
                     "Go on where an earlier run stopped (FILE.orrery-import)");
    import
        ->add_flag("--restart", import_options.restart,
                   "Begin anew although an earlier run was not finished")
        ->excludes("--resume");
    import
        ->add_option("--checkpoint", import_options.checkpoint,
                     "Where to remember how far it came; default: FILE.orrery-import")
        ->type_name("FILE");
    import
        ->add_option("--id-from", import_options.conversion.id_from,
                     "Take the id from this member (a.b), in place of any it has")
        ->type_name("NAME");
    import->add_flag("--generate-ids", import_options.conversion.generate_ids,
                     "Make up an id for items without one");
    import->add_flag("--create", import_options.create,
                     "Create the database and the container if they are missing");
    import
        ->add_option("--partition-key", import_options.key_paths,
                     "With --create: /path, up to three for a hierarchical key: /tenant,/user")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->needs("--create")
        ->type_name("PATH");
    import
        ->add_option("--throughput", import_options.throughput,
                     "With --create: RU/s of the container")
        ->needs("--create")
        ->check(CLI::Range(400, 1'000'000));
    import->add_option("--delimiter", import_delimiter, "Between fields; \\t for a tab")
        ->group("CSV")
        ->capture_default_str();
    import
        ->add_option("--types", import_types,
                     "infer: numbers, true, false, null and JSON are recognised, fields in quotes "
                     "stay text; text: nothing is; infer-quoted: in quotes too")
        ->check(CLI::IsMember({"infer", "infer-quoted", "text"}))
        ->group("CSV")
        ->capture_default_str();
    import
        ->add_option("--column", import_columns,
                     "NAME:TYPE of one column: text, number, boolean, json, infer")
        ->group("CSV")
        ->take_all()
        ->allow_extra_args(false);
    import
        ->add_option("--empty", import_empty,
                     "What an empty field means: no member, null, or an empty text")
        ->check(CLI::IsMember({"omit", "null", "text"}))
        ->group("CSV")
        ->capture_default_str();
    import->add_flag("--flat", import_flat, "A column a.b is a member of that name, not b inside a")
        ->group("CSV");
    add_connection(*import, 300);
    import->footer(
        "Examples:\n"
        "  orrery import orders.jsonl shop/orders --create --partition-key /customer\n"
        "  orrery import orders.jsonl shop/orders --resume              after Ctrl-C or a crash\n"
        "  orrery import people.csv crm/people --column zip:text --id-from number\n"
        "  mongoexport -c users | orrery import - crm/users --format mongo\n"
        "  orrery import orders.json shop/orders --rejects bad.jsonl --parallel 32 "
        "--connection-string \"$AZURE_COSMOS\"\n"
        "\n"
        "When the container's throughput is used up (429), each connection waits as long as the "
        "server says. The checkpoint names the\n"
        "place before which everything is written; the few items after it are sent again on "
        "--resume.");
}

void Commands::State::add_export() {
    export_ = app->add_subcommand("export", "Write a container's items into a file");
    export_->add_option("container", export_container, "Where from: DATABASE/CONTAINER")
        ->required()
        ->type_name("DATABASE/CONTAINER");
    export_->add_option("target", export_options.target, "File, or - for the standard output")
        ->required()
        ->type_name("FILE");
    export_
        ->add_option("--format", export_format,
                     "Default: by the file's name; jsonl to the standard output")
        ->check(CLI::IsMember({"json", "jsonl", "csv", "tsv"}));
    export_
        ->add_option("--query", export_options.query,
                     "Only what this query gives, partition by partition")
        ->type_name("SQL");
    export_
        ->add_option(
            "--parallel", export_options.parallel,
            "Physical partitions read side by side; with 1, the same data gives the same file")
        ->check(CLI::Range(size_t{1}, kParallelMax))
        ->capture_default_str();
    export_->add_flag("--system", export_options.system_properties,
                      "With _rid, _self, _etag, _ts and _attachments");
    export_->add_option("--delimiter", export_delimiter, "Between fields of CSV; \\t for a tab")
        ->capture_default_str();
    export_->add_flag("--resume", export_options.resume,
                      "Go on where an earlier run stopped (FILE.orrery-export)");
    export_
        ->add_flag("--restart", export_options.restart, "Begin anew; write over an existing file")
        ->excludes("--resume");
    export_
        ->add_option("--checkpoint", export_options.checkpoint,
                     "Where to remember how far it came; default: FILE.orrery-export")
        ->type_name("FILE");
    add_connection(*export_, 300);
    export_->footer(
        "Examples:\n"
        "  orrery export shop/orders orders.jsonl\n"
        "  orrery export shop/orders orders.csv --query \"SELECT c.id, c.total FROM c WHERE "
        "c.total > 100\"\n"
        "  orrery export shop/orders - | gzip > orders.jsonl.gz\n"
        "\n"
        "A table has a column for every path that any item has (a.b for b inside a; arrays as "
        "JSON), so items are gathered in\n"
        "FILE.part.jsonl first. A query runs on each physical partition by itself: ORDER BY, TOP "
        "and aggregates apply there.");
}

void Commands::State::add_bench() {
    bench = app->add_subcommand("bench", "Measure an account with a built-in workload");
    bench
        ->add_option("workload", bench_options.workload,
                     "read, create, upsert; mix95 and mix50: that share of reads, the rest "
                     "upserts; query: by partition key; query-cross: a range over all partitions")
        ->check(
            CLI::IsMember({"read", "create", "upsert", "mix95", "mix50", "query", "query-cross"}))
        ->capture_default_str();
    bench
        ->add_option("--container", bench_container,
                     "DATABASE/CONTAINER to use, with the partition key /pk; made if missing, "
                     "removed afterwards")
        ->capture_default_str();
    bench->add_option("--items", bench_options.items, "Items of 1 KB in it")
        ->check(CLI::Range(1, 100'000'000))
        ->capture_default_str();
    bench->add_flag("--uniform", bench_options.uniform,
                    "Draw keys evenly; default: by Zipf's law, few keys are popular");
    bench->add_option("--seconds", bench_options.seconds, "How long")
        ->check(CLI::Range(1, 86'400))
        ->capture_default_str();
    bench->add_option("--operations", bench_options.operations, "Stop after so many");
    bench->add_option("--parallel", bench_options.parallel, "Connections")
        ->check(CLI::Range(size_t{1}, size_t{1024}))
        ->capture_default_str();
    bench
        ->add_option("--throughput", bench_options.throughput,
                     "RU/s of the container when it is made")
        ->check(CLI::Range(400, 1'000'000));
    bench->add_flag("--json", bench_options.json, "The result as one line of JSON");
    bench->add_flag("--keep", bench_options.keep,
                    "Leave the container that was made, for the next run");
    add_connection(*bench, 30);
    bench->footer(
        "Examples:\n"
        "  orrery bench read --throughput 100000\n"
        "  orrery bench mix95 --seconds 60 --parallel 64 --json\n"
        "  orrery bench query --connection-string \"$AZURE_COSMOS\" --throughput 4000      (this "
        "costs money)\n"
        "\n"
        "Answers 429 are waited for as the server says and counted; latencies are those of the "
        "answers that were no 429.");
}

void Commands::State::add_lab() {
    lab = app->add_subcommand("lab", "What the Design Lab says about containers");
    lab->require_subcommand(1);
    lab_report = lab->add_subcommand(
        "report",
        "Findings with evidence, change and saving; the exit code tells how bad they are");
    lab_report->add_option("container", lab_options.container, "Only this one: DATABASE/CONTAINER")
        ->type_name("DATABASE/CONTAINER");
    lab_report->add_option("--format", lab_options.format, "What the report is written as")
        ->check(CLI::IsMember({"md", "html", "json"}))
        ->capture_default_str();
    lab_report
        ->add_option("--fail-on", lab_options.fail_on,
                     "Exit code 1 when a finding is at least this severe")
        ->check(CLI::IsMember({"info", "low", "medium", "high", "critical", "none"}))
        ->capture_default_str();
    lab_report->add_option("--output", lab_options.output, "File instead of the standard output")
        ->type_name("FILE");
    lab_report
        ->add_option("--file", lab_options.file,
                     "Judge a saved report or observation instead of asking a server")
        ->type_name("FILE");
    lab_report
        ->add_option("--thresholds", lab_options.thresholds,
                     "Other limits of the rules, as a JSON object")
        ->type_name("JSON");
    lab_report->add_flag("--observations", lab_options.observations,
                         "JSON: with all numbers that the findings rest on");
    add_connection(*lab_report, 30);
    lab_report->footer(
        "Examples:\n"
        "  orrery lab report --fail-on high                       in continuous integration\n"
        "  orrery lab report shop/orders --format html --output design.html\n"
        "  orrery lab report --format json --observations --output saved.json\n"
        "  orrery lab report --file saved.json --thresholds '{\"fanOutRunsPerHour\":10}'\n"
        "\n"
        "Exit code: 0, 1 when a finding is as severe as --fail-on, 2 when there is no report.");
}

void Commands::State::add_top() {
    top = app->add_subcommand("top", "Watch the physical partitions of a running server");
    top->add_option("container", top_options.container, "Only this one: DATABASE/CONTAINER")
        ->type_name("DATABASE/CONTAINER");
    top->add_option("--interval", top_options.interval_seconds, "Seconds between two views")
        ->check(CLI::Range(0.2, 3600.0))
        ->capture_default_str();
    top->add_option("--order", top_order, "What comes first")
        ->check(CLI::IsMember({"load", "storage", "name"}))
        ->capture_default_str();
    top->add_flag("--once", top_options.once, "One view as text, for scripts");
    top->add_flag("--json", top_options.json, "One view as JSON");
    add_connection(*top, 5);
    top->footer(
        "Examples:\n"
        "  orrery top                            q leaves, s orders otherwise\n"
        "  orrery top shop/orders --interval 0.5\n"
        "  orrery top --json | jq '.partitions[] | select(.throttledPerSecond > 0)'\n"
        "\n"
        "Load is the charge of the last three seconds over the throughput of the partition. Only "
        "Orrery has these endpoints.");
}

void Commands::State::add_completion() {
    completion = app->add_subcommand("completion", "Print the completion file of a shell");
    completion->add_option("shell", completion_shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    completion->footer(
        "Examples:\n"
        "  source <(orrery completion bash)\n"
        "  orrery completion zsh > ~/.zfunc/_orrery\n"
        "  orrery completion fish > ~/.config/fish/completions/orrery.fish");
}

Commands::Commands() : state_(std::make_shared<State>()) {}
Commands::~Commands() = default;

void Commands::add_to(CLI::App& app) {
    state_->app = &app;
    state_->add_shell();
    state_->add_import();
    state_->add_export();
    state_->add_bench();
    state_->add_top();
    state_->add_lab();
    state_->add_completion();
}

std::function<int()> Commands::chosen() const {
    // The returned function outlives the description of the command line and must not use it.
    const auto state = state_;
    if (state->shell->parsed()) return [state] { return state->run_shell_command(); };
    if (state->import->parsed()) {
        state->import_options.csv_delimiter_given = state->import->count("--delimiter") > 0;
        for (const char* option : {"--delimiter", "--types", "--column", "--empty", "--flat"})
            if (state->import->count(option) > 0) state->import_options.csv_option = option;
        return [state] { return state->run_import_command(); };
    }
    if (state->export_->parsed()) {
        state->export_options.delimiter_given = state->export_->count("--delimiter") > 0;
        return [state] { return state->run_export_command(); };
    }
    if (state->bench->parsed()) return [state] { return state->run_bench_command(); };
    if (state->top->parsed()) return [state] { return state->run_top_command(); };
    if (state->lab->parsed()) return [state] { return state->run_lab_command(); };
    if (state->completion->parsed()) {
        // Printed now: the command line's description does not live on.
        const int code = state->run_completion_command();
        return [code] { return code; };
    }
    return {};
}

}  // namespace orrery::cli
