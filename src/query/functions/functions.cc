#include "query/functions/functions.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/encoding.h"
#include "base/spelling.h"
#include "query/function_names.h"

namespace orrery::query {
namespace {

using enum FunctionFamily;

constexpr std::array kOthers = {
    FunctionSpec{"COUNT(expression)", 1, 1, kAggregate, nullptr},
    FunctionSpec{"SUM(expression)", 1, 1, kAggregate, nullptr},
    FunctionSpec{"AVG(expression)", 1, 1, kAggregate, nullptr},
    FunctionSpec{"MIN(expression)", 1, 1, kAggregate, nullptr},
    FunctionSpec{"MAX(expression)", 1, 1, kAggregate, nullptr},
    FunctionSpec{"COUNTIF", 1, 1, kAggregate, nullptr},
    FunctionSpec{"MAKELIST", 1, 1, kAggregate, nullptr},
    FunctionSpec{"MAKESET", 1, 1, kAggregate, nullptr},
    FunctionSpec{"IIF(condition, then, else)", 3, 3, kConditional, nullptr},
    FunctionSpec{"VECTORDISTANCE", 2, 4, kVector, nullptr},
    FunctionSpec{"FULLTEXTCONTAINS", 2, 2, kFullText, nullptr},
    FunctionSpec{"FULLTEXTCONTAINSALL", 2, kAnyCount, kFullText, nullptr},
    FunctionSpec{"FULLTEXTCONTAINSANY", 2, kAnyCount, kFullText, nullptr},
    FunctionSpec{"FULLTEXTSCORE", 2, kAnyCount, kFullText, nullptr},
    // What plans of ORDER BY RANK are written with.
    FunctionSpec{"_FULLTEXTSCORE", 5, 5, kFullText, nullptr},
    FunctionSpec{"_FULLTEXTWORDCOUNT", 1, 1, kFullText, nullptr},
    FunctionSpec{"_VECTORSCORE", 2, 4, kVector, nullptr},
    FunctionSpec{"SUBSTRINGBEFORE", 2, 2, kUnsupported, nullptr},
    FunctionSpec{"SUBSTRINGAFTER", 2, 2, kUnsupported, nullptr},
    FunctionSpec{"LASTSUBSTRINGBEFORE", 2, 2, kUnsupported, nullptr},
    FunctionSpec{"LASTSUBSTRINGAFTER", 2, 2, kUnsupported, nullptr},
    FunctionSpec{"REGEXEXTRACT", 2, 3, kUnsupported, nullptr},
    FunctionSpec{"REGEXEXTRACTALL", 2, 3, kUnsupported, nullptr},
};

constexpr size_t kNameMax = 40;

}  // namespace

std::span<const FunctionSpec> all_functions() {
    static const std::vector<FunctionSpec> kAll = [] {
        std::vector<FunctionSpec> all(kOthers.begin(), kOthers.end());
        for (const auto group :
             {string_functions(), conversion_functions(), math_functions(), array_functions(),
              date_functions(), type_functions(), spatial_functions()})
            all.insert(all.end(), group.begin(), group.end());
        static std::vector<std::string> names;
        names.reserve(all.size());
        for (FunctionSpec& spec : all)
            spec.name =
                names.emplace_back(to_upper_ascii(spec.written.substr(0, spec.written.find('('))));
        std::sort(all.begin(), all.end(),
                  [](const FunctionSpec& a, const FunctionSpec& b) { return a.name < b.name; });
        return all;
    }();
    return kAll;
}

const FunctionSpec* find_function(std::string_view name) {
    if (name.size() > kNameMax) return nullptr;
    std::array<char, kNameMax> buffer;
    for (size_t i = 0; i < name.size(); ++i)
        buffer[i] = name[i] >= 'a' && name[i] <= 'z' ? static_cast<char>(name[i] - 32) : name[i];
    const std::string_view upper(buffer.data(), name.size());
    const auto all = all_functions();
    const auto it = std::lower_bound(
        all.begin(), all.end(), upper,
        [](const FunctionSpec& spec, std::string_view key) { return spec.name < key; });
    return it != all.end() && it->name == upper ? &*it : nullptr;
}

std::vector<FunctionName> function_names() {
    std::vector<FunctionName> out;
    for (const FunctionSpec& spec : all_functions()) {
        const size_t end = std::min(spec.written.find('('), spec.written.size());
        const bool offered = end < spec.written.size();
        out.push_back(
            {.name = spec.written.substr(0, end),
             .arguments = offered ? spec.written.substr(end + 1, spec.written.size() - end - 2)
                                  : std::string_view(),
             .offered = offered});
    }
    return out;
}

bool is_aggregate_function(std::string_view name) {
    const FunctionSpec* spec = find_function(name);
    return spec != nullptr && spec->family == kAggregate;
}

bool is_served_function(std::string_view name) {
    const FunctionSpec* spec = find_function(name);
    return spec != nullptr && spec->served;
}

}  // namespace orrery::query
