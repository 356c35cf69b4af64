#include "net/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/errors.h"
#include "base/log.h"
#include "net/detail/certificates.h"
#include "net/detail/identity_files.h"
#include "net/detail/tls_context.h"

namespace orrery::net {
namespace {

using detail::Certificate;
using detail::FileAccess;
using detail::Key;

struct Pair {
    Certificate certificate;
    Key key;
};

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
    constexpr std::string_view kHttp11 = "http/1.1";
    for (unsigned int i = 0; i < offered_size; i += 1u + offered[i]) {
        const std::string_view name(reinterpret_cast<const char*>(offered + i + 1), offered[i]);
        if (name != kHttp11) continue;
        *chosen = offered + i + 1;
        *chosen_size = offered[i];
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_NOACK;
}

Result<std::unique_ptr<TlsIdentity::Context>> make_context(const Pair& server, X509& authority) {
    constexpr unsigned char kSessionContext[] = "orrery";
    auto context = std::make_unique<TlsIdentity::Context>();
    TRY(context->authority_pem, detail::to_pem(authority));
    context->ssl.reset(SSL_CTX_new(TLS_server_method()));
    SSL_CTX* ssl = context->ssl.get();
    // The authority is sent along: tools that fetch the chain can then offer to trust it.
    const bool done =
        ssl != nullptr && SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) == 1 &&
        SSL_CTX_use_certificate(ssl, server.certificate.get()) == 1 &&
        SSL_CTX_use_PrivateKey(ssl, server.key.get()) == 1 &&
        SSL_CTX_add1_chain_cert(ssl, &authority) == 1 &&
        SSL_CTX_set_session_id_context(ssl, kSessionContext, sizeof kSessionContext - 1) == 1;
    if (!done) {
        ERR_clear_error();
        return errors::internal(
            "TLS: the library does not accept the server's certificate or key.");
    }
    SSL_CTX_set_options(
        ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);  // tickets hold the sessions
    SSL_CTX_set_alpn_select_cb(ssl, choose_protocol, nullptr);
    return context;
}

/// The files of one identity. Keys are written before the certificates that need them, so a crash
/// in between leaves a key that the next start certifies.
class Folder {
public:
    Folder(const std::string& folder, const std::vector<std::string>& hosts)
        : folder_(folder), hosts_(hosts) {}

    Status open() {
        TRY_STATUS(detail::ensure_folder(folder_));
        TRY_STATUS(open_authority());
        return open_server();
    }

    Pair authority;
    Pair server;

private:
    std::string path(std::string_view name) const { return folder_ + "/" + std::string(name); }
    Status damaged(std::string_view name, std::string_view what, std::string_view advice) const;
    Result<Certificate> load_certificate(std::string_view name, std::string_view advice) const;
    Result<Key> load_key(std::string_view name, std::string_view advice) const;
    Result<Key> create_key(std::string_view name) const;
    Status save(std::string_view name, X509& certificate) const;
    Status open_authority();
    Status open_server();
    Status renew_authority();
    Status issue_server();

