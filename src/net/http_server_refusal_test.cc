#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "net/detail/connection.h"
#include "net/detail/test_client.h"

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
using detail::TestServerOptions;

/// Short enough to wait for. A test sets no other time limit than the one it is about: a machine
/// that is busy elsewhere would trip over the rest.
constexpr int64_t kShortMs = 150;

/// Runs `attempt`, which gets a stopwatch to press after each of its steps, until no step took as
/// long as `limit_ms`: where a busy machine took the time, nothing can be said about the server.
template <typename Attempt>
void with_steps_below(int64_t limit_ms, Attempt attempt) {
    EXPECT_TRUE(eventually([&] {
        int64_t longest_ms = 0;
        int64_t last_ms = test_now_ms();
        const bool good = attempt([&] {
            const int64_t now_ms = test_now_ms();
            longest_ms = std::max(longest_ms, now_ms - std::exchange(last_ms, now_ms));
        });
        const bool fair = longest_ms < limit_ms;
        EXPECT_TRUE(good || !fair);
        return fair;
    }));
}

TEST(HttpServerRefusal, EachProblemGetsItsStatusAndTheConnectionCloses) {
    TestHandler handler;
    TestServerOptions options;
    options.header_bytes_max = 1024;
    options.header_count_max = 10;
    options.body_bytes_max = 10'000;
    auto server = start_server(handler, options);
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
    TestServerOptions options;
    options.body_bytes_max = 1000;
    auto server = start_server(handler, options);
    const std::string block(64 * 1024, 'x');
    // The client goes on sending for a while, shorter than the server waits before it closes; the
    // answer must not be lost to a reset.
    with_steps_below(detail::kLingerMs / 2, [&](auto pressed) {
        TestClient client(server->port());
        bool sent = client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999\r\n\r\n");
        for (int i = 0; i < 20; ++i) sent = sent && client.send(block);
        const int status = client.reply().status;
        pressed();
        return sent && status == 413 && client.at_end();
    });
}

TEST(HttpServerRefusal, LargeRequestsShareABudget) {
    TestHandler handler;
    TestServerOptions options;
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
    TestServerOptions options;
    options.header_timeout_ms = kShortMs;
    auto server = start_server(handler, options);
    TestClient client(server->port());
    const int64_t start_ms = test_now_ms();
    // Trickling bytes does not extend the time: they go on until the answer is there.
    std::atomic<bool> answered{false};
    std::thread sender([&] {
        std::string slow = "GET / HTTP/1.1\r\nHost: a\r\n";
        while (!answered && client.send(slow)) {
            slow = "a";
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    });
    const Reply reply = client.reply();
    const int64_t took_ms = test_now_ms() - start_ms;
    answered = true;
    sender.join();
    EXPECT_EQ(reply.status, 408);
    EXPECT_GE(took_ms, kShortMs - 20);
}

TEST(HttpServerRefusal, SlowBodyIsCutOff) {
    TestHandler handler;
    TestServerOptions options;
    options.body_timeout_ms = kShortMs;
    auto server = start_server(handler, options);
    TestClient client(server->port());
    const Reply reply =
        client.request("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc");
    EXPECT_EQ(reply.status, 408);
    EXPECT_TRUE(reply.has("x-refused: 408"));
    EXPECT_TRUE(client.at_end());
}

TEST(HttpServerRefusal, IdleConnectionsAreClosedSilently) {
    TestHandler handler;
    TestServerOptions options;
    options.idle_timeout_ms = kShortMs;
    auto server = start_server(handler, options);
    TestClient fresh(server->port());
    EXPECT_TRUE(fresh.at_end());
    with_steps_below(kShortMs / 2, [&](auto pressed) {
        TestClient used(server->port());
        const bool answered = used.request(get_request("/")).status == 200;
        pressed();
        return answered && used.at_end();
    });
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
}

TEST(HttpServerRefusal, TrafficKeepsAConnectionAlive) {
    TestHandler handler;
    TestServerOptions options;
    options.idle_timeout_ms = 600;
    auto server = start_server(handler, options);
    with_steps_below(options.idle_timeout_ms / 2, [&](auto pressed) {
        TestClient client(server->port());
        for (int i = 0; i < 10; ++i) {
            const bool answered = client.request(get_request("/")).status == 200;
            pressed();
            if (!answered) return false;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        return true;
    });
}

TEST(HttpServerRefusal, ReaderThatStopsIsCutOff) {
    std::atomic<bool> asked{false};
    TestHandler handler([&](std::unique_ptr<HttpExchange> exchange) {
        asked = true;
        exchange->response.body.assign(32 * 1024 * 1024, 'x');
        HttpExchange::send(std::move(exchange));
    });
    TestServerOptions options;
    options.write_timeout_ms = kShortMs;
    auto server = start_server(handler, options);
    TestClient client(server->port(), 4096);
    ASSERT_TRUE(client.send(get_request("/")));
    EXPECT_TRUE(eventually([&] { return asked.load(); }));
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
    EXPECT_EQ(client.reply().status, 0);  // incomplete
}

TEST(HttpServerRefusal, SlowReaderThatGoesOnGetsEverything) {
    constexpr size_t kBytes = 8 * 1024 * 1024;
    TestHandler handler([](std::unique_ptr<HttpExchange> exchange) {
        exchange->response.body.assign(kBytes, 'x');
        HttpExchange::send(std::move(exchange));
    });
    TestServerOptions options;
    options.write_timeout_ms = 600;
    auto server = start_server(handler, options);
    with_steps_below(options.write_timeout_ms / 2, [&](auto pressed) {
        TestClient client(server->port(), 64 * 1024);
        if (!client.send(get_request("/"))) return false;
        for (int i = 0; i < 12; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            for (int k = 0; k < 32; ++k) {
                if (!client.receive()) return false;
            }
            pressed();
        }
        const bool whole = client.reply().body.size() == kBytes;
        pressed();
        return whole;
    });
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
