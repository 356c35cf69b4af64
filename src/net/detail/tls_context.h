#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "net/tls.h"

namespace orrery::net {

struct TlsIdentity::Context {
    struct Free {
        void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    };
    std::unique_ptr<SSL_CTX, Free> ssl;
    std::string authority_pem;
};

}  // namespace orrery::net
