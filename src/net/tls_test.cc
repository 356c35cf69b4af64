#include "net/tls.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "net/detail/certificates.h"
#include "net/detail/identity_files.h"
#include "net/detail/tls_context.h"

namespace orrery::net {
namespace {

namespace fs = std::filesystem;

class TlsIdentityTest : public ::testing::Test {
protected:
    TlsIdentityTest() {
        std::string name = (fs::temp_directory_path() / "orrery-tls-XXXXXX").string();
        folder_ = ::mkdtemp(name.data());
        folder_ += "/tls";
    }
    ~TlsIdentityTest() override { fs::remove_all(fs::path(folder_).parent_path()); }

    std::string path(const std::string& name) const { return folder_ + "/" + name; }
    std::string content(const std::string& name) const {
        std::ifstream in(path(name));
        std::stringstream text;
        text << in.rdbuf();
        return text.str();
    }
    void set_content(const std::string& name, const std::string& text) const {
        std::ofstream(path(name)) << text;
    }
    unsigned mode(const std::string& name) const {
        struct stat info {};
        EXPECT_EQ(::stat(path(name).c_str(), &info), 0) << name;
        return info.st_mode & 0777;
    }
    detail::Certificate certificate(const std::string& name) const {
        return detail::certificate_from_pem(content(name));
    }
    void expect_created(const std::vector<std::string>& hosts = {}) const {
        auto identity = TlsIdentity::load_or_create(folder_, hosts);
        ASSERT_TRUE(identity.ok()) << identity.error().message;
        EXPECT_EQ((*identity)->authority_pem(), content("ca.pem"));
    }
    void expect_error(const std::string& file, const std::string& advice,
                      const std::vector<std::string>& hosts = {}) const {
        auto identity = TlsIdentity::load_or_create(folder_, hosts);
        ASSERT_FALSE(identity.ok());
        EXPECT_NE(identity.error().message.find(path(file)), std::string::npos)
            << identity.error().message;
        EXPECT_NE(identity.error().message.find(advice), std::string::npos)
            << identity.error().message;
    }

