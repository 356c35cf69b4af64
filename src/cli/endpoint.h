#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace orrery::cli {

/// Where an account answers.
struct Endpoint {
    bool tls = false;
    std::string host;  ///< a name or an address; IPv6 without brackets
    uint16_t port = 0;

    std::string authority() const;  ///< "host:port", as in a Host header
    std::string text() const;       ///< "http://host:port/"
    bool is_loopback() const;
};

/// "https://name[:port][/]", "http://…"; without a scheme, plain HTTP. The default ports are those
/// of the scheme.
Result<Endpoint> parse_endpoint(std::string_view text);

/// What the command line says about the account; what is empty comes from the environment.
struct ConnectionFlags {
    std::string endpoint = {};
    std::string key = {};
    std::string connection_string = {};
    std::string ca = {};  ///< PEM file, or the data folder of a server
    bool insecure = false;
};

struct ConnectionSettings {
    Endpoint endpoint;
    std::string key;      ///< decoded bytes
    std::string ca_file;  ///< empty: the system's authorities alone
    bool insecure = false;
};

/// Reads environment variables; a test passes its own.
using Environment = std::string (*)(const char* name);
std::string process_environment(const char* name);

/// The variables of the client commands beside those that they share with the server.
inline constexpr std::string_view kClientVariables[] = {"ORRERY_ENDPOINT",
                                                        "ORRERY_CONNECTION_STRING", "ORRERY_CA"};

/// Flags first, then ORRERY_CONNECTION_STRING or ORRERY_ENDPOINT and ORRERY_KEY, then the local
/// server with the emulators' well-known key (for loopback only).
Result<ConnectionSettings> resolve_connection(const ConnectionFlags& flags,
                                              Environment environment = process_environment);

}  // namespace orrery::cli