    const std::string folder_;
    const std::vector<std::string>& hosts_;
};

constexpr std::string_view kAuthorityAdvice =
    "Restore it from a backup, or delete ca.pem, ca.key, server.pem and server.key in that folder "
    "to "
    "have new ones created; clients must then trust the new ca.pem.";
constexpr std::string_view kServerAdvice =
    "Delete server.pem and server.key in that folder to have new ones issued; clients notice "
    "nothing.";

Status Folder::damaged(std::string_view name, std::string_view what,
                       std::string_view advice) const {
    return Status(errors::internal("The TLS file '" + path(name) + "' " + std::string(what) + ". " +
                                   std::string(advice)));
}

/// Null when there is no such file.
Result<Certificate> Folder::load_certificate(std::string_view name, std::string_view advice) const {
    TRY(auto text, detail::read_small_file(path(name)));
    if (!text.has_value()) return Certificate();
    Certificate certificate = detail::certificate_from_pem(*text);
    if (certificate == nullptr)
        return damaged(name, "is damaged: it holds no PEM certificate", advice);
    return certificate;
}

Result<Key> Folder::load_key(std::string_view name, std::string_view advice) const {
    TRY(auto text, detail::read_small_file(path(name)));
    if (!text.has_value()) return Key();
    Key key = detail::key_from_pem(*text);
    OPENSSL_cleanse(text->data(), text->size());
    if (key == nullptr) {
        return damaged(name, "is damaged: it holds no PEM private key without password", advice);
    }
    detail::restrict_to_owner(path(name));
    return key;
}

Result<Key> Folder::create_key(std::string_view name) const {
    TRY(Key key, detail::create_key());
    TRY(std::string pem, detail::to_pem(*key));
    const Status saved = detail::write_file_atomically(path(name), pem, FileAccess::kOwnerOnly);
    OPENSSL_cleanse(pem.data(), pem.size());
    TRY_STATUS(saved.clone());
    return key;
}

Status Folder::save(std::string_view name, X509& certificate) const {
    TRY(const std::string pem, detail::to_pem(certificate));
    return detail::write_file_atomically(path(name), pem, FileAccess::kPublic);
}

Status Folder::open_authority() {
    TRY(authority.certificate, load_certificate("ca.pem", kAuthorityAdvice));
    TRY(authority.key, load_key("ca.key", kAuthorityAdvice));
    if (authority.certificate == nullptr) {
        if (authority.key == nullptr) {
            TRY(authority.key, create_key("ca.key"));
        }
        return renew_authority();
    }
    // The authority's key may be kept elsewhere for safety; it is needed only to sign.
    if (authority.key == nullptr) return {};
    if (!detail::matches(*authority.certificate, *authority.key)) {
        return damaged("ca.key", "does not belong to ca.pem", kAuthorityAdvice);
    }
    if (!detail::expires_within(*authority.certificate, detail::kAuthorityRenewalDays)) return {};
    return renew_authority();
}

Status Folder::renew_authority() {
    TRY(authority.certificate, detail::create_authority(*authority.key, detail::kAuthorityValidity,
                                                        authority.certificate.get()));
    return save("ca.pem", *authority.certificate);
}

Status Folder::open_server() {
    TRY(server.certificate, load_certificate("server.pem", kServerAdvice));
    TRY(server.key, load_key("server.key", kServerAdvice));
    if (server.certificate == nullptr || server.key == nullptr) return issue_server();
    if (!detail::matches(*server.certificate, *server.key)) {
        return damaged("server.key", "does not belong to server.pem", kServerAdvice);
    }
    if (!detail::issued_by(*server.certificate, *authority.certificate)) {
        if (detail::issued_by_local_authority(*server.certificate)) return issue_server();
        return damaged("server.pem", "was not issued by ca.pem", kServerAdvice);
    }
    if (detail::expires_within(*server.certificate, detail::kServerRenewalDays) ||
        !detail::covers_hosts(*server.certificate, hosts_)) {
        return issue_server();
    }
    return {};
}

Status Folder::issue_server() {
    if (authority.key == nullptr) {
        return damaged("ca.key", "is missing and a server certificate must be signed with it",
                       kAuthorityAdvice);
    }
    if (server.key == nullptr) {
        TRY_STATUS(detail::remove_file(path("server.pem")));  // it belongs to another key
        TRY(server.key, create_key("server.key"));
    }
    TRY(server.certificate,
        detail::create_server_certificate(*server.key, *authority.certificate, *authority.key,
                                          hosts_, detail::kServerValidity));
    return save("server.pem", *server.certificate);
}

}  // namespace

Result<std::unique_ptr<TlsIdentity>> TlsIdentity::load_or_create(
    const std::string& folder, const std::vector<std::string>& extra_hosts) {
    Folder files(folder, extra_hosts);
    TRY_STATUS(files.open());
    TRY(auto context, make_context(files.server, *files.authority.certificate));
    return std::unique_ptr<TlsIdentity>(new TlsIdentity(std::move(context)));
}

Result<std::unique_ptr<TlsIdentity>> TlsIdentity::create_in_memory(
    const std::vector<std::string>& extra_hosts) {
    TRY(Key authority_key, detail::create_key());
    TRY(Certificate authority,
        detail::create_authority(*authority_key, detail::kAuthorityValidity, nullptr));
    Pair server;
    TRY(server.key, detail::create_key());
    TRY(server.certificate,
        detail::create_server_certificate(*server.key, *authority, *authority_key, extra_hosts,
                                          detail::kServerValidity));
    TRY(auto context, make_context(server, *authority));
    return std::unique_ptr<TlsIdentity>(new TlsIdentity(std::move(context)));
}

TlsIdentity::TlsIdentity(std::unique_ptr<Context> context) : context_(std::move(context)) {}
TlsIdentity::~TlsIdentity() = default;

const std::string& TlsIdentity::authority_pem() const {
    return context_->authority_pem;
}

}  // namespace orrery::net
