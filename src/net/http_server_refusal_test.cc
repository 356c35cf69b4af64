#include <gtest/gtest.h>

#include "net/detail/test_client.h"
#include "net/http_server.h"

namespace orrery::net {
namespace {

using detail::eventually;
using detail::get_request;
using detail::post_request;
using detail::Reply;
using detail::start_server;
using detail::test_now_ms;
using detail::TestClient;
using detail::TestHandler;

HttpServerOptions small_limits() {
    HttpServerOptions options;
    options.header_bytes_max = 1024;
    options.header_count_max = 10;
    options.body_bytes_max = 10'000;
    options.header_timeout_ms = 150;
    options.body_timeout_ms = 150;
    options.idle_timeout_ms = 150;
    options.write_timeout_ms = 150;
    return options;
}

TEST(HttpServerRefusal, EachProblemGetsItsStatusAndTheConnectionCloses) {
    TestHandler handler;
    auto server = start_server(handler, small_limits());
    const std::string chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    std::string many;
    for (int i = 0; i < 10; ++i) many += "a: b\r\n";
    const std::vector<std::pair<std::string, int>> cases = {
        {"nonsense\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {get_request("/", "a: b\r\n folded\r\n"), 400},
        {get_request("/", "a : b\r\n"), 400},
        {get_request("/", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), 400},
        {get_request("/", "Content-Length: 1\r\nContent-Length: 2\r\n"), 400},
        {chunked + "zz\r\n", 400},
        {chunked + "5\r\nhelloworld", 400},
        {chunked + "ffffff\r\n", 413},
        {post_request("/", std::string(10'001, 'x')), 413},
        {"GET /" + std::string(2000, 'a') + " HTTP/1.1\r\n", 414},
        {"GET /" + std::string(2000, 'a'), 414},
        {get_request("/", "a: " + std::string(2000, 'a') + "\r\n"), 431},
        {get_request("/", many), 431},
        {get_request("/", "Transfer-Encoding: gzip\r\n"), 501},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
        {"\x16\x03\x01", 400},  // TLS, where the server has no certificate
    };
    for (const auto& [wire, status] : cases) {
        TestClient client(server->port());
        // A good request first: what follows is refused on a connection in use, too.
        ASSERT_EQ(client.request(get_request("/ok")).status, 200);
        const Reply reply = client.request(wire);
        EXPECT_EQ(reply.status, status) << wire;
        EXPECT_TRUE(reply.has("x-refused: " + std::to_string(status))) << reply.head;
        EXPECT_TRUE(reply.has("connection: close"));
        EXPECT_FALSE(reply.body.empty());
        EXPECT_TRUE(client.at_end());
    }
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
}

TEST(HttpServerRefusal, LargeBodyIsRefusedBeforeItIsRead) {
    TestHandler handler;
    HttpServerOptions options;
    options.body_bytes_max = 1000;
    auto server = start_server(handler, options);
    TestClient client(server->port());
    ASSERT_TRUE(client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999\r\n\r\n"));
    // The client goes on sending for a while; the answer must not be lost to a reset.
    const std::string block(64 * 1024, 'x');
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(client.send(block));
    EXPECT_EQ(client.reply().status, 413);
    EXPECT_TRUE(client.at_end());
}

TEST(HttpServerRefusal, LargeRequestsShareABudget) {
    TestHandler handler;
    HttpServerOptions options;
    options.loop_count = 1;
    options.large_request_bytes_max = 1'500'000;
    auto server = start_server(handler, options);
    const std::string wire = post_request("/", std::string(1'000'000, 'x'));
    const size_t most = wire.size() - 1;
    TestClient holder(server->port());
    ASSERT_TRUE(holder.send(std::string_view(wire).substr(0, most)));
    // Rounds of the loop, until it has read what the holder sent.
    TestClient small(server->port());
    for (int i = 0; i < 100; ++i) ASSERT_EQ(small.request(get_request("/")).status, 200);
    // While one request holds most of it, the next finds no room, but a small one does.
    EXPECT_TRUE(eventually([&] {
        TestClient other(server->port());
        return other.request(wire).status == 503;
    }));
    EXPECT_EQ(small.request(get_request("/")).status, 200);
    EXPECT_EQ(holder.request(std::string_view(wire).substr(most)).status, 200);
    // What answered and ended requests held is given back.
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(TestClient(server->port()).request(wire).status, 200);
        EXPECT_EQ(holder.request(wire).status, 200);
    }
    {
        TestClient gone(server->port());
        ASSERT_TRUE(gone.send(std::string_view(wire).substr(0, most)));
        gone.reset_connection();
    }
    EXPECT_TRUE(eventually([&] { return TestClient(server->port()).request(wire).status == 200; }));
}

TEST(HttpServerRefusal, SlowHeadersAreCutOff) {
    TestHandler handler;
    auto server = start_server(handler, small_limits());
    TestClient client(server->port());
    const int64_t start_ms = test_now_ms();
    // Trickling bytes does not extend the time.
    std::thread sender([&] {
        std::string slow = "GET / HTTP/1.1\r\nHost: a\r\n";
        while (client.send(slow)) {
            slow = "a";
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            if (test_now_ms() - start_ms > 600) break;
        }
    });
    const Reply reply = client.reply();
    const int64_t took_ms = test_now_ms() - start_ms;
    sender.join();
    EXPECT_EQ(reply.status, 408);
    EXPECT_GE(took_ms, 130);
    EXPECT_LT(took_ms, 550);
}

TEST(HttpServerRefusal, SlowBodyIsCutOff) {
    TestHandler handler;
    auto server = start_server(handler, small_limits());
    TestClient client(server->port());
    const Reply reply =
        client.request("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc");
    EXPECT_EQ(reply.status, 408);
    EXPECT_TRUE(reply.has("x-refused: 408"));
    EXPECT_TRUE(client.at_end());
}

TEST(HttpServerRefusal, IdleConnectionsAreClosedSilently) {
    TestHandler handler;
    auto server = start_server(handler, small_limits());
    TestClient fresh(server->port());
    TestClient used(server->port());
    EXPECT_EQ(used.request(get_request("/")).status, 200);
    EXPECT_TRUE(fresh.at_end());
    EXPECT_TRUE(used.at_end());
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
}

TEST(HttpServerRefusal, TrafficKeepsAConnectionAlive) {
    TestHandler handler;
    auto server = start_server(handler, small_limits());
    TestClient client(server->port());
    for (int i = 0; i < 10; ++i) {
        ASSERT_EQ(client.request(get_request("/")).status, 200) << i;
        std::this_thread::sleep_for(std::chrono::milliseconds(40));
    }
}

TEST(HttpServerRefusal, ReaderThatStopsIsCutOff) {
    TestHandler handler([](std::unique_ptr<HttpExchange> exchange) {
        exchange->response.body.assign(32 * 1024 * 1024, 'x');
        HttpExchange::send(std::move(exchange));
    });
    auto server = start_server(handler, small_limits());
    TestClient client(server->port(), 4096);
    ASSERT_TRUE(client.send(get_request("/")));
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 1; }));
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
    EXPECT_EQ(client.reply().status, 0);  // incomplete
}

TEST(HttpServerRefusal, SlowReaderThatGoesOnGetsEverything) {
    constexpr size_t kBytes = 8 * 1024 * 1024;
    TestHandler handler([](std::unique_ptr<HttpExchange> exchange) {
        exchange->response.body.assign(kBytes, 'x');
        HttpExchange::send(std::move(exchange));
    });
    auto server = start_server(handler, small_limits());
    TestClient client(server->port(), 64 * 1024);
    ASSERT_TRUE(client.send(get_request("/")));
    for (int i = 0; i < 12; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        for (int k = 0; k < 32; ++k) ASSERT_TRUE(client.receive());
    }
    EXPECT_EQ(client.reply().body.size(), kBytes);
}

TEST(HttpServerRefusal, EarlyCloseAtEveryStage) {
    TestHandler handler;
    auto server = start_server(handler);
    const std::string wire = post_request("/p", "0123456789");
    for (size_t cut = 0; cut <= wire.size(); ++cut) {
        TestClient client(server->port());
        ASSERT_TRUE(client.send(wire.substr(0, cut)));
        if (cut % 2 == 0) {
            client.close();
        } else {
            client.reset_connection();
        }
    }
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
    TestClient client(server->port());
    EXPECT_EQ(client.request(wire).status, 200);
}

}  // namespace
}  // namespace orrery::net
