#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "base/clock.h"
#include "net/detail/connection.h"
#include "net/detail/test_client.h"

namespace orrery::net {
namespace {

using detail::eventually;
using detail::get_request;
using detail::Parked;
using detail::post_request;
using detail::Reply;
using detail::start_server;
using detail::test_now_ms;
using detail::TestClient;
using detail::TestHandler;
using detail::TestServer;
using detail::TestServerOptions;

TEST(HttpServer, KeepAlive) {
    TestHandler handler;
    auto server = start_server(handler);
    TestClient client(server->port());
    for (int i = 0; i < 50; ++i) {
        const std::string path = "/" + std::to_string(i);
        const int64_t before = SystemClock().wall_seconds();
        const Reply reply = client.request(get_request(path));
        ASSERT_EQ(reply.status, 200);
        EXPECT_EQ(reply.body, "GET " + path + " ");
        EXPECT_EQ(reply.head.substr(0, 17), "HTTP/1.1 200 OK\r\n");
        EXPECT_FALSE(reply.has_header("connection"));
        const size_t date_at = reply.head.find("\r\ndate: ");
        ASSERT_NE(date_at, std::string::npos) << reply.head;
        const auto date = parse_http_date(reply.head.substr(date_at + 8, 29));
        ASSERT_TRUE(date.has_value()) << reply.head;
        EXPECT_GE(*date, before - 1);  // the server's clock is a coarse one
        EXPECT_LE(*date, SystemClock().wall_seconds());
    }
    EXPECT_EQ(server->connection_count(), 1u);
    client.close();
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
}

TEST(HttpServer, RequestDetailsReachTheHandler) {
    TestHandler handler([](std::unique_ptr<HttpExchange> exchange) {
        const HttpRequest& r = exchange->request;
        exchange->response.status = 418;
        exchange->response.add_header("x-seen", r.header("X-Test"));
        exchange->response.body = std::string(r.method) + (r.tls ? " tls" : " plain") +
                                  (r.peer_is_loopback ? " loopback" : " remote") +
                                  (exchange->cancelled() ? " gone" : " here");
        HttpExchange::send(std::move(exchange));
    });
    auto server = start_server(handler);
    TestClient client(server->port());
    const Reply reply = client.request("PURGE /a HTTP/1.1\r\nHost: x\r\nx-test:  v 1 \r\n\r\n");
    EXPECT_EQ(reply.status, 418);
    EXPECT_TRUE(reply.has("x-seen: v 1"));
    EXPECT_EQ(reply.body, "PURGE plain loopback here");
}

TEST(HttpServer, BodiesOfManySizes) {
    TestHandler handler;
    auto server = start_server(handler);
    TestClient client(server->port());
    for (const size_t size :
         {0u, 1u, 4000u, 16383u, 16384u, 16385u, 70'000u, 1'000'000u, 4'194'304u}) {
        std::string body(size, 'x');
        for (size_t i = 0; i < size; i += 97) body[i] = static_cast<char>('a' + i % 26);
        // The client sends all before it reads; both directions are larger than socket buffers.
        const Reply reply = client.request(post_request("/p", body));
        ASSERT_EQ(reply.status, 200) << size;
        EXPECT_TRUE(reply.body == "POST /p " + body) << size;
    }
}

TEST(HttpServer, ChunkedBodies) {
    TestHandler handler;
    auto server = start_server(handler);
    TestClient client(server->port());
    std::string body, wire;
    for (int i = 0; i < 3000; ++i) {
        const std::string chunk(static_cast<size_t>(i % 50 + 1), static_cast<char>('a' + i % 26));
        char size[16];
        std::snprintf(size, sizeof size, "%zx;i=%d\r\n", chunk.size(), i);
        wire += size + chunk + "\r\n";
        body += chunk;
    }
    const std::string head = "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (int round = 0; round < 3; ++round) {
        const Reply reply = client.request(head + wire + "0\r\ntrailer: x\r\n\r\n");
        ASSERT_EQ(reply.status, 200);
        EXPECT_TRUE(reply.body == "POST /c " + body);
    }
}

TEST(HttpServer, ArrivesByteByByte) {
    TestHandler handler;
    auto server = start_server(handler);
    TestClient client(server->port());
    const int on = 1;
    ::setsockopt(client.fd(), IPPROTO_TCP, 1 /* TCP_NODELAY */, &on, sizeof on);
    for (const char c : post_request("/slow", "hello")) ASSERT_TRUE(client.send({&c, 1}));
    EXPECT_EQ(client.reply().body, "POST /slow hello");
}

TEST(HttpServer, PipelinedRequestsAreAnsweredInOrder) {
    TestHandler handler;
    auto server = start_server(handler);
    TestClient client(server->port());
    std::string wire;
    constexpr int kCount = 2000;
    for (int i = 0; i < kCount; ++i) {
        wire += i % 2 == 0 ? get_request("/" + std::to_string(i))
                           : post_request("/" + std::to_string(i),
                                          std::string(static_cast<size_t>(i), 'b'));
    }
    std::thread sender([&] { client.send(wire); });
    for (int i = 0; i < kCount; ++i) {
        const Reply reply = client.reply();
        ASSERT_EQ(reply.status, 200) << i;
        const std::string expected = i % 2 == 0 ? "GET /" + std::to_string(i) + " "
                                                : "POST /" + std::to_string(i) + " " +
                                                      std::string(static_cast<size_t>(i), 'b');
        ASSERT_EQ(reply.body, expected);
    }
    sender.join();
}

TEST(HttpServer, PipelinedRequestWaitsForTheOneBefore) {
    Parked parked;
    TestHandler handler([&](std::unique_ptr<HttpExchange> e) { parked.put(std::move(e)); });
    auto server = start_server(handler);
    TestClient client(server->port());
    // More than the buffer holds, so that reading pauses while the first is under way.
    std::string wire;
    for (int i = 0; i < 40; ++i)
        wire += post_request("/" + std::to_string(i), std::string(1000, 'p'));
    ASSERT_TRUE(client.send(wire));
    for (int i = 0; i < 40; ++i) {
        auto exchange = parked.take();
        ASSERT_NE(exchange, nullptr);
        EXPECT_EQ(exchange->request.target, "/" + std::to_string(i));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        EXPECT_EQ(exchange->request.body, std::string(1000, 'p'));  // untouched by what follows
        EXPECT_FALSE(exchange->cancelled());
        exchange->response.body = std::to_string(i);
        HttpExchange::send(std::move(exchange));
    }
    for (int i = 0; i < 40; ++i) EXPECT_EQ(client.reply().body, std::to_string(i));
}

TEST(HttpServer, HeadHasNoBody) {
    TestHandler handler;
    auto server = start_server(handler);
    TestClient client(server->port());
    ASSERT_TRUE(client.send("HEAD /h HTTP/1.1\r\nHost: a\r\n\r\n" + get_request("/next")));
    const Reply head = client.reply(true);
    EXPECT_EQ(head.status, 200);
    EXPECT_TRUE(head.has("content-length: 8"));
    EXPECT_EQ(client.reply().body, "GET /next ");
}

TEST(HttpServer, StatusesWithoutBody) {
    TestHandler handler([](std::unique_ptr<HttpExchange> exchange) {
        exchange->response.status = std::stoi(std::string(exchange->request.target.substr(1)));
        exchange->response.body = "ignored where not allowed";
        HttpExchange::send(std::move(exchange));
    });
    auto server = start_server(handler);
    TestClient client(server->port());
    ASSERT_TRUE(client.send(get_request("/204") + get_request("/304") + get_request("/201")));
    const Reply no_content = client.reply();
    EXPECT_EQ(no_content.status, 204);
    EXPECT_FALSE(no_content.has_header("content-length"));
    const Reply not_modified = client.reply();
    EXPECT_EQ(not_modified.status, 304);
    EXPECT_FALSE(not_modified.has_header("content-length"));
    const Reply created = client.reply();
    EXPECT_EQ(created.head.substr(0, 22), "HTTP/1.1 201 Created\r\n");
    EXPECT_EQ(created.body, "ignored where not allowed");
}

TEST(HttpServer, ConnectionClose) {
    TestHandler handler;
    auto server = start_server(handler);
    TestClient client(server->port());
    const Reply reply =
        client.request(get_request("/", "Connection: close\r\n") + get_request("/never"));
    EXPECT_EQ(reply.status, 200);
    EXPECT_TRUE(reply.has("connection: close"));
    EXPECT_TRUE(client.at_end());
    client.close();
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
}

TEST(HttpServer, Http10) {
    TestHandler handler;
    auto server = start_server(handler);
    TestClient once(server->port());
    EXPECT_TRUE(once.request("GET / HTTP/1.0\r\n\r\n").has("connection: close"));
    EXPECT_TRUE(once.at_end());
    TestClient kept(server->port());
    for (int i = 0; i < 3; ++i) {
        const Reply reply = kept.request("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        EXPECT_EQ(reply.status, 200);
        EXPECT_TRUE(reply.has("connection: keep-alive"));
    }
}

TEST(HttpServer, ExpectContinue) {
    TestHandler handler;
    TestServerOptions options;
    options.body_bytes_max = 100;
    auto server = start_server(handler, options);
    TestClient client(server->port());
    const std::string expect = "Host: a\r\nExpect: 100-continue\r\nContent-Length: ";
    EXPECT_EQ(client.request("PUT /a HTTP/1.1\r\n" + expect + "5\r\n\r\n").status, 100);
    EXPECT_EQ(client.request("hello").body, "PUT /a hello");
    // With the body at hand there is nothing to ask for.
    EXPECT_EQ(client.request("PUT /b HTTP/1.1\r\n" + expect + "5\r\n\r\nhello").body,
              "PUT /b hello");
    EXPECT_EQ(client.request("PUT /c HTTP/1.1\r\n" + expect + "101\r\n\r\n").status, 413);
    EXPECT_TRUE(client.at_end());
}

TEST(HttpServer, HalfClosedClientGetsItsAnswer) {
    Parked parked;
    TestHandler handler([&](std::unique_ptr<HttpExchange> e) { parked.put(std::move(e)); });
    auto server = start_server(handler);
    TestClient client(server->port());
    ASSERT_TRUE(client.send(get_request("/a") + get_request("/b")));
    client.end_sending();
    for (const char* path : {"/a", "/b"}) {
        auto exchange = parked.take();
        ASSERT_NE(exchange, nullptr);
        TestHandler::echo(std::move(exchange));
        EXPECT_EQ(client.reply().body, "GET " + std::string(path) + " ");
    }
    EXPECT_TRUE(client.at_end());
}

TEST(HttpServer, HalfClosedClientDoesNotCountAsGoneAtOnce) {
    Parked parked;
    TestHandler handler(
        [&](std::unique_ptr<HttpExchange> e) { parked.put_unless_now(std::move(e)); });
    TestServerOptions options;
    options.loop_count = 1;
    auto server = start_server(handler, options);
    TestClient other(server->port());
    EXPECT_TRUE(eventually([&] {
        TestClient client(server->port());
        EXPECT_TRUE(client.send(get_request("/a") + get_request("/b")));
        auto first = parked.take();
        const int64_t start_ms = test_now_ms();
        client.end_sending();
        // Rounds of the loop, until it has seen that.
        for (int i = 0; i < 20; ++i) EXPECT_EQ(other.request(get_request("/now")).status, 200);
        const bool gone = first->cancelled();
        const bool fair = test_now_ms() - start_ms < detail::kHalfClosedMs;
        EXPECT_FALSE(gone && fair);
        EXPECT_TRUE(eventually([&] { return first->cancelled(); }));
        // What follows has a time of its own.
        const int64_t second_ms = test_now_ms();
        TestHandler::echo(std::move(first));
        auto second = parked.take();
        const bool second_gone = second->cancelled();
        const bool second_fair = test_now_ms() - second_ms < detail::kHalfClosedMs;
        EXPECT_FALSE(second_gone && second_fair);
        TestHandler::echo(std::move(second));
        EXPECT_EQ(client.reply().body, "GET /a ");
        EXPECT_EQ(client.reply().body, "GET /b ");
        EXPECT_TRUE(client.at_end());
        return fair && second_fair;
    }));
}

TEST(HttpServer, AbandonedExchangeIsAnswered500) {
    TestHandler handler([](std::unique_ptr<HttpExchange> exchange) {
        if (exchange->request.target == "/later") {
            std::thread([e = std::move(exchange)]() mutable { e.reset(); }).detach();
        } else if (exchange->request.target == "/throw") {
            throw std::runtime_error("handler failed");
        }
    });
    auto server = start_server(handler);
    TestClient client(server->port());
    for (const char* path : {"/now", "/later", "/throw", "/now"}) {
        EXPECT_EQ(client.request(get_request(path)).status, 500) << path;
    }
}

TEST(HttpServer, ConnectionLimitMakesNewClientsWait) {
    TestHandler handler;
    TestServerOptions options;
    options.connections_max = 2;
    auto server = start_server(handler, options);
    auto a = std::make_unique<TestClient>(server->port());
    auto b = std::make_unique<TestClient>(server->port());
    EXPECT_EQ(a->request(get_request("/")).status, 200);
    EXPECT_EQ(b->request(get_request("/")).status, 200);
    TestClient c(server->port());
    ASSERT_TRUE(c.send(get_request("/waited")));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(server->connection_count(), 2u);
    a.reset();
    EXPECT_EQ(c.reply().body, "GET /waited ");
    b.reset();
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 1; }));
}

TEST(HttpServer, BadAddressesAreErrors) {
    TestHandler handler;
    TestServerOptions options;
    options.bind_address = "no.such.address";
    auto refused = TestServer::start(options, http_protocol(handler));
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("no.such.address"), std::string::npos);
    auto server = start_server(handler);
    options.bind_address = "127.0.0.1";
    options.port = server->port();
    auto taken = TestServer::start(options, http_protocol(handler));
    ASSERT_FALSE(taken.ok());
    EXPECT_NE(taken.error().message.find(std::to_string(server->port())), std::string::npos);
    EXPECT_NE(taken.error().message.find("in use"), std::string::npos) << taken.error().message;
}

}  // namespace
}  // namespace orrery::net
