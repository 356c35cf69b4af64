// How a materialized view is doing.
#include <fmt/format.h>

#include "base/errors.h"
#include "heads/rest/handlers.h"
#include "json/write.h"

namespace orrery::rest {
namespace {

Status reply_view(const CallPtr& call) {
    const auto& ids = call->route.ids;
    TRY(const auto* catalog,
        call->session.look_up(*call, engine::Operation::kReadMaterializedView));
    const auto container = catalog->find_container(ids[1], ids[2]);
    if (container == nullptr)
        return Status(errors::resource_not_found("The container '" + ids[2] + "' does not exist."));
    if (container->materialized_view() == nullptr)
        return Status(
            errors::resource_not_found("The container '" + ids[2] + "' is no materialized view."));
    TRY(const auto state, call->session.materialized_view(*call, *container));
    std::string source;
    json::write_string(source, container->materialized_view()->source_id);
    std::string refusal;
    json::write_string(refusal, state.last_refusal);
    reply(call, Answer(),
          fmt::format(R"({{"source":{},"status":"{}","lagCommits":{},"propagationLatencyMs":{},)"
                      R"("appliedChanges":{},"refusedItems":{},"lastRefusal":{}}})",
                      source, state.built ? "Active" : "InitialBuildAfterCreate", state.lag,
                      state.latency_us / 1000, state.applied, state.refused, refusal));
    return {};
}

}  // namespace

void own_view(const CallPtr& call) {
    if (const Status status = reply_view(call); !status.ok()) reply_error(call, status.error());
}

}  // namespace orrery::rest
