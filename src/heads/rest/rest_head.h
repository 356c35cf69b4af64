#pragma once

#include <memory>
#include <string>

#include "engine/door.h"
#include "lab/lab.h"
#include "lab/pages.h"
#include "net/http.h"

namespace orrery::rest {

/// The NoSQL protocol over HTTP: translates requests to engine calls and answers back. Holds no
/// durable state. Thread-safe.
class RestHead final : public net::HttpHandler {
public:
    struct Options {
        std::string authority_pem;    ///< served at the emulators' certificate path
        lab::Pages* pages = nullptr;  ///< answers questions about metrics; null: 404
        lab::Lab* lab = nullptr;      ///< answers questions about designs; null: 404
        bool open_metrics = true;     ///< /metrics needs no key: nobody else reaches the server
    };
    RestHead(const engine::Door& door, Options options);

    void handle(std::unique_ptr<net::HttpExchange> exchange) override;
    void refuse(int status, std::string_view why, net::HttpResponse& response) override;

private:
    void handle_public(std::unique_ptr<net::HttpExchange> exchange, const std::string& path) const;

    const engine::Door& door_;
    const Options options_;
};

}  // namespace orrery::rest
