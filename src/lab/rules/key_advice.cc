#include "lab/rules/key_advice.h"

#include <fmt/format.h>

#include <algorithm>

#include "json/write.h"
#include "lab/item_samples.h"

namespace orrery::lab {
namespace {

/// Says which thing an item is about: a text, or a number that is called an id. Amounts, counts and
/// times have many values, too, but those that are near one another mean nothing together.
bool names_something(const PathUse& path) {
    if (path.time_like || path.examples.empty()) return false;
    if (is_id_name(path.path)) return true;
    return std::all_of(path.examples.begin(), path.examples.end(),
                       [](const std::string& example) { return example.starts_with('"'); });
}

}  // namespace

std::vector<Proposal> key_proposals(const Observation& of) {
    std::vector<Proposal> out;
    for (const auto& path : of.paths) {
        const bool is_key =
            std::find(of.key_paths.begin(), of.key_paths.end(), path.path) != of.key_paths.end();
        if (is_key || path.array || path.path.find("/[]") != std::string::npos) continue;
        if (path.samples == 0 || path.distinct < 2 || !names_something(path)) continue;
        out.push_back({path.path, path.distinct, path.filter_runs});
    }
    std::sort(out.begin(), out.end(), [](const Proposal& a, const Proposal& b) {
        if (a.filter_runs != b.filter_runs) return a.filter_runs > b.filter_runs;
        return a.distinct != b.distinct ? a.distinct > b.distinct : a.path < b.path;
    });
    return out;
}

std::string key_definition(const std::vector<std::string>& paths) {
    std::string list;
    for (const auto& path : paths) {
        if (!list.empty()) list += ',';
        json::write_string(list, path);
    }
    return fmt::format(R"({{"partitionKey":{{"paths":[{}],"kind":"{}","version":2}}}})", list,
                       paths.size() > 1 ? "MultiHash" : "Hash");
}

std::string deeper_key(const Observation& of) {
    std::vector<std::string> paths = of.key_paths;
    if (paths.size() >= 3) paths.resize(2);
    const auto others = key_proposals(of);
    const auto spread = std::find_if(others.begin(), others.end(),
                                     [](const Proposal& one) { return one.distinct > 100; });
    const std::string last = spread != others.end() ? spread->path : "/id";
    if (std::find(paths.begin(), paths.end(), last) == paths.end()) paths.push_back(last);
    return key_definition(paths);
}

}  // namespace orrery::lab
