#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace orrery::net {

/// The server's certificate and key, ready for handshakes, and the authority that signed it.
/// Immutable after construction.
class TlsIdentity {
public:
    /// A local certificate authority and a server certificate (SAN localhost, 127.0.0.1, ::1 and
    /// `extra_hosts`), created once in `folder` (files ca.pem, ca.key, server.pem, server.key; keys
    /// readable by the owner only), loaded on later starts, and renewed before they expire or when
    /// a host is missing from the certificate; the authority stays the same.
    static Result<std::unique_ptr<TlsIdentity>> load_or_create(
        const std::string& folder, const std::vector<std::string>& extra_hosts);
    /// The same, kept in memory only.
    static Result<std::unique_ptr<TlsIdentity>> create_in_memory(
        const std::vector<std::string>& extra_hosts);
    ~TlsIdentity();

    /// The authority's certificate, PEM: what clients import to trust this server.
    const std::string& authority_pem() const;

    struct Context;  ///< the TLS library's state; known to net's sources only
    const Context& context() const { return *context_; }

private:
    explicit TlsIdentity(std::unique_ptr<Context> context);
    std::unique_ptr<Context> context_;
};

}  // namespace orrery::net
