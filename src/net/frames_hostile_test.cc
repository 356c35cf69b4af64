#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <atomic>
#include <random>
#include <thread>

#include "net/detail/test_frames.h"

namespace orrery::net {
namespace {

using detail::eventually;
using detail::kPatienceMs;
using detail::make_frame;
using detail::next_frame;
using detail::ParkedRequests;
using detail::start_server;
using detail::test_frames;
using detail::test_now_ms;
using detail::TestClient;
using detail::TestServerOptions;

constexpr int64_t kShortMs = 150;

std::string refusal(FrameRefusal why) {
    return "!" + std::to_string(static_cast<int>(why));
}

std::string length_only(uint32_t length) {
    return std::string(reinterpret_cast<const char*>(&length), 4);
}

TEST(FramesHostile, LengthsThatAreWrongOrTooLargeEndTheConnection) {
    ParkedRequests parked;
    ChannelLimits limits;
    limits.message_bytes_max = 1000;
    auto server = start_server(test_frames(parked, limits));
    const std::vector<std::pair<std::string, FrameRefusal>> cases = {
        {length_only(0), FrameRefusal::kMalformed},
        {length_only(8), FrameRefusal::kMalformed},
        {length_only(1001), FrameRefusal::kTooLarge},
        {length_only(0x7fffffff), FrameRefusal::kTooLarge},
        {length_only(0xffffffff), FrameRefusal::kTooLarge},
    };
    for (const auto& [wire, why] : cases) {
        TestClient client(server->port());
        // One that is good and one that waits before it: the first is answered, the other given up.
        ASSERT_TRUE(client.send(make_frame(1, 'e', "ok") + make_frame(2, 'w') + wire));
        EXPECT_EQ(next_frame(client).second, "eok");
        EXPECT_EQ(next_frame(client).second, refusal(why));
        EXPECT_TRUE(client.at_end());
        auto requests = parked.take(1);
        client.close();
        EXPECT_TRUE(eventually([&] { return requests[0].second.peer().gone(); }));
        requests[0].second.peer().send(make_frame(2, 'w'));
    }
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
}

TEST(FramesHostile, LimitsDifferBeforeAndAfterTrust) {
    ParkedRequests parked;
    ChannelLimits limits;
    limits.message_bytes_max = 1000;
    auto server = start_server(test_frames(parked, limits));
    const std::string large = make_frame(2, 'e', std::string(100'000, 'x'));
    TestClient stranger(server->port());
    ASSERT_TRUE(stranger.send(large));
    EXPECT_EQ(next_frame(stranger).second, refusal(FrameRefusal::kTooLarge));
    TestClient friendly(server->port());
    ASSERT_TRUE(friendly.send(make_frame(1, 'l', "100009")));
    EXPECT_EQ(next_frame(friendly).second, "l");
    ASSERT_TRUE(friendly.send(large));
    EXPECT_EQ(next_frame(friendly).second.size(), 100'001u);
    ASSERT_TRUE(friendly.send(length_only(100'010)));
    EXPECT_EQ(next_frame(friendly).second, refusal(FrameRefusal::kTooLarge));
}

TEST(FramesHostile, WhoDoesNotSayWhoHeIsIsCutOff) {
    ParkedRequests parked;
    ChannelLimits limits;
    limits.trust_timeout_ms = kShortMs;
    auto server = start_server(test_frames(parked, limits));
    TestClient silent(server->port()), busy(server->port()), half(server->port());
    ASSERT_TRUE(half.send(make_frame(1, 'l', "1000").substr(0, 10)));
    ASSERT_TRUE(busy.send(make_frame(1, 'w')));
    EXPECT_EQ(next_frame(silent).second, refusal(FrameRefusal::kTooSlow));
    EXPECT_EQ(next_frame(busy).second, refusal(FrameRefusal::kTooSlow));
    EXPECT_EQ(next_frame(half).second, refusal(FrameRefusal::kTooSlow));
    EXPECT_TRUE(silent.at_end());
    EXPECT_TRUE(eventually([&] {
        TestClient known(server->port());
        const int64_t start_ms = test_now_ms();
        EXPECT_TRUE(known.send(make_frame(1, 'l', "1000")));
        const bool trusted = next_frame(known).second == "l";
        if (test_now_ms() - start_ms > kShortMs / 2) return false;  // the machine was busy
        EXPECT_TRUE(trusted);
        std::this_thread::sleep_for(std::chrono::milliseconds(2 * kShortMs));
        EXPECT_TRUE(known.send(make_frame(2, 'e')));
        EXPECT_EQ(next_frame(known).second, "e");
        return true;
    }));
}

TEST(FramesHostile, SlowSendersAreCutOff) {
    ParkedRequests parked;
    ChannelLimits limits;
    limits.message_timeout_ms = kShortMs;
    auto server = start_server(test_frames(parked, limits));
    TestClient client(server->port());
    std::atomic<bool> answered{false};
    // Trickling bytes does not extend the time.
    std::thread sender([&] {
        std::string slow = length_only(60'000);
        while (!answered && client.send(slow)) {
            slow = "a";
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    });
    EXPECT_EQ(next_frame(client).second, refusal(FrameRefusal::kTooSlow));
    answered = true;
    sender.join();
}

TEST(FramesHostile, IdleConnectionsEndButNotWhileSomethingIsUnderWay) {
    ParkedRequests parked;
    ChannelLimits limits;
    limits.idle_timeout_ms = kShortMs;
    auto server = start_server(test_frames(parked, limits));
    TestClient idle(server->port()), waiting(server->port());
    ASSERT_TRUE(idle.send(make_frame(1, 'l', "1000")));
    ASSERT_TRUE(waiting.send(make_frame(1, 'w')));
    auto requests = parked.take(1);
    requests[0].second.peer().trust(1000);
    EXPECT_EQ(next_frame(idle).second, "l");
    EXPECT_TRUE(idle.at_end());
    std::this_thread::sleep_for(std::chrono::milliseconds(2 * kShortMs));
    requests[0].second.peer().send(make_frame(1, 'w'));
    EXPECT_EQ(next_frame(waiting).second, "w");
    requests.clear();
    EXPECT_TRUE(waiting.at_end());
}

TEST(FramesHostile, ReaderThatStopsIsNotReadFromAndThenCutOff) {
    ParkedRequests parked;
    ChannelLimits limits;
    limits.output_pause_bytes = 100'000;
    TestServerOptions options;
    options.write_timeout_ms = kShortMs;
    auto server = start_server(test_frames(parked, limits), options);
    TestClient client(server->port(), 4096);
    // More than the kernel holds, and each asks for a megabyte: were all of them taken, the queue
    // would be above its limit.
    bool all_taken = true;
    for (uint32_t i = 0; i < 1000 && all_taken; ++i)
        all_taken = client.send(make_frame(i, 's', "1000" + std::string(50'000, ' ')));
    EXPECT_FALSE(all_taken);
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
}

TEST(FramesHostile, SlowReaderThatGoesOnGetsEverything) {
    ParkedRequests parked;
    ChannelLimits limits;
    limits.output_pause_bytes = 10'000;
    auto server = start_server(test_frames(parked, limits));
    TestClient client(server->port(), 4096);
    std::thread sender([&] {
        for (uint32_t i = 0; i < 3000; ++i)
            if (!client.send(make_frame(i, 's', "3"))) return;
    });
    for (uint32_t i = 0; i < 9000; ++i) {
        const auto [number, rest] = next_frame(client);
        ASSERT_EQ(number, i / 3);
        ASSERT_EQ(rest.size(), 1001u);
    }
    sender.join();
}

TEST(FramesHostile, WhoIsSentTooMuchUnaskedIsCutOff) {
    ParkedRequests parked;
    ChannelLimits limits;
    limits.output_bytes_max = 1'000'000;
    auto server = start_server(test_frames(parked, limits));
    TestClient client(server->port(), 4096);
    ASSERT_TRUE(client.send(make_frame(1, 'w')));
    auto requests = parked.take(1);
    const Peer peer = requests[0].second.peer();
    // The kernel takes some of it, then the queue fills.
    EXPECT_TRUE(eventually([&] {
        for (int i = 0; i < 100; ++i) peer.send(make_frame(1, 'p', std::string(10'000, 'p')));
        return peer.gone();
    }));
    EXPECT_LT(peer.unsent_bytes(), 1'100'000u);
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
}

TEST(FramesHostile, LargeMessagesShareABudget) {
    ParkedRequests parked;
    ChannelLimits limits;
    limits.message_bytes_max = 2'000'000;
    TestServerOptions options;
    options.loop_count = 1;
    options.large_request_bytes_max = 1'500'000;
    auto server = start_server(test_frames(parked, limits), options);
    const std::string wire = make_frame(1, 'e', std::string(1'000'000, 'x'));
    TestClient holder(server->port());
    ASSERT_TRUE(holder.send(std::string_view(wire).substr(0, wire.size() - 1)));
    // Rounds of the loop, until it has read what the holder sent.
    TestClient small(server->port());
    for (uint32_t i = 0; i < 100; ++i) {
        ASSERT_TRUE(small.send(make_frame(i, 'e')));
        ASSERT_EQ(next_frame(small).first, i);
    }
    EXPECT_TRUE(eventually([&] {
        TestClient other(server->port());
        other.send(wire);
        return next_frame(other).second == refusal(FrameRefusal::kNoMemory);
    }));
    ASSERT_TRUE(holder.send("x"));
    EXPECT_EQ(next_frame(holder).second.size(), 1'000'001u);
    ASSERT_TRUE(holder.send(wire));
    EXPECT_EQ(next_frame(holder).second.size(), 1'000'001u);
}

TEST(FramesHostile, ClientsLeaveAtEveryStage) {
    ParkedRequests parked;
    auto server = start_server(test_frames(parked));
    const std::string wire =
        make_frame(1, 'e', "0123456789") + make_frame(2, 'w') + make_frame(3, 's', "20");
    for (size_t cut = 0; cut <= wire.size(); ++cut) {
        TestClient client(server->port());
        ASSERT_TRUE(client.send(wire.substr(0, cut)));
        if (cut % 2 == 0) {
            client.close();
        } else {
            client.reset_connection();
        }
    }
    // Requests whose clients have gone are answered from another thread.
    std::atomic<bool> done{false};
    std::thread worker([&] {
        while (!done) {
            for (auto& [number, request] : parked.take(0))
                request.peer().send(make_frame(number, 'w'));
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    });
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
    done = true;
    worker.join();
    TestClient client(server->port());
    ASSERT_TRUE(client.send(make_frame(1, 'e', "x")));
    EXPECT_EQ(next_frame(client).second, "ex");
}

/// A protocol of one request at a time learns of it, too.
TEST(FramesHostile, ClientThatLeavesDuringItsOnlyRequestCountsAsGone) {
    ParkedRequests parked;
    ChannelLimits limits;
    limits.requests_max = 1;
    auto server = start_server(test_frames(parked, limits));
    for (const bool reset : {false, true}) {
        TestClient client(server->port());
        ASSERT_TRUE(client.send(make_frame(1, 'w') + make_frame(2, 'w')));
        auto requests = parked.take(1);
        EXPECT_FALSE(requests[0].second.peer().gone());
        if (reset) {
            client.reset_connection();
        } else {
            client.close();
        }
        EXPECT_TRUE(eventually([&] { return requests[0].second.peer().gone(); }));
        requests.clear();
        if (!reset) parked.take(1).clear();
        EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
    }
}

TEST(FramesHostile, StopFinishesWhatIsUnderWay) {
    ParkedRequests parked;
    auto server = start_server(test_frames(parked));
    TestClient idle(server->port()), busy(server->port()), half(server->port());
    ASSERT_TRUE(busy.send(make_frame(1, 'w')));
    ASSERT_TRUE(half.send(make_frame(1, 'e', "half").substr(0, 7)));
    auto requests = parked.take(1);
    const int64_t start_ms = test_now_ms();
    std::thread stopper([&] { server->stop(kPatienceMs); });
    EXPECT_TRUE(idle.at_end());
    EXPECT_TRUE(half.at_end());
    requests[0].second.peer().send(make_frame(1, 'w', "done"));
    requests.clear();
    EXPECT_EQ(next_frame(busy).second, "wdone");
    EXPECT_TRUE(busy.at_end());
    stopper.join();
    EXPECT_LT(test_now_ms() - start_ms, kPatienceMs / 2);
}

TEST(FramesHostile, LateAnswersAreHarmlessAfterTheServersEnd) {
    ParkedRequests parked;
    auto server = start_server(test_frames(parked));
    TestClient client(server->port());
    ASSERT_TRUE(client.send(make_frame(1, 'w') + make_frame(2, 'w')));
    auto requests = parked.take(2);
    server->stop(20);
    EXPECT_TRUE(client.at_end());
    EXPECT_TRUE(requests[0].second.peer().gone());
    requests[0].second.peer().send(make_frame(1, 'w'));
    server.reset();
    requests[1].second.peer().send(make_frame(2, 'w'));
    requests[1].second.peer().close();
}

TEST(FramesHostile, StopUnderLoad) {
    for (int round = 0; round < 5; ++round) {
        ParkedRequests parked;
        auto server = start_server(test_frames(parked));
        const uint16_t port = server->port();
        std::atomic<int> answered{0};
        std::atomic<bool> done{false};
        std::vector<std::thread> threads;
        for (unsigned seed = 1; seed <= 4; ++seed) {
            threads.emplace_back([&, seed] {
                std::minstd_rand random(seed);
                TestClient client(port);
                for (uint32_t i = 1; client.send(make_frame(i, random() % 2 == 0 ? 'w' : 'e')) &&
                                     next_frame(client).first == i;
                     ++i)
                    ++answered;
            });
        }
        std::thread worker([&] {
            while (!done)
                for (auto& [number, request] : parked.take(0))
                    request.peer().send(make_frame(number, 'w'));
        });
        EXPECT_TRUE(eventually([&] { return answered > 200; }));
        server->stop(1000);
        if (round % 2 == 0) server.reset();
        for (auto& thread : threads) thread.join();
        done = true;
        worker.join();
    }
}

class FramesHostileTls : public ::testing::Test {
protected:
    FramesHostileTls() {
        auto identity = TlsIdentity::create_in_memory({});
        EXPECT_TRUE(identity.ok());
        identity_ = std::move(identity).value();
        options_.tls = identity_.get();
        context_ = SSL_CTX_new(TLS_client_method());
    }
    ~FramesHostileTls() override { SSL_CTX_free(context_); }

    ParkedRequests parked_;
    std::unique_ptr<TlsIdentity> identity_;
    TestServerOptions options_;
    SSL_CTX* context_ = nullptr;
};

/// 0x16 0x03 0x00 0x00 is the length 790; a TLS record would go on with 0x01, 0x02 or 0x03.
TEST_F(FramesHostileTls, LengthsThatLookLikeTlsAtFirst) {
    auto server = start_server(test_frames(parked_), options_);
    for (const size_t size : {790u, 0x16u, 0x0116u}) {
        const std::string wire = make_frame(1, 'e', std::string(size - 9, 'x'));
        TestClient whole(server->port()), slow(server->port());
        ASSERT_TRUE(whole.send(wire));
        EXPECT_EQ(next_frame(whole).second.size(), size - 8);
        for (size_t i = 0; i < wire.size(); i += (i < 4 ? 1 : 400)) {
            ASSERT_TRUE(slow.send(std::string_view(wire).substr(i, i < 4 ? 1 : 400)));
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        EXPECT_EQ(next_frame(slow).second.size(), size - 8);
    }
}

TEST_F(FramesHostileTls, HandshakeByteByByte) {
    auto server = start_server(test_frames(parked_), options_);
    TestClient client(server->port());
    ASSERT_TRUE(client.start_tls(context_));
    for (const char c : make_frame(1, 'e', "secret")) ASSERT_TRUE(client.send({&c, 1}));
    EXPECT_EQ(next_frame(client).second, "esecret");
    ASSERT_TRUE(client.send(make_frame(1, 'w')));
    auto requests = parked_.take(1);
    EXPECT_TRUE(requests[0].second.peer().tls());
}

TEST_F(FramesHostileTls, GarbageAndSilenceEnd) {
    ChannelLimits limits;
    limits.trust_timeout_ms = kShortMs;
    auto server = start_server(test_frames(parked_, limits), options_);
    TestClient garbage(server->port());
    ASSERT_TRUE(garbage.send(std::string("\x16\x03\x01\x00\x05hello", 10) + std::string(100, 'x')));
    while (garbage.receive()) {
    }
    for (const size_t count : {1u, 2u, 3u}) {
        TestClient stalled(server->port());
        ASSERT_TRUE(stalled.send(std::string("\x16\x03\x01", count)));
        EXPECT_TRUE(stalled.at_end()) << count;
    }
    garbage.close();
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
}

TEST_F(FramesHostileTls, TlsOnAPortWithoutItIsAFrameThatIsTooLarge) {
    options_.tls = nullptr;
    auto server = start_server(test_frames(parked_), options_);
    TestClient client(server->port());
    EXPECT_FALSE(client.start_tls(context_));
}

TEST_F(FramesHostileTls, SlowReaderGetsEverything) {
    ChannelLimits limits;
    limits.output_pause_bytes = 10'000;
    auto server = start_server(test_frames(parked_, limits), options_);
    TestClient client(server->port(), 4096);
    ASSERT_TRUE(client.start_tls(context_));
    std::string wire;
    for (uint32_t i = 0; i < 100; ++i) wire += make_frame(i, 's', "30");
    ASSERT_TRUE(client.send(wire));
    for (uint32_t i = 0; i < 3000; ++i) ASSERT_EQ(next_frame(client).first, i / 30);
}

}  // namespace
}  // namespace orrery::net
