#include "net/frames.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <random>
#include <thread>

#include "net/detail/test_frames.h"

namespace orrery::net {
namespace {

using detail::eventually;
using detail::get_request;
using detail::kPatienceMs;
using detail::make_frame;
using detail::next_frame;
using detail::ParkedRequests;
using detail::start_server;
using detail::test_frames;
using detail::test_now_ms;
using detail::TestClient;
using detail::TestHandler;
using detail::TestServerOptions;

TEST(Frames, RequestsOfManySizesInOnePieceAndByteByByte) {
    ParkedRequests parked;
    auto server = start_server(test_frames(parked));
    TestClient client(server->port());
    ASSERT_TRUE(client.send(make_frame(1, 'l', "1000000")));
    EXPECT_EQ(next_frame(client).second, "l");
    for (const size_t size : {0u, 1u, 4000u, 16'375u, 16'384u, 70'000u, 999'991u}) {
        const std::string text(size, static_cast<char>('a' + size % 26));
        ASSERT_TRUE(client.send(make_frame(7, 'e', text)));
        EXPECT_EQ(next_frame(client).second, "e" + text) << size;
    }
    for (const char c : make_frame(8, 'e', "slow")) ASSERT_TRUE(client.send({&c, 1}));
    EXPECT_EQ(next_frame(client).second, "eslow");
}

TEST(Frames, ManyUnderWayAreAnsweredInAnyOrderFromAnyThread) {
    ParkedRequests parked;
    ChannelLimits limits;
    limits.requests_max = 100;
    auto server = start_server(test_frames(parked, limits));
    TestClient client(server->port());
    std::string wire;
    for (uint32_t i = 1; i <= 100; ++i) wire += make_frame(i, 'w');
    ASSERT_TRUE(client.send(wire));
    auto requests = parked.take(100);
    std::shuffle(requests.begin(), requests.end(), std::minstd_rand(1));
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (size_t i = t; i < requests.size(); i += 4)
                requests[i].second.peer().send(
                    make_frame(requests[i].first, 'w', std::to_string(requests[i].first)));
        });
    }
    for (auto& thread : threads) thread.join();
    std::vector<uint32_t> seen;
    for (int i = 0; i < 100; ++i) {
        const auto [number, rest] = next_frame(client);
        EXPECT_EQ(rest, "w" + std::to_string(number));
        seen.push_back(number);
    }
    std::sort(seen.begin(), seen.end());
    for (uint32_t i = 1; i <= 100; ++i) EXPECT_EQ(seen[i - 1], i);
}

TEST(Frames, RequestsAboveTheLimitWait) {
    ParkedRequests parked;
    ChannelLimits limits;
    limits.requests_max = 2;
    auto server = start_server(test_frames(parked, limits));
    TestClient client(server->port());
    std::string wire;
    for (uint32_t i = 1; i <= 50; ++i) wire += make_frame(i, 'w', std::string(1000, 'x'));
    ASSERT_TRUE(client.send(wire));
    uint32_t next = 1;
    while (next <= 50) {
        auto requests = parked.take(1);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        EXPECT_LE(requests.size() + parked.count(), 2u);
        for (auto& [number, request] : requests) {
            EXPECT_EQ(number, next++);
            request.peer().send(make_frame(number, 'w'));
        }
    }
    for (uint32_t i = 1; i <= 50; ++i) EXPECT_EQ(next_frame(client).first, i);
}

TEST(Frames, ServerSendsWithoutBeingAsked) {
    ParkedRequests parked;
    auto server = start_server(test_frames(parked));
    TestClient client(server->port());
    ASSERT_TRUE(client.send(make_frame(1, 'w')));
    std::optional<Peer> peer;
    {
        auto requests = parked.take(1);
        peer = requests[0].second.peer();
    }
    EXPECT_TRUE(peer->is_loopback());
    EXPECT_FALSE(peer->tls());
    EXPECT_NE(peer->connection(), 0u);
    for (uint32_t i = 0; i < 500; ++i) peer->send(make_frame(i, 'p', std::string(i * 97, 'p')));
    for (uint32_t i = 0; i < 500; ++i) {
        const auto [number, rest] = next_frame(client);
        ASSERT_EQ(number, i);
        ASSERT_EQ(rest.size(), i * 97 + 1);
    }
    EXPECT_TRUE(eventually([&] { return peer->unsent_bytes() == 0; }));
    client.close();
    EXPECT_TRUE(eventually([&] { return peer->gone(); }));
    peer->send(make_frame(1, 'p'));  // goes nowhere
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
}

