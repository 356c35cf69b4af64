// Endpoints under /_orrery/: what the protocol has no resource for. One row each in the table
// below.
#include "heads/rest/own_endpoints.h"

#include <array>

#include "base/errors.h"
#include "heads/rest/handlers.h"

namespace orrery::rest {
namespace {

/// The scope says what `route.ids` are: kAccount: {name, …}; kContainer: {"containers", database,
/// container, name, …}.
enum class Scope : uint8_t { kAccount, kContainer };

struct Endpoint {
    std::string_view method;
    Scope scope;
    std::string_view name;
    void (*handle)(const CallPtr& call);
};

constexpr std::array<Endpoint, 15> kEndpoints = {{
    {"GET", Scope::kAccount, "metrics", handle_account_metrics},
    {"GET", Scope::kContainer, "metrics", handle_container_metrics},
    {"GET", Scope::kContainer, "top", handle_top_keys},
    {"GET", Scope::kAccount, "lab", handle_lab},
    {"POST", Scope::kAccount, "lab", handle_lab},
    {"DELETE", Scope::kAccount, "lab", handle_lab},
    {"GET", Scope::kContainer, "lab", handle_lab},
    {"POST", Scope::kContainer, "lab", handle_lab},
    {"GET", Scope::kContainer, "throughput", own_throughput},
    {"POST", Scope::kContainer, "redistribute", own_redistribute},
    {"PUT", Scope::kContainer, "throughput-buckets", own_throughput_buckets},
    {"GET", Scope::kContainer, "partitions", handle_partitions},
    {"GET", Scope::kContainer, "view", own_view},
    {"POST", Scope::kContainer, "split", handle_split},
    {"POST", Scope::kContainer, "merge", handle_merge},
}};

constexpr size_t kContainerNameAt = 3;

}  // namespace

Result<catalog::ContainerPtr> named_container(Call& call) {
    const auto& ids = call.route.ids;
    TRY(const auto* catalog, call.session.look_up(call, engine::Operation::kObserve));
    auto container = catalog->find_container(ids[1], ids[2]);
    if (container == nullptr)
        return errors::resource_not_found("There is no container '" + ids[2] +
                                          "' in the database '" + ids[1] + "'.");
    return container;
}

void reply_no_endpoint(const CallPtr& call, bool known) {
    if (known)
        return reply_error(call,
                           method_not_allowed(call->request().method, call->request().target));
    reply_error(call, errors::resource_not_found("There is no endpoint '/_orrery/" +
                                                 call->route.link + "'."));
}

void handle_own(const CallPtr& call) {
    const auto& ids = call->route.ids;
    const bool in_container = ids.size() > kContainerNameAt && ids[0] == "containers";
    const size_t at = in_container ? kContainerNameAt : 0;
    const Scope scope = in_container ? Scope::kContainer : Scope::kAccount;
    const bool reads = is_read(*call);
    if (const Status allowed = reads ? call->session.allow(*call, engine::Operation::kObserve)
                                     : call->session.allow(*call, engine::Operation::kManage);
        !allowed.ok())
        return reply_error(call, allowed.error());
    const std::string_view method = reads ? std::string_view("GET") : call->request().method;
    bool known = false;
    for (const Endpoint& endpoint : kEndpoints) {
        if (endpoint.scope != scope || at >= ids.size() || endpoint.name != ids[at]) continue;
        known = true;
        if (endpoint.method == method) return endpoint.handle(call);
    }
    reply_no_endpoint(call, known);
}

}  // namespace orrery::rest
