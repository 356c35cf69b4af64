#pragma once

#include <string>
#include <vector>

#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/endpoint.h"
#include "cli/export.h"
#include "cli/import.h"
#include "cli/lab_report.h"
#include "cli/shell.h"
#include "cli/top.h"

namespace orrery::cli {

/// What the command line said, command by command. The pointers into it are good while it is being
/// read.
struct Commands::State {
    CLI::App* app = nullptr;
    ConnectionFlags connection;
    double patience_seconds = 0;

    CLI::App* shell = nullptr;
    ShellOptions shell_options;
    std::string shell_container;
    std::string shell_format;
    std::vector<std::string> shell_parameters;

    CLI::App* import = nullptr;
    ImportOptions import_options;
    std::string import_container;
    std::string import_format;
    std::string import_mode = "upsert";
    std::string import_delimiter = ",";
    std::string import_types = "infer";
    std::string import_empty = "omit";
    std::vector<std::string> import_columns;
    bool import_flat = false;

    CLI::App* export_ = nullptr;
    ExportOptions export_options;
    std::string export_container;
    std::string export_format;
    std::string export_delimiter = ",";

    CLI::App* bench = nullptr;
    BenchOptions bench_options;
    std::string bench_container = "orrery-bench/items";

    CLI::App* top = nullptr;
    TopOptions top_options;
    std::string top_order = "load";

    CLI::App* lab = nullptr;
    CLI::App* lab_report = nullptr;
    LabReportOptions lab_options;

    CLI::App* completion = nullptr;
    std::string completion_shell;

    Traffic traffic;

    void add_connection(CLI::App& command, double patience);
    void add_shell();
    void add_import();
    void add_export();
    void add_bench();
    void add_top();
    void add_lab();
    void add_completion();

    template <typename Run>
    int with_account(Run run);
    int run_shell_command();
    int run_import_command();
    int run_export_command();
    int run_bench_command();
    int run_top_command();
    int run_lab_command();
    int run_completion_command() const;
};

}  // namespace orrery::cli
