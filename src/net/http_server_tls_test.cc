#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "net/detail/certificates.h"
#include "net/detail/test_client.h"

namespace orrery::net {
namespace {

using detail::eventually;
using detail::get_request;
using detail::Parked;
using detail::post_request;
using detail::Reply;
using detail::start_server;
using detail::TestClient;
using detail::TestHandler;
using detail::TestServerOptions;

class HttpServerTls : public ::testing::Test {
protected:
    HttpServerTls() {
        auto identity = TlsIdentity::create_in_memory({});
        EXPECT_TRUE(identity.ok());
        identity_ = std::move(identity).value();
        options_.tls = identity_.get();
        context_ = SSL_CTX_new(TLS_client_method());
        auto authority = detail::certificate_from_pem(identity_->authority_pem());
        X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), authority.get());
        SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
        X509_VERIFY_PARAM_set1_host(SSL_CTX_get0_param(context_), "localhost", 0);
    }
    ~HttpServerTls() override { SSL_CTX_free(context_); }

    std::unique_ptr<TlsIdentity> identity_;
    TestServerOptions options_;
    SSL_CTX* context_ = nullptr;
};

TEST_F(HttpServerTls, PlainAndTlsShareThePort) {
    TestHandler handler([](std::unique_ptr<HttpExchange> exchange) {
        exchange->response.body = exchange->request.tls ? "tls" : "plain";
        HttpExchange::send(std::move(exchange));
    });
    auto server = start_server(handler, options_);
    TestClient plain(server->port()), secure(server->port());
    ASSERT_TRUE(secure.start_tls(context_));
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(secure.request(get_request("/")).body, "tls");
        EXPECT_EQ(plain.request(get_request("/")).body, "plain");
    }
}

TEST_F(HttpServerTls, VersionsAndProtocols) {
    TestHandler handler;
    auto server = start_server(handler, options_);
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        SSL_CTX_set_min_proto_version(context_, version);
        SSL_CTX_set_max_proto_version(context_, version);
        const unsigned char offered[] = "\x02h2\x08http/1.1";
        SSL_CTX_set_alpn_protos(context_, offered, sizeof offered - 1);
        TestClient client(server->port());
        ASSERT_TRUE(client.start_tls(context_));
        EXPECT_EQ(SSL_version(client.ssl()), version);
        const unsigned char* chosen = nullptr;
        unsigned int size = 0;
        SSL_get0_alpn_selected(client.ssl(), &chosen, &size);
        EXPECT_EQ(std::string(reinterpret_cast<const char*>(chosen), size), "http/1.1");
        EXPECT_EQ(client.request(get_request("/")).status, 200);
    }
    SSL_CTX_set_security_level(context_, 0);
    SSL_CTX_set_min_proto_version(context_, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context_, TLS1_1_VERSION);
    TestClient old(server->port());
    EXPECT_FALSE(old.start_tls(context_));
    EXPECT_TRUE(eventually([&] { return server->connection_count() <= 1; }));
}

TEST_F(HttpServerTls, SessionsAreResumed) {
    TestHandler handler;
    auto server = start_server(handler, options_);
    SSL_SESSION* session = nullptr;
    for (int i = 0; i < 2; ++i) {
        TestClient client(server->port());
        SSL_CTX_set_max_proto_version(context_, TLS1_2_VERSION);
        SSL* ssl = SSL_new(context_);
        SSL_set_fd(ssl, client.fd());
        SSL_set_tlsext_host_name(ssl, "localhost");
        if (session != nullptr) SSL_set_session(ssl, session);
        ASSERT_EQ(SSL_connect(ssl), 1);
        EXPECT_EQ(SSL_session_reused(ssl), i);
        SSL_SESSION_free(session);
        session = SSL_get1_session(ssl);
        SSL_shutdown(ssl);
        SSL_free(ssl);
    }
    SSL_SESSION_free(session);
}

