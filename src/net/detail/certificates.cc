#include "net/detail/certificates.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>

#include "base/errors.h"
#include "base/random.h"

namespace orrery::net::detail {
namespace {

constexpr char kOrganization[] = "Orrery local authority";
constexpr long kDaySeconds = 24 * 60 * 60;

struct BioFree {
    void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, BioFree>;

/// What the TLS library last complained about; clears its list.
Error library_error(const char* doing) {
    char text[256] = "unknown error";
    if (const unsigned long code = ERR_get_error(); code != 0) {
        ERR_error_string_n(code, text, sizeof text);
    }
    ERR_clear_error();
    return errors::internal(std::string("TLS: ") + doing + ": " + text);
}

bool is_address(const std::string& host) {
    ASN1_OCTET_STRING* bytes = a2i_IPADDRESS(host.c_str());
    ERR_clear_error();
    ASN1_OCTET_STRING_free(bytes);
    return bytes != nullptr;
}

bool is_dns_name(std::string_view host) {
    return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '.' || c == '_' || c == '*';
    });
}

std::vector<std::string> all_hosts(const std::vector<std::string>& extra_hosts) {
    std::vector<std::string> hosts = {"localhost", "127.0.0.1", "::1"};
    for (const std::string& host : extra_hosts) {
        if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
    }
    return hosts;
}

bool set_serial(X509* certificate) {
    uint8_t bytes[16];
    random_bytes(reinterpret_cast<char*>(bytes), sizeof bytes);
    bytes[0] = static_cast<uint8_t>((bytes[0] & 0x7f) | 0x40);  // positive, full length
    BIGNUM* number = BN_bin2bn(bytes, sizeof bytes, nullptr);
    const bool done = number != nullptr &&
                      BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
    BN_free(number);
    return done;
}

bool add_name(X509_NAME* name, const char* field, const std::string& value) {
    return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(value.data()),
                                      static_cast<int>(value.size()), -1, 0) == 1;
}

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
    const bool done = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return done;
}

/// A version 3 certificate with serial number, dates and key; null on failure.
Certificate blank_certificate(EVP_PKEY& key, Validity validity) {
    Certificate certificate(X509_new());
    X509* c = certificate.get();
    const bool done =
        c != nullptr && X509_set_version(c, X509_VERSION_3) == 1 && set_serial(c) &&
        X509_gmtime_adj(X509_getm_notBefore(c), -kDaySeconds) != nullptr &&
        X509_gmtime_adj(X509_getm_notAfter(c), validity.days * kDaySeconds) != nullptr &&
        X509_set_pubkey(c, &key) == 1;
    return done ? std::move(certificate) : nullptr;
}

std::string bio_text(BIO* bio) {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(bio, &bytes);
    return std::string(bytes, static_cast<size_t>(std::max(0l, size)));
}

}  // namespace

Result<Key> create_key() {
    Key key(EVP_EC_gen("P-256"));
    if (key == nullptr) return library_error("cannot create a key");
    return key;
}

