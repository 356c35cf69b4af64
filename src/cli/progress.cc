#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/text_layout.h"

namespace orrery::cli {
namespace {

constexpr int64_t kDrawEveryUs = 100'000;
constexpr size_t kBarColumns = 24;

}  // namespace

std::string with_commas(uint64_t number) {
    const std::string digits = std::to_string(number);
    std::string out;
    for (size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
        out += digits[i];
    }
    return out;
}

std::string bytes_text(uint64_t bytes) {
    constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB"};
    auto value = static_cast<double>(bytes);
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < std::size(kUnits)) {
        value /= 1024;
        ++unit;
    }
    return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string duration_text(int64_t microseconds) {
    const double seconds = static_cast<double>(microseconds) / 1e6;
    if (seconds < 60) return fmt::format("{:.1f} s", seconds);
    const auto whole = static_cast<int64_t>(std::llround(seconds));
    if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

Progress::Progress(std::string label, const Clock& clock)
    : label_(std::move(label)),
      clock_(clock),
      on_terminal_(::isatty(STDERR_FILENO) == 1),
      begun_us_(clock.monotonic_us()) {}

Progress::~Progress() {
    wipe();
}

std::string Progress::line(std::string_view label, const ProgressFigures& figures,
                           int64_t elapsed_us, size_t width) {
    const double seconds = std::max(static_cast<double>(elapsed_us) / 1e6, 0.001);
    std::string out = fmt::format("{}  ", label);
    if (figures.fraction >= 0) {
        const double part = std::clamp(figures.fraction, 0.0, 1.0);
        const auto full = static_cast<size_t>(part * kBarColumns);
        out.append("[").append(std::string(full, '#')).append(std::string(kBarColumns - full, '.'));
        out += fmt::format("] {:3.0f} %  ", part * 100);
    }
    out += fmt::format(
        "{} items  {}/s", with_commas(figures.items),
        with_commas(static_cast<uint64_t>(static_cast<double>(figures.items) / seconds)));
    if (figures.bytes > 0)
        out += fmt::format(
            "  {}/s",
            bytes_text(static_cast<uint64_t>(static_cast<double>(figures.bytes) / seconds)));
    if (figures.fraction > 0.001 && figures.fraction < 1)
        out += fmt::format(
            "  {} left",
            duration_text(static_cast<int64_t>(static_cast<double>(elapsed_us) *
                                               (1 - figures.fraction) / figures.fraction)));
    if (figures.throttled > 0) out += fmt::format("  {} throttled", with_commas(figures.throttled));
    return fit_columns(out, width);
}

void Progress::show(const ProgressFigures& figures) {
    if (!on_terminal_) return;
    const int64_t now = clock_.monotonic_us();
    if (any_ && now - drawn_us_ < kDrawEveryUs) return;
    drawn_us_ = now;
    any_ = true;
    winsize size{};
    const size_t width = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0
                             ? size_t{size.ws_col} - 1
                             : 79;
    fmt::print(stderr, "\r\x1b[K{}", line(label_, figures, now - begun_us_, width));
    std::fflush(stderr);
}

void Progress::wipe() {
    if (!any_) return;
    any_ = false;
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
}

}  // namespace orrery::cli
