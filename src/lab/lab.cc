#include "lab/lab.h"

#include "base/errors.h"
#include "json/write.h"

namespace orrery::lab {

Result<Observation> Lab::observe(const catalog::Container& container) {
    return observe_container(engine_, recorder_, ranking_, container);
}

Result<Report> Lab::report(const catalog::Container* only, const Thresholds& limits) {
    std::vector<Observation> observations;
    if (only != nullptr) {
        TRY(auto observation, observe(*only));
        observations.push_back(std::move(observation));
    } else {
        for (const auto& container : engine_.catalog().all_containers()) {
            TRY(auto observation, observe(*container));
            observations.push_back(std::move(observation));
        }
    }
    return make_report(std::move(observations), limits, engine_.clock().wall_seconds());
}

Result<Report> Lab::judge(const json::Value& observations, const Thresholds& limits) const {
    TRY(auto read, read_observations(observations));
    return make_report(std::move(read), limits, engine_.clock().wall_seconds());
}

Result<Workload> Lab::workload(const json::Value& source) const {
    if (const json::Value demo = source.member("demo"); demo.is_string())
        return demo_workload(demo.as_string());
    if (const json::Value uploaded = source.member("workload"); uploaded.is_object())
        return read_workload(uploaded);
    const json::Value database = source.member("database");
    const json::Value container = source.member("container");
    if (!database.is_string() || !container.is_string())
        return errors::bad_request(
            R"(A what-if run needs "demo", "workload", or "database" and "container", whose requests were recorded.)");
    const auto found =
        engine_.catalog().find_container(database.as_string(), container.as_string());
    if (found == nullptr)
        return errors::resource_not_found(
            "There is no container '" + std::string(container.as_string()) + "' in the database '" +
            std::string(database.as_string()) + "'.");
    return recorded(*found);
}

}  // namespace orrery::lab
