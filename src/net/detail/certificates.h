#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

/// Keys and certificates: ECDSA on P-256, one self-signed authority, server certificates below it.
namespace orrery::net::detail {

struct KeyFree {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct CertificateFree {
    void operator()(X509* certificate) const { X509_free(certificate); }
};
using Key = std::unique_ptr<EVP_PKEY, KeyFree>;
using Certificate = std::unique_ptr<X509, CertificateFree>;

/// From one day before now (clocks differ) to `days` after.
struct Validity {
    int days;
};
inline constexpr Validity kAuthorityValidity{.days = 3650};
/// Some systems refuse server certificates that are valid for longer than 825 days.
inline constexpr Validity kServerValidity{.days = 800};
inline constexpr int kServerRenewalDays = 30;
inline constexpr int kAuthorityRenewalDays = 900;  ///< outlives every server certificate it signs

Result<Key> create_key();
/// Self-signed. With the key and the subject of an earlier one it replaces that one.
Result<Certificate> create_authority(EVP_PKEY& key, Validity validity, const X509* earlier);
/// For localhost, 127.0.0.1, ::1 and `extra_hosts` (names or addresses).
Result<Certificate> create_server_certificate(EVP_PKEY& key, X509& authority,
                                              EVP_PKEY& authority_key,
                                              const std::vector<std::string>& extra_hosts,
                                              Validity validity);

bool matches(const X509& certificate, EVP_PKEY& key);
/// Signature and issuer's name.
bool issued_by(X509& certificate, X509& authority);
/// Issued by an authority that create_authority() made, whichever.
bool issued_by_local_authority(const X509& certificate);
bool expires_within(const X509& certificate, int days);
bool covers_hosts(X509& certificate, const std::vector<std::string>& extra_hosts);

Result<std::string> to_pem(X509& certificate);
Result<std::string> to_pem(EVP_PKEY& key);
/// Null when the text is not PEM of that kind.
Certificate certificate_from_pem(std::string_view pem);
Key key_from_pem(std::string_view pem);

}  // namespace orrery::net::detail
