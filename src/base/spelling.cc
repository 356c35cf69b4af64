#include "base/spelling.h"

#include <algorithm>
#include <array>

namespace orrery {
namespace {

constexpr size_t kWordMax = 40;

/// Insertions, removals, replacements and swaps of neighbours that make `b` of `a`.
size_t slips(std::string_view a, std::string_view b) {
    using Row = std::array<size_t, kWordMax + 1>;
    Row before_last{};
    Row last{};
    for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        Row row{};
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before_last[j - 2] + 1);
        }
        before_last = last;
        last = row;
    }
    return last[b.size()];
}

}  // namespace

std::string to_upper_ascii(std::string_view word) {
    std::string out(word);
    for (char& c : out)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return out;
}

bool is_misspelt(std::string_view written, std::string_view meant) {
    constexpr size_t kWordMin = 3;
    constexpr size_t kLongWord = 6;
    if (written.size() < kWordMin || meant.size() < kWordMin) return false;
    if (written.size() > kWordMax || meant.size() > kWordMax) return false;
    const size_t allowed = meant.size() >= kLongWord ? 2 : 1;
    return slips(to_upper_ascii(written), to_upper_ascii(meant)) <= allowed;
}

}  // namespace orrery
