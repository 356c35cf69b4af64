#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "meter/charge.h"

namespace orrery::meter {
namespace {

/// Six decimals show every price; `units` has the exact amount.
std::string request_units(int64_t units) {
    return fmt::format("{:.6f}", static_cast<double>(units) / static_cast<double>(kUnitsPerRu));
}

std::string line_json(const Bill::Line& line) {
    const std::string scope =
        line.scope.empty() ? std::string() : fmt::format(R"("of":"{}",)", line.scope);
    return fmt::format(R"({{"term":"{}",{}"count":{},"units":{},"requestUnits":{}}})", line.term,
                       scope, line.count, line.units, request_units(line.units));
}

std::string bill_json(const std::vector<Bill::Line>& lines, Charge total, ChargeProfile profile) {
    std::string terms;
    for (const Bill::Line& line : lines) {
        if (!terms.empty()) terms += ',';
        terms += line_json(line);
    }
    return fmt::format(
        R"({{"requestCharge":{},"units":{},"unitsPerRequestUnit":{},"profile":"{}","terms":[{}]}})",
        ru_text(total), total.units, kUnitsPerRu,
        profile == ChargeProfile::kClassic ? "classic" : "current", terms);
}

/// One line per term, in the order of their first appearance.
std::vector<Bill::Line> added_up(const std::vector<Bill::Line>& lines) {
    std::vector<Bill::Line> out;
    for (const Bill::Line& line : lines) {
        const auto same = std::find_if(
            out.begin(), out.end(), [&](const Bill::Line& one) { return one.term == line.term; });
        if (same == out.end()) {
            out.push_back({line.term, {}, line.count, line.units});
        } else {
            same->count += line.count;
            same->units += line.units;
        }
    }
    return out;
}

}  // namespace

void Bill::add(std::string_view term, uint64_t count, int64_t units) {
    // The items of a feed share one line, and so do the seeks of one range.
    if (!lines_.empty() && lines_.back().term == term && lines_.back().scope == scope_) {
        lines_.back().count += count;
        lines_.back().units += units;
        return;
    }
    lines_.push_back({term, scope_, count, units});
}

Charge Bill::total() const {
    Charge sum;
    for (const Line& line : lines_) sum.units += line.units;
    return sum;
}

std::string Bill::json(ChargeProfile profile, size_t bytes_max) const {
    const Charge sum = total();
    std::string out = bill_json(lines_, sum, profile);
    if (out.size() <= bytes_max) return out;
    std::vector<Line> lines = added_up(lines_);
    out = bill_json(lines, sum, profile);
    if (out.size() <= bytes_max) return out;
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Line& x, const Line& y) { return x.units > y.units; });
    Line other{"other", {}, 0, 0};
    while (!lines.empty() && out.size() > bytes_max) {
        other.count += lines.back().count;
        other.units += lines.back().units;
        lines.back() = other;
        out = bill_json(lines, sum, profile);
        lines.pop_back();
    }
    return out;
}

}  // namespace orrery::meter