    std::string folder_;
};

TEST_F(TlsIdentityTest, CreatesFilesWithStrictModes) {
    expect_created();
    EXPECT_EQ(mode("ca.key"), 0600u);
    EXPECT_EQ(mode("server.key"), 0600u);
    EXPECT_EQ(mode("ca.pem"), 0644u);
    EXPECT_EQ(mode(""), 0700u);
    for (const auto& entry : fs::directory_iterator(folder_)) {
        EXPECT_NE(entry.path().extension(), ".new") << entry.path();
    }
}

TEST_F(TlsIdentityTest, CertificateIsFitForBrowsers) {
    expect_created({"db.example", "10.1.2.3", "localhost"});
    auto server = certificate("server.pem");
    auto authority = certificate("ca.pem");
    ASSERT_TRUE(server && authority);
    EXPECT_TRUE(detail::issued_by(*server, *authority));
    EXPECT_EQ(X509_check_ca(server.get()), 0);
    EXPECT_EQ(X509_check_ca(authority.get()), 1);
    EXPECT_TRUE(X509_get_extended_key_usage(server.get()) & XKU_SSL_SERVER);
    EXPECT_TRUE(detail::covers_hosts(*server, {"db.example", "10.1.2.3"}));
    EXPECT_FALSE(detail::covers_hosts(*server, {"other.example"}));
    EXPECT_FALSE(detail::covers_hosts(*server, {"10.1.2.4"}));
    EXPECT_EQ(X509_check_ip_asc(server.get(), "::1", 0), 1);
    EXPECT_FALSE(detail::expires_within(*server, 700));
    EXPECT_TRUE(detail::expires_within(*server, 825));  // the longest some systems accept
    // A client that trusts ca.pem verifies the chain for TLS servers.
    X509_STORE* store = X509_STORE_new();
    X509_STORE_add_cert(store, authority.get());
    X509_STORE_CTX* check = X509_STORE_CTX_new();
    X509_STORE_CTX_init(check, store, server.get(), nullptr);
    X509_STORE_CTX_set_purpose(check, X509_PURPOSE_SSL_SERVER);
    EXPECT_EQ(X509_verify_cert(check), 1)
        << X509_verify_cert_error_string(X509_STORE_CTX_get_error(check));
    X509_STORE_CTX_free(check);
    X509_STORE_free(store);
}

TEST_F(TlsIdentityTest, LoadsWhatItCreated) {
    expect_created({"a.example"});
    const std::string ca = content("ca.pem"), server = content("server.pem"),
                      key = content("server.key");
    expect_created({"a.example"});
    expect_created({});  // fewer hosts are covered too
    EXPECT_EQ(content("ca.pem"), ca);
    EXPECT_EQ(content("server.pem"), server);
    EXPECT_EQ(content("server.key"), key);
}

TEST_F(TlsIdentityTest, RenewsForAMissingHost) {
    expect_created();
    const std::string ca = content("ca.pem"), server = content("server.pem");
    expect_created({"new.example"});
    EXPECT_EQ(content("ca.pem"), ca);
    EXPECT_NE(content("server.pem"), server);
    EXPECT_TRUE(detail::covers_hosts(*certificate("server.pem"), {"new.example"}));
}

TEST_F(TlsIdentityTest, RenewsBeforeExpiry) {
    expect_created();
    auto authority = certificate("ca.pem");
    auto authority_key = detail::key_from_pem(content("ca.key"));
    auto key = detail::key_from_pem(content("server.key"));
    const auto put_server = [&](int days) {
        auto server =
            detail::create_server_certificate(*key, *authority, *authority_key, {}, {days});
        ASSERT_TRUE(server.ok());
        set_content("server.pem", *detail::to_pem(**server));
    };
    put_server(detail::kServerRenewalDays + 1);
    const std::string fresh = content("server.pem");
    expect_created();
    EXPECT_EQ(content("server.pem"), fresh);
    for (const int days : {detail::kServerRenewalDays - 1, 0}) {
        put_server(days);
        const std::string old = content("server.pem"), ca = content("ca.pem");
        expect_created();
        EXPECT_NE(content("server.pem"), old);
        EXPECT_EQ(content("ca.pem"), ca);
        EXPECT_FALSE(detail::expires_within(*certificate("server.pem"), 700));
    }
}

TEST_F(TlsIdentityTest, AuthorityIsRenewedWithItsKeyAndName) {
    expect_created();
    auto key = detail::key_from_pem(content("ca.key"));
    auto old = certificate("ca.pem");
    auto expiring = detail::create_authority(*key, {10}, old.get());
    ASSERT_TRUE(expiring.ok());
    set_content("ca.pem", *detail::to_pem(**expiring));
    expect_created();
    auto renewed = certificate("ca.pem");
    EXPECT_FALSE(detail::expires_within(*renewed, 3000));
    EXPECT_EQ(X509_NAME_cmp(X509_get_subject_name(renewed.get()), X509_get_subject_name(old.get())),
              0);
    auto server = certificate("server.pem");
    EXPECT_TRUE(detail::issued_by(*server, *renewed));
    EXPECT_TRUE(detail::issued_by(*server, *old)) << "clients that trust the old one go on";
}

TEST_F(TlsIdentityTest, CrashBetweenFilesIsRepaired) {
    expect_created();
    for (const char* file : {"ca.pem", "server.pem", "server.key"}) {
        fs::remove(path(file));
        expect_created();
        EXPECT_TRUE(detail::issued_by(*certificate("server.pem"), *certificate("ca.pem"))) << file;
    }
    set_content("server.key.new", "half");
    fs::remove(path("server.key"));
    expect_created();
    EXPECT_EQ(mode("server.key"), 0600u);
}

TEST_F(TlsIdentityTest, NewAuthorityReissuesTheServerCertificate) {
    expect_created();
    fs::remove(path("ca.pem"));
    fs::remove(path("ca.key"));
    expect_created();
    EXPECT_TRUE(detail::issued_by(*certificate("server.pem"), *certificate("ca.pem")));
}

TEST_F(TlsIdentityTest, AuthorityKeyMayBeKeptElsewhere) {
    expect_created();
    fs::remove(path("ca.key"));
    expect_created();
    expect_error("ca.key", "Restore it", {"new.example"});
}

TEST_F(TlsIdentityTest, DamagedFilesAreNamed) {
    expect_created();
    for (const char* file : {"ca.pem", "ca.key", "server.pem", "server.key"}) {
        const std::string good = content(file);
        for (const std::string& bad :
             {std::string(), std::string("garbage"), good.substr(0, good.size() / 2)}) {
            set_content(file, bad);
            expect_error(file, "elete ");
        }
        set_content(file, good);
    }
    expect_created();
    const std::string server_key = content("server.key");
    set_content("server.key", content("ca.key"));
    expect_error("server.key", "does not belong to server.pem");
    set_content("server.key", server_key);
    set_content("ca.key", server_key);
    expect_error("ca.key", "does not belong to ca.pem");
}

TEST_F(TlsIdentityTest, ForeignServerCertificateIsNotOverwritten) {
    expect_created();
    auto key = detail::key_from_pem(content("server.key"));
    detail::Certificate foreign(X509_new());
    X509_set_version(foreign.get(), X509_VERSION_3);
    X509_gmtime_adj(X509_getm_notBefore(foreign.get()), 0);
    X509_gmtime_adj(X509_getm_notAfter(foreign.get()), 100000);
    X509_set_pubkey(foreign.get(), key.get());
    X509_sign(foreign.get(), key.get(), EVP_sha256());
    const std::string pem = *detail::to_pem(*foreign);
    set_content("server.pem", pem);
    expect_error("server.pem", "was not issued by ca.pem");
    EXPECT_EQ(content("server.pem"), pem);
}

TEST_F(TlsIdentityTest, LooseKeyModesAreTightened) {
    expect_created();
    ASSERT_EQ(::chmod(path("ca.key").c_str(), 0644), 0);
    expect_created();
    EXPECT_EQ(mode("ca.key"), 0600u);
}

TEST_F(TlsIdentityTest, BadHostsAndFoldersAreErrors) {
    EXPECT_FALSE(TlsIdentity::create_in_memory({"bad host"}).ok());
    EXPECT_FALSE(TlsIdentity::create_in_memory({"a,DNS:b"}).ok());
    EXPECT_FALSE(TlsIdentity::create_in_memory({""}).ok());
    std::ofstream(folder_) << "a file";
    auto identity = TlsIdentity::load_or_create(folder_, {});
    ASSERT_FALSE(identity.ok());
    EXPECT_NE(identity.error().message.find(folder_), std::string::npos)
        << identity.error().message;
}

TEST_F(TlsIdentityTest, InMemoryLeavesNoFiles) {
    auto a = TlsIdentity::create_in_memory({"x.example"});
    auto b = TlsIdentity::create_in_memory({});
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_NE((*a)->authority_pem(), (*b)->authority_pem());
    EXPECT_NE(detail::certificate_from_pem((*a)->authority_pem()), nullptr);
    EXPECT_FALSE(fs::exists(folder_));
}

}  // namespace
}  // namespace orrery::net