class NoteThread final : public LoopTask {
public:
    explicit NoteThread(std::atomic<std::thread::id>& thread) : thread_(thread) {}
    void run() override { thread_ = std::this_thread::get_id(); }

private:
    std::atomic<std::thread::id>& thread_;
};

TEST(Frames, TasksRunOnTheLoop) {
    ParkedRequests parked;
    auto server = start_server(test_frames(parked));
    TestClient client(server->port());
    ASSERT_TRUE(client.send(make_frame(1, 'w')));
    auto requests = parked.take(1);
    std::atomic<std::thread::id> thread{std::thread::id()};
    requests[0].second.peer().run_on_loop(std::make_unique<NoteThread>(thread));
    EXPECT_TRUE(eventually([&] { return thread.load() != std::thread::id(); }));
    EXPECT_NE(thread.load(), std::this_thread::get_id());
}

TEST(Frames, HandlerEndsTheConnectionBehindItsAnswer) {
    ParkedRequests parked;
    auto server = start_server(test_frames(parked));
    TestClient client(server->port());
    ASSERT_TRUE(client.send(make_frame(1, 'e', "a") + make_frame(2, 'c') + make_frame(3, 'e')));
    EXPECT_EQ(next_frame(client).second, "ea");
    EXPECT_EQ(next_frame(client).second, "c");
    EXPECT_TRUE(client.at_end());
    TestClient thrown(server->port());
    ASSERT_TRUE(thrown.send(make_frame(1, 't')));
    EXPECT_TRUE(thrown.at_end());
    client.close();
    thrown.close();
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
}

TEST(Frames, HalfClosedClientGetsItsAnswers) {
    ParkedRequests parked;
    auto server = start_server(test_frames(parked));
    TestClient client(server->port());
    ASSERT_TRUE(client.send(make_frame(1, 'w') + make_frame(2, 'w') + make_frame(3, 'e', "x")));
    client.end_sending();
    EXPECT_EQ(next_frame(client).second, "ex");
    auto requests = parked.take(2);
    EXPECT_TRUE(eventually([&] { return requests[0].second.peer().gone(); }));
    for (auto& [number, request] : requests) request.peer().send(make_frame(number, 'w'));
    requests.clear();
    EXPECT_EQ(next_frame(client).first, 1u);
    EXPECT_EQ(next_frame(client).first, 2u);
    EXPECT_TRUE(client.at_end());
}

TEST(Frames, ListenersShareLoopsAndLimits) {
    ParkedRequests parked;
    TestHandler handler;
    auto identity = TlsIdentity::create_in_memory({});
    ASSERT_TRUE(identity.ok());
    Server server({.loop_count = 1});
    const auto frames = server.listen({.tls = identity->get()}, test_frames(parked));
    const auto http = server.listen({}, http_protocol(handler));
    const auto more_http = server.listen({}, http_protocol(handler));
    ASSERT_TRUE(frames.ok() && http.ok() && more_http.ok());
    ASSERT_TRUE(server.start().ok());
    TestClient a(*frames), b(*http), c(*more_http), secure(*frames);
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    ASSERT_TRUE(secure.start_tls(context));
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(a.send(make_frame(1, 'e', "a")));
        EXPECT_EQ(next_frame(a).second, "ea");
        EXPECT_EQ(b.request(get_request("/b")).body, "GET /b ");
        EXPECT_EQ(c.request(get_request("/c")).body, "GET /c ");
        ASSERT_TRUE(secure.send(make_frame(1, 'e', std::string(50'000, 'z'))));
        EXPECT_EQ(next_frame(secure).second, "e" + std::string(50'000, 'z'));
    }
    EXPECT_EQ(server.connection_count(), 4u);
    const int64_t start_ms = test_now_ms();
    server.stop(kPatienceMs);
    EXPECT_LT(test_now_ms() - start_ms, kPatienceMs / 2);
    EXPECT_TRUE(a.at_end());
    EXPECT_TRUE(b.at_end());
    SSL_CTX_free(context);
}

}  // namespace
}  // namespace orrery::net
