#include "server/listeners.h"

#include <charconv>

#include "base/log.h"

namespace orrery::server {

bool lexical_cast(const std::string& text, PortChoice& choice) {
    if (text == "off") {
        choice = {.off = true};
        return true;
    }
    uint16_t number = 0;
    const char* end = text.data() + text.size();
    const auto [read_to, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || read_to != end) return false;
    choice = {.number = number, .required = true};
    return true;
}

Result<std::vector<Endpoint>> open_listeners(net::Server& server, net::ListenerOptions common,
                                             std::vector<ListenerPlan> plans) {
    std::vector<Endpoint> endpoints;
    for (ListenerPlan& plan : plans) {
        if (plan.port.off) continue;
        common.port = plan.port.number;
        auto port = server.listen(common, std::move(plan.protocol));
        if (port.ok()) {
            endpoints.push_back({std::move(plan.name), std::move(plan.scheme), *port});
        } else if (plan.port.required) {
            return port.error();
        } else {
            log::warning(plan.name + " is not served: " + port.error().message);
        }
    }
    return endpoints;
}

}  // namespace orrery::server
