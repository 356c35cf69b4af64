#pragma once

#include <functional>
#include <memory>

namespace orrery::net {

namespace detail {
class Connection;
class Protocol;
}  // namespace detail

/// Makes what speaks on one new connection; called on the thread of the connection's loop. Those
/// that exist come from http_protocol(), frame_protocol() and accept_websocket().
using ProtocolFactory =
    std::function<std::unique_ptr<detail::Protocol>(detail::Connection& connection)>;

}  // namespace orrery::net
