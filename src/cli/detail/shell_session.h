#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/account_client.h"
#include "cli/line_editor.h"
#include "cli/query_page.h"
#include "cli/result_text.h"
#include "cli/shell.h"
#include "cli/shell_words.h"

namespace orrery::cli::detail {

/// What a shell knows between two statements. Writes results to the standard output, everything
/// else to the standard error (on a terminal: all to the standard output). Owned by one thread.
class ShellSession {
public:
    ShellSession(const ShellOptions& options, const AccountClient::Shared& account,
                 bool interactive);

    /// Reaches the account, and the container if one was named.
    Status open();
    void welcome() const;
    std::string prompt() const;
    bool leaving() const { return leaving_; }

    /// A query, or a command that begins with a dot. False when it failed; the error is shown.
    bool run(const std::string& statement);
    Completion complete(std::string_view before);
    void use_history(std::function<std::vector<std::string>()> history) {
        history_ = std::move(history);
    }

    struct Command {
        std::string_view name;
        std::string_view arguments;
        std::string_view help;
        Status (ShellSession::*run)(const std::vector<std::string>& words, std::string_view rest);
    };
    static const std::vector<Command>& commands();

private:
    Status run_command(const std::string& line);
    Status run_query(const std::string& text);
    void show_problems(const std::string& text, const std::vector<QueryProblem>& problems) const;
    void show_footer(uint64_t rows, size_t pages, double charge, int64_t elapsed_us,
                     bool stopped) const;
    void show_reports(const QueryPage& page) const;
    enum class Answer : uint8_t { kNext, kAll, kStop };
    Answer ask_for_more() const;
    void note(std::string_view line) const;

    Status need_container() const;
    Status use(const ContainerName& name);
    Result<std::vector<std::string>> list(const Resource& feed, std::string_view member);
    Result<std::vector<std::string>> container_names();
    void sample_paths();
    Status set_switch(const std::vector<std::string>& words, bool& value) const;

    Status command_help(const std::vector<std::string>& words, std::string_view rest);
    Status command_databases(const std::vector<std::string>& words, std::string_view rest);
    Status command_containers(const std::vector<std::string>& words, std::string_view rest);
    Status command_use(const std::vector<std::string>& words, std::string_view rest);
    Status command_definition(const std::vector<std::string>& words, std::string_view rest);
    Status command_ranges(const std::vector<std::string>& words, std::string_view rest);
    Status command_read(const std::vector<std::string>& words, std::string_view rest);
    Status command_upsert(const std::vector<std::string>& words, std::string_view rest);
    Status command_delete(const std::vector<std::string>& words, std::string_view rest);
    Status command_format(const std::vector<std::string>& words, std::string_view rest);
    Status command_page(const std::vector<std::string>& words, std::string_view rest);
    Status command_set(const std::vector<std::string>& words, std::string_view rest);
    Status command_unset(const std::vector<std::string>& words, std::string_view rest);
    Status command_timing(const std::vector<std::string>& words, std::string_view rest);
    Status command_system(const std::vector<std::string>& words, std::string_view rest);
    Status command_metrics(const std::vector<std::string>& words, std::string_view rest);
    Status command_plan(const std::vector<std::string>& words, std::string_view rest);
    Status command_charge(const std::vector<std::string>& words, std::string_view rest);
    Status command_history(const std::vector<std::string>& words, std::string_view rest);
    Status command_quit(const std::vector<std::string>& words, std::string_view rest);

    const bool interactive_;
    AccountClient client_;
    std::optional<ContainerName> container_;
    ContainerInfo info_;
    ResultFormat format_;
    std::map<std::string, std::string> parameters_;
    QueryOptions query_;
    bool timing_;
    bool system_ = false;
    bool leaving_ = false;
    std::function<std::vector<std::string>()> history_;
    /// Filled when completion first needs them.
    bool sampled_ = false;
    std::vector<std::string> paths_;
    std::vector<std::string> known_containers_;
};

size_t terminal_width();

}  // namespace orrery::cli::detail
