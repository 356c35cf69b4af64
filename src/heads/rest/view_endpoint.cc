// How a materialized view is doing.
#include <fmt/format.h>

#include "base/errors.h"
#include "heads/rest/handlers.h"
#include "json/write.h"

namespace orrery::rest {

void own_view(const CallPtr& call) {
    const auto& ids = call->route.ids;
    const auto container = call->engine.catalog().find_container(ids[1], ids[2]);
    if (container == nullptr)
        return reply_error(
            call, errors::resource_not_found("The container '" + ids[2] + "' does not exist."));
    if (container->materialized_view() == nullptr)
        return reply_error(call, errors::resource_not_found("The container '" + ids[2] +
                                                            "' is no materialized view."));
    const auto state = call->engine.views()
                           .state(container->rid)
                           .value_or(engine::ViewKeeper::State{
                               .built = container->materialized_view_built, .last_refusal = {}});
    std::string source;
    json::write_string(source, container->materialized_view()->source_id);
    std::string refusal;
    json::write_string(refusal, state.last_refusal);
    reply(call, Answer(),
          fmt::format(R"({{"source":{},"status":"{}","lagCommits":{},"propagationLatencyMs":{},)"
                      R"("appliedChanges":{},"refusedItems":{},"lastRefusal":{}}})",
                      source, state.built ? "Active" : "InitialBuildAfterCreate", state.lag,
                      state.latency_us / 1000, state.applied, state.refused, refusal));
}

}  // namespace orrery::rest
