#include "cli/top.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>

#include "base/clock.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/text_layout.h"

namespace orrery::cli {
namespace {

constexpr size_t kBarColumns = 16;
constexpr size_t kOperationsShown = 6;

std::string_view order_name(TopOrder order) {
    switch (order) {
        case TopOrder::kLoad:
            return "load";
        case TopOrder::kStorage:
            return "storage";
        case TopOrder::kName:
            return "name";
    }
    return "";
}

void sort_partitions(std::vector<TopPartition>& partitions, TopOrder order) {
    std::stable_sort(partitions.begin(), partitions.end(),
                     [order](const TopPartition& a, const TopPartition& b) {
                         if (order == TopOrder::kLoad && a.load() != b.load())
                             return a.load() > b.load();
                         if (order == TopOrder::kStorage && a.bytes != b.bytes)
                             return a.bytes > b.bytes;
                         return a.container != b.container ? a.container < b.container
                                                           : a.min < b.min;
                     });
}

std::string bar(double part) {
    const auto full = static_cast<size_t>(std::lround(std::clamp(part, 0.0, 1.0) * kBarColumns));
    return std::string(full, '#') + std::string(kBarColumns - full, '.');
}

/// Puts the terminal back however the view is left.
class RawTerminal {
public:
    RawTerminal() {
        ::tcgetattr(STDIN_FILENO, &before_);
        termios raw = before_;
        raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
        ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
        std::fputs("\x1b[?1049h\x1b[?25l", stdout);  // a screen of its own, no cursor
    }
    ~RawTerminal() {
        std::fputs("\x1b[?25h\x1b[?1049l", stdout);
        std::fflush(stdout);
        ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
    }
    RawTerminal(const RawTerminal&) = delete;
    RawTerminal& operator=(const RawTerminal&) = delete;

private:
    termios before_{};
};

/// A key, '\0' when the window was resized or time is up.
char wait_for_key(int64_t milliseconds) {
    pollfd entry{STDIN_FILENO, POLLIN, 0};
    if (::poll(&entry, 1, static_cast<int>(milliseconds)) <= 0) return '\0';
    char key = '\0';
    // The terminal is gone: leave.
    if (::read(STDIN_FILENO, &key, 1) != 1) return 'q';
    return key;
}

int run_live(const TopOptions& options, AccountClient& client) {
    struct sigaction resized {};
    resized.sa_handler = [](int) {};  // interrupts poll(), nothing more
    struct sigaction before {};
    sigaction(SIGWINCH, &resized, &before);
    const SystemClock clock;
    TopOrder order = options.order;
    std::string failure;
    {
        const RawTerminal terminal;
        TopData data;
        int64_t read_us = 0;
        while (!interrupted()) {
            const int64_t now = clock.monotonic_us();
            const auto interval_us = static_cast<int64_t>(options.interval_seconds * 1e6);
            if (read_us == 0 || now - read_us >= interval_us) {
                auto found = read_top(client, options.container);
                if (!found.ok()) {
                    failure = found.error().message;
                    break;
                }
                data = std::move(*found);
                read_us = now;
            }
            winsize size{};
            ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
            const std::string text =
                top_text(data, order, size.ws_col > 0 ? size.ws_col : 80,
                         size.ws_row > 0 ? size.ws_row : 24, TopStyle::kTerminal);
            std::fputs(("\x1b[H" + text + "\x1b[J").c_str(), stdout);
            std::fflush(stdout);
            const int64_t left_ms =
                std::max<int64_t>(1, (read_us + interval_us - clock.monotonic_us()) / 1000);
            const char key = wait_for_key(left_ms);
            if (key == 'q' || key == 'Q') break;
            if (key == 's')
                order = order == TopOrder::kLoad      ? TopOrder::kStorage
                        : order == TopOrder::kStorage ? TopOrder::kName
                                                      : TopOrder::kLoad;
            if (key == ' ') read_us = 0;
        }
    }
    sigaction(SIGWINCH, &before, nullptr);
    if (failure.empty() || interrupted()) return 0;
    fmt::print(stderr, "orrery: {}\n", failure);
    return 1;
}

}  // namespace

std::string top_text(TopData data, TopOrder order, size_t width, size_t height, TopStyle style) {
    sort_partitions(data.partitions, order);
    double charge = 0;
    double requests = 0;
    double throttled = 0;
    for (const TopPartition& partition : data.partitions) {
        charge += partition.charge_per_second;
        requests += partition.requests_per_second;
        throttled += partition.throttled_per_second;
    }
    std::vector<std::string> lines;
    const std::string date = format_http_date(data.now);
    lines.push_back(fmt::format("{}  {}  {} containers, {} partitions, server memory {}",
                                data.endpoint, date, data.containers, data.partitions.size(),
                                bytes_text(static_cast<uint64_t>(data.resident_bytes))));
    lines.push_back(fmt::format("{:.0f} requests/s   {:.1f} RU/s   {:.0f} throttled/s", requests,
                                charge, throttled));
    std::sort(data.operations.begin(), data.operations.end(),
              [](const TopOperation& a, const TopOperation& b) { return a.requests > b.requests; });
    std::string operations;
    for (size_t i = 0; i < std::min(data.operations.size(), kOperationsShown); ++i)
        operations +=
            fmt::format("{}{} {}/min p99 {:.2f} ms", i == 0 ? "" : "   ", data.operations[i].name,
                        with_commas(static_cast<uint64_t>(data.operations[i].requests)),
                        static_cast<double>(data.operations[i].p99_us) / 1000);
    lines.push_back(operations.empty() ? "no requests in the last minute" : operations);
    lines.emplace_back();

    std::vector<std::vector<std::string>> rows;
    for (const TopPartition& p : data.partitions)
        rows.push_back(
            {p.container, p.id, p.min.empty() ? "00" : p.min.substr(0, 6), bar(p.load()),
             fmt::format("{:.0f} %", p.load() * 100), fmt::format("{:.1f}", p.charge_per_second),
             fmt::format("{:.0f}", p.provisioned), fmt::format("{:.0f}", p.requests_per_second),
             fmt::format("{:.0f}", p.throttled_per_second),
             with_commas(static_cast<uint64_t>(std::max<int64_t>(0, p.items))),
             bytes_text(static_cast<uint64_t>(std::max<int64_t>(0, p.bytes)))});
    const std::string table = table_text({{"container", false},
                                          {"range", true},
                                          {"from key", false},
                                          {"load", false},
                                          {"", true},
                                          {"RU/s", true},
                                          {"of", true},
                                          {"req/s", true},
                                          {"429/s", true},
                                          {"items", true},
                                          {"data", true}},
                                         rows, style == TopStyle::kTerminal ? width : 0);
    for (size_t at = 0; at < table.size();) {
        const size_t end = table.find('\n', at);
        lines.push_back(table.substr(at, end - at));
        at = end + 1;
    }
    if (data.partitions.empty()) lines.emplace_back("There are no containers yet.");
    if (data.containers_left_out > 0)
        lines.push_back(
            fmt::format("… and {} containers with less load", data.containers_left_out));
    const std::string footer = fmt::format("q quit   s order: {}   space now", order_name(order));
    constexpr size_t kHeadLines = 6;  // up to the line below the headings
    if (style == TopStyle::kTerminal && height > 0) {
        if (lines.size() + 1 > height) {
            const size_t shown = height > kHeadLines + 2 ? height - 2 : kHeadLines;
            const size_t hidden = lines.size() - std::min(lines.size(), shown);
            lines.resize(std::min(lines.size(), shown));
            lines.push_back(
                fmt::format("… {} more lines: make the window higher, or order otherwise", hidden));
        }
        while (lines.size() + 1 < height) lines.emplace_back();
        lines.push_back(footer);
        if (lines.size() > height) lines.resize(height);
    }
    std::string out;
    for (size_t i = 0; i < lines.size(); ++i) {
        if (style == TopStyle::kPlain) {
            out += lines[i] + "\n";
            continue;
        }
        const bool heading = i == kHeadLines - 2;
        const std::string text = fit_columns(lines[i], width);
        out += (heading ? "\x1b[1m" + text + "\x1b[0m" : text) + "\x1b[K";
        if (i + 1 < lines.size()) out += "\r\n";
    }
    return out;
}

int run_top(const TopOptions& options, const AccountClient::Shared& account) {
    AccountClient client(account);
    const bool live = !options.once && ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDIN_FILENO) == 1;
    if (live) return run_live(options, client);
    const auto data = read_top(client, options.container);
    if (!data.ok()) {
        fmt::print(stderr, "orrery: {}\n", data.error().message);
        return 1;
    }
    fmt::print("{}", options.json ? top_json(*data) + "\n"
                                  : top_text(*data, options.order, 0, 0, TopStyle::kPlain));
    return 0;
}

}  // namespace orrery::cli
