#pragma once

#include <span>
#include <string_view>

#include "heads/explorer/assets.h"
#include "net/http.h"

namespace orrery::explorer {

/// Serves the browser application below /_explorer/. It holds files only: the application speaks
/// the ordinary protocol to the server, with a key that its user has. Immutable, thread-safe.
class ExplorerHead final : public net::HttpHandler {
public:
    explicit ExplorerHead(std::span<const Asset> assets) : assets_(assets) {}

    /// True for the targets that belong to the application. The certificate, which the emulators
    /// serve in the same folder, does not.
    static bool serves(std::string_view target);

    void handle(std::unique_ptr<net::HttpExchange> exchange) override;
    void refuse(int status, std::string_view why, net::HttpResponse& response) override;

private:
    void answer(const net::HttpRequest& request, net::HttpResponse& response) const;

    const std::span<const Asset> assets_;
};

}  // namespace orrery::explorer
