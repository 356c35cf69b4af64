#include "cli/detail/shell_session.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/errors.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/text_layout.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::cli::detail {
namespace {

constexpr int64_t kSampleItems = 20;
constexpr size_t kWidthUnknown = 100;

/// The byte where a UTF-16 position lies in a UTF-8 text.
size_t byte_of(std::string_view text, size_t utf16_position) {
    size_t units = 0;
    size_t at = 0;
    while (at < text.size() && units < utf16_position) {
        const auto byte = static_cast<unsigned char>(text[at]);
        const size_t bytes = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        units += bytes == 4 ? 2 : 1;
        at += bytes;
    }
    return std::min(at, text.size());
}

/// Blanks as wide as the text shows on a terminal; its tabs stay, whose width depends on where they
/// are.
std::string blanks_below(std::string_view text) {
    std::string out;
    for (size_t at = 0; at <= text.size();) {
        const size_t tab = std::min(text.find('\t', at), text.size());
        out += std::string(column_count(text.substr(at, tab - at)), ' ');
        if (tab < text.size()) out += '\t';
        at = tab + 1;
    }
    return out;
}

}  // namespace

size_t terminal_width() {
    winsize size{};
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                             : kWidthUnknown;
}

ShellSession::ShellSession(const ShellOptions& options, const AccountClient::Shared& account,
                           bool interactive)
    : interactive_(interactive),
      client_(account),
      container_(options.container),
      format_(
          options.format.value_or(interactive ? ResultFormat::kTable : ResultFormat::kJsonLines)),
      parameters_(options.parameters),
      timing_(!options.quiet) {
    query_.page_items = options.page_items;
}

void ShellSession::note(std::string_view line) const {
    std::fflush(stdout);
    fmt::print(interactive_ ? stdout : stderr, "{}\n", line);
    std::fflush(interactive_ ? stdout : stderr);
}

Status ShellSession::open() {
    TRY_STATUS(client_.call({.resource = account_resource()}).status().clone());
    if (container_.has_value()) return use(*container_);
    return {};
}

void ShellSession::welcome() const {
    note(
        fmt::format("Connected to {}. End a query with a semicolon; .help lists commands, "
                    ".containers shows what there is.",
                    client_.endpoint().text()));
}

std::string ShellSession::prompt() const {
    return container_.has_value() ? container_->text() + "> " : "orrery> ";
}

bool ShellSession::run(const std::string& statement) {
    const Status status =
        statement.starts_with('.') ? run_command(statement) : run_query(statement);
    if (status.ok()) return true;
    if (is_no_answer(status.error(), NoAnswer::kInterrupted))
        note("Stopped.");
    else
        note("Error: " + status.error().message);
    return false;
}

Status ShellSession::need_container() const {
    if (container_.has_value()) return {};
    return Status(
        errors::bad_request("No container is chosen. Choose one with .use DATABASE/CONTAINER; "
                            ".containers lists them."));
}

Status ShellSession::use(const ContainerName& name) {
    TRY(info_, read_container(client_, name));
    container_ = name;
    sampled_ = false;
    paths_.clear();
    return {};
}

ShellSession::Answer ShellSession::ask_for_more() const {
    fmt::print("-- more: Enter next page, a all, q stop --");
    std::fflush(stdout);
    termios before{};
    ::tcgetattr(STDIN_FILENO, &before);
    termios raw = before;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    char key = 'q';
    Answer answer = Answer::kStop;
    while (::read(STDIN_FILENO, &key, 1) == 1) {
        if (key == '\n' || key == '\r' || key == ' ') {
            answer = Answer::kNext;
            break;
        }
        if (key == 'a' || key == 'A') {
            answer = Answer::kAll;
            break;
        }
        if (key == 'q' || key == 'Q' || key == 4) break;
    }
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    fmt::print("\r\x1b[K");
    std::fflush(stdout);
    return answer;
}

