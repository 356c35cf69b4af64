#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "net/server.h"

namespace orrery::server {

/// Which port a head listens on.
struct PortChoice {
    uint16_t number = 0;    ///< 0: any free one
    bool required = false;  ///< a port that is taken is an error; else a warning
    bool off = false;       ///< no port
};

/// What somebody asked for: a number, or "off". False when it is neither. The name is the one by
/// which CLI11 finds it.
bool lexical_cast(const std::string& text, PortChoice& choice);

/// One port of the server and what is spoken there.
struct ListenerPlan {
    std::string name;    ///< of the protocol, for people
    std::string scheme;  ///< of its address, such as "http"
    PortChoice port;
    net::ProtocolFactory protocol;
};

/// A port that is open.
struct Endpoint {
    std::string name;
    std::string scheme;
    uint16_t port;
};

/// Takes the ports of `plans` that are not off, all with the address and certificate of `common`.
Result<std::vector<Endpoint>> open_listeners(net::Server& server, net::ListenerOptions common,
                                             std::vector<ListenerPlan> plans);

}  // namespace orrery::server
