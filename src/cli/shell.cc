#include "cli/shell.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "base/encoding.h"
#include "base/errors.h"
#include "cli/detail/shell_session.h"
#include "cli/interrupt.h"
#include "cli/line_editor.h"
#include "cli/shell_words.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::cli {
namespace {

std::string history_path() {
    const std::string state = process_environment("XDG_STATE_HOME");
    const std::string home = process_environment("HOME");
    if (!state.empty()) return state + "/orrery/history";
    return home.empty() ? std::string() : home + "/.local/state/orrery/history";
}

int run_statements(detail::ShellSession& session, const ShellOptions& options) {
    int failures = 0;
    for (const std::string& given : options.statements) {
        std::string text = given;
        std::vector<std::string> statements;
        if (text.starts_with('.')) {
            statements.push_back(text);
        } else {
            text += "\n;";  // the last one may lack its semicolon, or end in a comment
            statements = take_statements(text);
        }
        for (const std::string& statement : statements) {
            if (!session.run(statement)) ++failures;
            if (interrupted()) return kInterruptedExit;
            if (session.leaving()) return failures == 0 ? 0 : 1;
            if (failures > 0 && !options.keep_going) return 1;
        }
    }
    return failures == 0 ? 0 : 1;
}

int run_script(detail::ShellSession& session, const ShellOptions& options) {
    std::string pending;
    std::string line;
    int failures = 0;
    const auto run = [&](const std::string& statement) {
        if (!session.run(statement)) ++failures;
        return (failures == 0 || options.keep_going) && !session.leaving() && !interrupted();
    };
    while (std::getline(std::cin, line)) {
        if (pending.empty() && line.starts_with('.')) {
            if (!run(line)) break;
            continue;
        }
        pending += line + "\n";
        bool go_on = true;
        for (const std::string& statement : take_statements(pending))
            go_on = go_on && run(statement);
        if (!go_on) break;
    }
    if (!pending.empty() && (failures == 0 || options.keep_going) && !session.leaving() &&
        !interrupted()) {
        pending += "\n;";
        for (const std::string& statement : take_statements(pending)) run(statement);
    }
    if (interrupted()) return kInterruptedExit;
    return failures == 0 ? 0 : 1;
}

int run_interactive(detail::ShellSession& session) {
    LineEditor editor(history_path(),
                      [&](std::string_view before) { return session.complete(before); });
    session.use_history([&] { return editor.entries(); });
    session.welcome();
    std::string pending;
    std::string line;
    while (!session.leaving()) {
        clear_interrupt();
        const std::string prompt = session.prompt();
        const std::string more =
            prompt.size() > 5 ? std::string(prompt.size() - 5, ' ') + "...> " : "...> ";
        switch (editor.read(pending.empty() ? prompt : more, line)) {
            case LineEditor::Outcome::kEnd:
                fmt::print("\n");
                return 0;
            case LineEditor::Outcome::kCancelled:
                pending.clear();
                continue;
            case LineEditor::Outcome::kLine:
                break;
        }
        if (pending.empty() && line.find_first_not_of(" \t") == std::string::npos) continue;
        if (pending.empty() && line.starts_with('.')) {
            editor.remember(line);
            session.run(line);
            continue;
        }
        pending += pending.empty() ? line : "\n" + line;
        const std::string entered = pending;
        const auto statements = take_statements(pending);
        if (!statements.empty()) editor.remember(entered);
        for (const std::string& statement : statements) {
            session.run(statement);
            if (interrupted() || session.leaving()) break;
        }
    }
    return 0;
}

}  // namespace

Status add_parameter(std::string_view text, std::map<std::string, std::string>& parameters) {
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals < 2 || text[0] != '@')
        return Status(errors::bad_request(
            fmt::format("The parameter '{}' is not of the form @name=VALUE.", text)));
    const std::string_view value = text.substr(equals + 1);
    json::Arena arena;
    std::string json_text(value);
    if (!json::parse(value, arena).ok()) {
        if (!is_valid_utf8(value))
            return Status(errors::bad_request("The parameter's value is not UTF-8."));
        json_text.clear();
        json::write_string(json_text, value);
    }
    parameters[std::string(text.substr(0, equals))] = json_text;
    return {};
}

int run_shell(const ShellOptions& options, const AccountClient::Shared& account) {
    const bool interactive =
        options.statements.empty() && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
    detail::ShellSession session(options, account, interactive);
    if (const Status ready = session.open(); !ready.ok()) {
        fmt::print(stderr, "orrery: {}\n", ready.error().message);
        return interrupted() ? kInterruptedExit : 1;
    }
    if (!options.statements.empty()) return run_statements(session, options);
    return interactive ? run_interactive(session) : run_script(session, options);
}

}  // namespace orrery::cli