Result<Certificate> create_authority(EVP_PKEY& key, Validity validity, const X509* earlier) {
    Certificate certificate = blank_certificate(key, validity);
    X509* c = certificate.get();
    bool done = c != nullptr;
    if (done && earlier != nullptr) {
        done = X509_set_subject_name(c, X509_get_subject_name(earlier)) == 1;
    } else if (done) {
        // The random part tells the authorities of several servers apart in a trust store.
        X509_NAME* name = X509_get_subject_name(c);
        done = add_name(name, "O", kOrganization) &&
               add_name(name, "CN", std::string(kOrganization) + " " + random_guid().substr(0, 8));
    }
    done = done && X509_set_issuer_name(c, X509_get_subject_name(c)) == 1 &&
           add_extension(c, c, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           add_extension(c, c, NID_key_usage, "critical,keyCertSign,cRLSign") &&
           add_extension(c, c, NID_subject_key_identifier, "hash") &&
           X509_sign(c, &key, EVP_sha256()) > 0;
    if (!done) return library_error("cannot create the authority's certificate");
    return certificate;
}

Result<Certificate> create_server_certificate(EVP_PKEY& key, X509& authority,
                                              EVP_PKEY& authority_key,
                                              const std::vector<std::string>& extra_hosts,
                                              Validity validity) {
    std::string names;
    for (const std::string& host : all_hosts(extra_hosts)) {
        const bool address = is_address(host);
        if (!address && !is_dns_name(host)) {
            return errors::bad_request(
                "'" + host + "' is neither a host name nor an address for a certificate.");
        }
        names += (names.empty() ? "" : ",") + std::string(address ? "IP:" : "DNS:") + host;
    }
    Certificate certificate = blank_certificate(key, validity);
    X509* c = certificate.get();
    const bool done = c != nullptr && add_name(X509_get_subject_name(c), "CN", "localhost") &&
                      X509_set_issuer_name(c, X509_get_subject_name(&authority)) == 1 &&
                      add_extension(c, &authority, NID_basic_constraints, "critical,CA:FALSE") &&
                      add_extension(c, &authority, NID_key_usage, "critical,digitalSignature") &&
                      add_extension(c, &authority, NID_ext_key_usage, "serverAuth") &&
                      add_extension(c, &authority, NID_subject_key_identifier, "hash") &&
                      add_extension(c, &authority, NID_authority_key_identifier, "keyid:always") &&
                      add_extension(c, &authority, NID_subject_alt_name, names) &&
                      X509_sign(c, &authority_key, EVP_sha256()) > 0;
    if (!done) return library_error("cannot create the server's certificate");
    return certificate;
}

bool matches(const X509& certificate, EVP_PKEY& key) {
    const bool same = X509_check_private_key(&certificate, &key) == 1;
    ERR_clear_error();
    return same;
}

bool issued_by(X509& certificate, X509& authority) {
    const bool same = X509_check_issued(&authority, &certificate) == X509_V_OK &&
                      X509_verify(&certificate, X509_get0_pubkey(&authority)) == 1;
    ERR_clear_error();
    return same;
}

bool issued_by_local_authority(const X509& certificate) {
    char text[sizeof kOrganization + 1] = {};
    X509_NAME* issuer = X509_get_issuer_name(&certificate);
    X509_NAME_get_text_by_NID(issuer, NID_organizationName, text, sizeof text);
    return std::string_view(text) == kOrganization;
}

bool expires_within(const X509& certificate, int days) {
    int days_left = 0;
    int seconds_left = 0;
    if (ASN1_TIME_diff(&days_left, &seconds_left, nullptr, X509_get0_notAfter(&certificate)) != 1) {
        return true;
    }
    return days_left < days || seconds_left < 0;
}

bool covers_hosts(X509& certificate, const std::vector<std::string>& extra_hosts) {
    for (const std::string& host : all_hosts(extra_hosts)) {
        const bool covered =
            is_address(host)
                ? X509_check_ip_asc(&certificate, host.c_str(), 0) == 1
                : X509_check_host(&certificate, host.data(), host.size(), 0, nullptr) == 1;
        if (!covered) return false;
    }
    return true;
}

Result<std::string> to_pem(X509& certificate) {
    const Bio bio(BIO_new(BIO_s_mem()));
    if (bio == nullptr || PEM_write_bio_X509(bio.get(), &certificate) != 1) {
        return library_error("cannot encode a certificate");
    }
    return bio_text(bio.get());
}

Result<std::string> to_pem(EVP_PKEY& key) {
    const Bio bio(BIO_new(BIO_s_secmem()));
    if (bio == nullptr ||
        PEM_write_bio_PrivateKey(bio.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
        return library_error("cannot encode a key");
    }
    return bio_text(bio.get());
}

Certificate certificate_from_pem(std::string_view pem) {
    const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    Certificate certificate(bio != nullptr ? PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)
                                           : nullptr);
    ERR_clear_error();
    return certificate;
}

Key key_from_pem(std::string_view pem) {
    // A password prompt on the terminal would hang a server: encrypted keys count as unreadable.
    const auto no_password = [](char*, int, int, void*) { return -1; };
    const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    Key key(bio != nullptr ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr)
                           : nullptr);
    ERR_clear_error();
    return key;
}

}  // namespace orrery::net::detail
