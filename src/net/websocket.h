#pragma once

#include <memory>

#include "net/channel.h"
#include "net/http.h"

namespace orrery::net {

/// True when the client wants to go on with WebSocket (RFC 6455) on this connection.
bool asks_for_websocket(const HttpRequest& request);

/// Answers the handshake and goes on with messages, without extensions and sub-protocols. A
/// handshake that is wrong is refused as the RFC says.
void accept_websocket(std::unique_ptr<HttpExchange> exchange, ChannelHandlerFactory handler,
                      const ChannelLimits& limits = {});

}  // namespace orrery::net