Status ShellSession::run_query(const std::string& text) {
    TRY_STATUS(need_container());
    QueryCursor cursor(client_, *container_, {text, parameters_}, query_);
    ResultWriter writer({.format = format_,
                         .system_properties = system_,
                         .width = interactive_ ? terminal_width() : 0});
    uint64_t rows = 0;
    size_t pages = 0;
    double charge = 0;
    int64_t elapsed_us = 0;
    bool ask = interactive_;
    uint64_t shown_since_question = 0;
    while (!cursor.at_end()) {
        std::vector<QueryProblem> problems;
        auto page = cursor.next(&problems);
        if (!page.ok()) {
            if (problems.empty()) return std::move(page).take_status();
            show_problems(text, problems);
            return Status(errors::bad_request("the query was not run."));
        }
        rows += page->rows.size();
        ++pages;
        charge += page->charge;
        elapsed_us += page->elapsed_us;
        const std::string out = writer.page(page->rows);
        std::fwrite(out.data(), 1, out.size(), stdout);
        std::fflush(stdout);
        show_reports(*page);
        shown_since_question += page->rows.size();
        if (cursor.at_end()) break;
        if (interrupted()) {
            show_footer(rows, pages, charge, elapsed_us, true);
            return {};
        }
        // Pages without rows are no reason to ask.
        if (!ask || shown_since_question == 0) continue;
        shown_since_question = 0;
        const Answer answer = ask_for_more();
        if (answer == Answer::kStop) {
            show_footer(rows, pages, charge, elapsed_us, true);
            return {};
        }
        if (answer == Answer::kAll) ask = false;
    }
    show_footer(rows, pages, charge, elapsed_us, false);
    return {};
}

void ShellSession::show_footer(uint64_t rows, size_t pages, double charge, int64_t elapsed_us,
                               bool stopped) const {
    if (!timing_) return;
    std::string line =
        fmt::format("{} row{}{}, {:.2f} RU, {:.1f} ms", with_commas(rows), rows == 1 ? "" : "s",
                    stopped ? " so far" : "", charge, static_cast<double>(elapsed_us) / 1000);
    if (pages > 1) line += fmt::format(", {} pages", pages);
    note(line);
}

void ShellSession::show_reports(const QueryPage& page) const {
    const auto show = [&](std::string_view title, const std::string& text) {
        json::Arena arena;
        const auto parsed =
            json::parse(text, arena, {.depth_max = 256, .refuse_duplicate_names = false});
        note(fmt::format("{}:\n{}", title, parsed.ok() ? pretty_json(*parsed) : text));
    };
    if (query_.plan) show("Plan", page.plan.empty() ? "(this server tells no plan)" : page.plan);
    if (query_.charge_explanation)
        show("Charge", page.charge_explanation.empty() ? "(this server does not explain charges)"
                                                       : page.charge_explanation);
    if (query_.metrics) {
        std::string text = page.metrics;
        std::replace(text.begin(), text.end(), ';', '\n');
        note("Metrics:\n" + text);
    }
}

void ShellSession::show_problems(const std::string& text,
                                 const std::vector<QueryProblem>& problems) const {
    for (const QueryProblem& problem : problems) {
        if (problem.start.has_value()) {
            const size_t begin = byte_of(text, *problem.start);
            const size_t end =
                std::max(begin + 1, byte_of(text, problem.end.value_or(*problem.start + 1)));
            const size_t line_begin = begin == 0 ? 0
                                      : text.rfind('\n', begin - 1) == std::string::npos
                                          ? 0
                                          : text.rfind('\n', begin - 1) + 1;
            const size_t line_end = std::min(text.find('\n', begin), text.size());
            note("  " + text.substr(line_begin, line_end - line_begin));
            const std::string_view whole = text;
            const size_t marked = begin < line_end ? std::min(end, line_end) - begin : 0;
            note("  " + blanks_below(whole.substr(line_begin, begin - line_begin)) +
                 std::string(std::max<size_t>(1, column_count(whole.substr(begin, marked))), '^'));
        }
        note(
            fmt::format("{}{}{}", problem.code, problem.code.empty() ? "" : ": ", problem.message));
        if (!problem.hint.empty()) note(problem.hint);
    }
}

void ShellSession::sample_paths() {
    if (sampled_ || !container_.has_value()) return;
    sampled_ = true;
    QueryOptions options;
    options.page_items = kSampleItems;
    QueryCursor cursor(client_, *container_,
                       {fmt::format("SELECT TOP {} * FROM c", kSampleItems), {}}, options);
    if (const auto page = cursor.next(); page.ok())
        for (const json::Value& item : page->rows) collect_paths(item, paths_);
}

Completion ShellSession::complete(std::string_view before) {
    CompletionContext context;
    for (const Command& command : commands()) context.commands.emplace_back(command.name);
    if (before.starts_with(".use")) {
        if (known_containers_.empty())
            if (auto names = container_names(); names.ok()) known_containers_ = std::move(*names);
        context.containers = known_containers_;
    } else if (before.starts_with(".format")) {
        context.containers = {"table", "json", "jsonl", "csv"};
    } else if (before.find('.') != std::string_view::npos && !before.starts_with('.')) {
        sample_paths();
        context.paths = paths_;
    }
    for (const auto& [name, value] : parameters_) context.parameters.push_back(name);
    return complete_line(before, context);
}

}  // namespace orrery::cli::detail