TEST_F(HttpServerTls, BodiesOfManySizes) {
    TestHandler handler;
    auto server = start_server(handler, options_);
    TestClient client(server->port());
    ASSERT_TRUE(client.start_tls(context_));
    for (const size_t size : {0u, 1u, 15'000u, 16384u, 40'000u, 100'000u, 1'000'000u, 4'000'000u}) {
        const std::string body(size, static_cast<char>('a' + size % 26));
        const Reply reply = client.request(post_request("/p", body));
        ASSERT_EQ(reply.status, 200) << size;
        EXPECT_TRUE(reply.body == "POST /p " + body) << size;
    }
}

TEST_F(HttpServerTls, PipeliningWhileTheHandlerWaits) {
    Parked parked;
    TestHandler handler([&](std::unique_ptr<HttpExchange> e) { parked.put(std::move(e)); });
    auto server = start_server(handler, options_);
    TestClient client(server->port());
    ASSERT_TRUE(client.start_tls(context_));
    std::string wire;
    for (int i = 0; i < 60; ++i)
        wire += post_request("/" + std::to_string(i), std::string(2000, 'p'));
    ASSERT_TRUE(client.send(wire));
    for (int i = 0; i < 60; ++i) {
        auto exchange = parked.take();
        ASSERT_NE(exchange, nullptr);
        EXPECT_EQ(exchange->request.body, std::string(2000, 'p'));
        TestHandler::echo(std::move(exchange));
        EXPECT_EQ(client.reply().body, "POST /" + std::to_string(i) + " " + std::string(2000, 'p'));
    }
}

TEST_F(HttpServerTls, ExpectContinueRefusalAndGoodbye) {
    TestHandler handler;
    options_.body_bytes_max = 1000;
    auto server = start_server(handler, options_);
    TestClient client(server->port());
    ASSERT_TRUE(client.start_tls(context_));
    const std::string expect =
        "PUT /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: ";
    EXPECT_EQ(client.request(expect + "5\r\n\r\n").status, 100);
    EXPECT_EQ(client.request("hello").body, "PUT /a hello");
    EXPECT_EQ(client.request(expect + "1001\r\n\r\n").status, 413);
    EXPECT_TRUE(client.at_end());
    EXPECT_TRUE(SSL_get_shutdown(client.ssl()) & SSL_RECEIVED_SHUTDOWN);
}

TEST_F(HttpServerTls, ClientThatLeavesCancelsTheExchange) {
    Parked parked;
    TestHandler handler([&](std::unique_ptr<HttpExchange> e) { parked.put(std::move(e)); });
    auto server = start_server(handler, options_);
    TestClient client(server->port());
    ASSERT_TRUE(client.start_tls(context_));
    ASSERT_TRUE(client.send(get_request("/x")));
    auto exchange = parked.take();
    EXPECT_FALSE(exchange->cancelled());
    SSL_shutdown(client.ssl());
    client.close();
    EXPECT_TRUE(eventually([&] { return exchange->cancelled(); }));
    EXPECT_EQ(exchange->request.target, "/x");
    TestHandler::echo(std::move(exchange));
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
}

TEST_F(HttpServerTls, BrokenHandshakesAreClosed) {
    TestHandler handler;
    auto server = start_server(handler, options_);
    TestClient garbage(server->port());
    ASSERT_TRUE(garbage.send(std::string("\x16\x03\x01\x00\x05hello", 10) + std::string(100, 'x')));
    while (garbage.receive()) {
    }
    // A damaged record in the middle of a connection.
    TestClient client(server->port());
    ASSERT_TRUE(client.start_tls(context_));
    EXPECT_EQ(client.request(get_request("/")).status, 200);
    const std::string bad = std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'z');
    ASSERT_EQ(::send(client.fd(), bad.data(), bad.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bad.size()));
    EXPECT_FALSE(client.receive());
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
}

TEST_F(HttpServerTls, SlowHandshakesAreCutOff) {
    TestHandler handler;
    options_.header_timeout_ms = 150;
    auto server = start_server(handler, options_);
    TestClient stalled(server->port());
    ASSERT_TRUE(stalled.send(std::string("\x16\x03\x01", 3)));
    EXPECT_TRUE(stalled.at_end());
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
}

TEST_F(HttpServerTls, StopsWithConnectionsOpen) {
    TestHandler handler;
    auto server = start_server(handler, options_);
    TestClient idle(server->port()), handshaking(server->port());
    ASSERT_TRUE(idle.start_tls(context_));
    EXPECT_EQ(idle.request(get_request("/")).status, 200);
    ASSERT_TRUE(handshaking.send("\x16"));
    const int64_t start_ms = detail::test_now_ms();
    server->stop(detail::kPatienceMs);
    EXPECT_LT(detail::test_now_ms() - start_ms, detail::kPatienceMs / 2);
}

}  // namespace
}  // namespace orrery::net
