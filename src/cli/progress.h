#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace orrery::cli {

std::string with_commas(uint64_t number);         ///< 1,234,567
std::string bytes_text(uint64_t bytes);           ///< "1.2 MB"
std::string duration_text(int64_t microseconds);  ///< "0.8 s", "2:05", "1:00:05"

/// What has been done so far.
struct ProgressFigures {
    uint64_t items = 0;
    uint64_t bytes = 0;
    double fraction = -1;  ///< of the whole, 0 to 1; negative: unknown
    uint64_t throttled = 0;
};

/// One line on a terminal that is drawn over and over: bar, rate and remaining time. Writes nothing
/// when the standard error is no terminal. Owned by one thread.
class Progress {
public:
    /// `label`: what is being moved.
    Progress(std::string label, const Clock& clock);
    ~Progress();  ///< wipes the line

    /// Draws if the last time was long enough ago.
    void show(const ProgressFigures& figures);
    void wipe();

    /// The line itself, for a terminal of `width` columns.
    static std::string line(std::string_view label, const ProgressFigures& figures,
                            int64_t elapsed_us, size_t width);

private:
    const std::string label_;
    const Clock& clock_;
    const bool on_terminal_;
    const int64_t begun_us_;
    int64_t drawn_us_ = 0;
    bool any_ = false;
};

}  // namespace orrery::cli
