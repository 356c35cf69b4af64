#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <random>
#include <thread>

#include "net/detail/test_client.h"

namespace orrery::net {
namespace {

using detail::eventually;
using detail::get_request;
using detail::kPatienceMs;
using detail::Parked;
using detail::post_request;
using detail::Reply;
using detail::start_server;
using detail::test_now_ms;
using detail::TestClient;
using detail::TestHandler;
using detail::TestServerOptions;

/// Answers on its own threads, in random order.
class Workers {
public:
    explicit Workers(size_t count) {
        for (size_t i = 0; i < count; ++i) threads_.emplace_back([this, i] { run(i); });
    }
    ~Workers() { end(); }
    void end() {
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
        }
        changed_.notify_all();
        for (auto& thread : threads_) thread.join();
        threads_.clear();
    }
    void put(std::unique_ptr<HttpExchange> exchange) {
        {
            const std::lock_guard lock(mutex_);
            queue_.push_back(std::move(exchange));
        }
        changed_.notify_one();
    }

private:
    void run(size_t seed) {
        std::minstd_rand random(static_cast<unsigned>(seed + 1));
        for (;;) {
            std::unique_ptr<HttpExchange> exchange;
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [&] { return ended_ || !queue_.empty(); });
                if (queue_.empty()) return;
                std::swap(queue_[random() % queue_.size()], queue_.back());
                exchange = std::move(queue_.back());
                queue_.pop_back();
            }
            if (exchange->request.target.find("drop") == std::string_view::npos) {
                TestHandler::echo(std::move(exchange));
            }
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::unique_ptr<HttpExchange>> queue_;
    bool ended_ = false;
    std::vector<std::thread> threads_;
};

TEST(HttpServerThreads, AnswersFromOtherThreads) {
    Workers workers(3);
    std::atomic<int> turn{0};
    TestHandler handler([&](std::unique_ptr<HttpExchange> exchange) {
        if (++turn % 3 == 0) {
            TestHandler::echo(std::move(exchange));
        } else {
            workers.put(std::move(exchange));
        }
    });
    auto server = start_server(handler);
    std::vector<std::thread> clients;
    std::atomic<int> good{0};
    for (int c = 0; c < 8; ++c) {
        clients.emplace_back([&, c] {
            TestClient client(server->port());
            for (int i = 0; i < 200; ++i) {
                const std::string path = "/" + std::to_string(c) + "/" + std::to_string(i);
                // Every tenth time two at once, so that answers meet pipelined input.
                const bool two = i % 10 == 0;
                client.send(get_request(path) + (two ? post_request(path, "x") : ""));
                if (client.reply().body == "GET " + path + " ") ++good;
                if (two && client.reply().body != "POST " + path + " x") --good;
            }
        });
    }
    for (auto& client : clients) client.join();
    EXPECT_EQ(good.load(), 8 * 200);
    server->stop(1000);
}

/// Sends the exchange's echo and says on which thread.
class EchoTask final : public LoopTask {
public:
    EchoTask(std::unique_ptr<HttpExchange> exchange, std::atomic<std::thread::id>& thread)
        : exchange_(std::move(exchange)), thread_(thread) {}
    void run() override {
        thread_ = std::this_thread::get_id();
        TestHandler::echo(std::move(exchange_));
    }

private:
    std::unique_ptr<HttpExchange> exchange_;
    std::atomic<std::thread::id>& thread_;
};

void echo_on_loop(std::unique_ptr<HttpExchange> exchange, std::atomic<std::thread::id>& thread) {
    HttpExchange& target = *exchange;
    target.run_on_loop(std::make_unique<EchoTask>(std::move(exchange), thread));
}

TEST(HttpServerThreads, TasksRunOnTheLoopOfTheirConnection) {
    Parked parked;
    std::atomic<std::thread::id> handled;
    std::atomic<std::thread::id> ran;
    TestHandler handler([&](std::unique_ptr<HttpExchange> exchange) {
        handled = std::this_thread::get_id();
        if (exchange->request.target == "/now") {
            echo_on_loop(std::move(exchange), ran);
        } else {
            parked.put(std::move(exchange));
        }
    });
    auto server = start_server(handler);
    TestClient client(server->port());
    for (int i = 0; i < 100; ++i) {
        client.send(get_request("/later"));
        echo_on_loop(parked.take(), ran);
        EXPECT_EQ(client.reply().body, "GET /later ");
        EXPECT_EQ(ran.load(), handled.load());
        client.send(get_request("/now"));
        EXPECT_EQ(client.reply().body, "GET /now ");
        EXPECT_EQ(ran.load(), handled.load());
    }
    // A task that comes too late is dropped.
    client.send(get_request("/late"));
    auto late = parked.take();
    server->stop(0);
    ran = std::thread::id();
    echo_on_loop(std::move(late), ran);
    EXPECT_EQ(ran.load(), std::thread::id());
}

TEST(HttpServerThreads, BurstFromOneForeignThread) {
    Parked parked;
    TestHandler handler([&](std::unique_ptr<HttpExchange> e) { parked.put(std::move(e)); });
    auto server = start_server(handler);
    constexpr size_t kClients = 200;
    std::vector<std::unique_ptr<TestClient>> clients;
    for (size_t i = 0; i < kClients; ++i) {
        clients.push_back(std::make_unique<TestClient>(server->port()));
        ASSERT_TRUE(clients.back()->send(get_request("/" + std::to_string(i))));
    }
    std::vector<std::unique_ptr<HttpExchange>> all;
    for (size_t i = 0; i < kClients; ++i) all.push_back(parked.take());
    for (auto& exchange : all) TestHandler::echo(std::move(exchange));
    for (size_t i = 0; i < kClients; ++i) {
        EXPECT_EQ(clients[i]->reply().body, "GET /" + std::to_string(i) + " ");
    }
    EXPECT_EQ(server->connection_count(), kClients);
}

TEST(HttpServerThreads, AnswerGivenDuringAnotherRequestsCall) {
    // Both connections share the loop: the second's handler answers the first, then itself.
    std::mutex mutex;
    std::unique_ptr<HttpExchange> first;
    TestHandler handler([&](std::unique_ptr<HttpExchange> exchange) {
        const std::lock_guard lock(mutex);
        if (first == nullptr) {
            first = std::move(exchange);
            return;
        }
        TestHandler::echo(std::move(first));
        TestHandler::echo(std::move(exchange));
    });
    TestServerOptions options;
    options.loop_count = 1;
    auto server = start_server(handler, options);
    TestClient a(server->port()), b(server->port());
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(a.send(get_request("/a")));
        EXPECT_TRUE(eventually([&] {
            const std::lock_guard lock(mutex);
            return first != nullptr;
        }));
        EXPECT_EQ(b.request(get_request("/b")).body, "GET /b ");
        EXPECT_EQ(a.reply().body, "GET /a ");
    }
}

TEST(HttpServerThreads, ConnectionsAreSpreadOverLoops) {
    std::mutex mutex;
    std::vector<std::thread::id> seen;
    TestHandler handler([&](std::unique_ptr<HttpExchange> exchange) {
        {
            const std::lock_guard lock(mutex);
            seen.push_back(std::this_thread::get_id());
        }
        TestHandler::echo(std::move(exchange));
    });
    TestServerOptions options;
    options.loop_count = 3;
    auto server = start_server(handler, options);
    std::vector<std::unique_ptr<TestClient>> clients;
    for (int i = 0; i < 9; ++i) {
        clients.push_back(std::make_unique<TestClient>(server->port()));
        EXPECT_EQ(clients.back()->request(get_request("/")).status, 200);
    }
    std::sort(seen.begin(), seen.end());
    for (const auto id : seen) EXPECT_EQ(std::count(seen.begin(), seen.end(), id), 3);
}

TEST(HttpServerThreads, ClientThatLeavesCancelsTheExchange) {
    Parked parked;
    TestHandler handler([&](std::unique_ptr<HttpExchange> e) { parked.put(std::move(e)); });
    auto server = start_server(handler);
    for (const bool reset : {false, true}) {
        TestClient client(server->port());
        ASSERT_TRUE(client.send(post_request("/gone", std::string(20'000, 'x'))));
        auto exchange = parked.take();
        ASSERT_NE(exchange, nullptr);
        EXPECT_FALSE(exchange->cancelled());
        if (reset) {
            client.reset_connection();
        } else {
            client.close();
        }
        EXPECT_TRUE(eventually([&] { return exchange->cancelled(); }));
        EXPECT_EQ(exchange->request.target, "/gone");
        EXPECT_EQ(exchange->request.body, std::string(20'000, 'x'));
        TestHandler::echo(std::move(exchange));
        EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
    }
}

TEST(HttpServerThreads, ManyConnections) {
    Workers workers(2);
    TestHandler handler([&](std::unique_ptr<HttpExchange> e) { workers.put(std::move(e)); });
    auto server = start_server(handler);
    std::vector<std::unique_ptr<TestClient>> clients;
    for (int i = 0; i < 400; ++i) clients.push_back(std::make_unique<TestClient>(server->port()));
    for (int round = 0; round < 3; ++round) {
        for (size_t i = 0; i < clients.size(); ++i) {
            ASSERT_TRUE(clients[i]->send(get_request("/" + std::to_string(i))));
        }
        for (size_t i = 0; i < clients.size(); ++i) {
            ASSERT_EQ(clients[i]->reply().body, "GET /" + std::to_string(i) + " ");
        }
    }
    EXPECT_EQ(server->connection_count(), clients.size());
    clients.clear();
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
    server->stop(1000);
}

/// Answers of one round are sent together: some of their clients have left by then.
TEST(HttpServerThreads, PipelineBesideClientsThatLeave) {
    TestHandler handler;
    TestServerOptions options;
    options.loop_count = 1;
    auto server = start_server(handler, options);
    const uint16_t port = server->port();
    constexpr int kRequests = 3000;
    std::atomic<bool> done{false};
    std::vector<std::thread> leavers;
    for (unsigned seed = 1; seed <= 4; ++seed) {
        leavers.emplace_back([&, seed] {
            std::minstd_rand random(seed);
            while (!done) {
                TestClient client(port);
                for (unsigned i = random() % 8; i > 0; --i) client.send(get_request("/leave"));
                if (random() % 3 == 0) client.reset_connection();
                if (random() % 3 == 0) client.end_sending();
            }
        });
    }
    TestClient client(port);
    std::thread sender([&] {
        for (int i = 0; i < kRequests; ++i) {
            if (!client.send(get_request("/" + std::to_string(i)))) return;
        }
        client.end_sending();
    });
    int right = 0;
    while (right < kRequests && client.reply().body == "GET /" + std::to_string(right) + " ")
        ++right;
    EXPECT_EQ(right, kRequests);
    EXPECT_TRUE(client.at_end());
    done = true;
    sender.join();
    for (auto& leaver : leavers) leaver.join();
    client.close();
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
}

TEST(HttpServerStop, IdleServerStopsAtOnceAndRefusesConnections) {
    TestHandler handler;
    auto server = start_server(handler);
    TestClient idle(server->port());
    EXPECT_EQ(idle.request(get_request("/")).status, 200);
    const int64_t start_ms = test_now_ms();
    server->stop(kPatienceMs);
    server->stop(kPatienceMs);  // idempotent
    EXPECT_LT(test_now_ms() - start_ms, kPatienceMs / 2);
    EXPECT_TRUE(idle.at_end());
    EXPECT_EQ(server->connection_count(), 0u);
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_NE(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::close(fd);
}

TEST(HttpServerStop, RequestsInProgressAreFinished) {
    Parked parked;
    TestHandler handler(
        [&](std::unique_ptr<HttpExchange> e) { parked.put_unless_now(std::move(e)); });
    TestServerOptions options;
    options.loop_count = 1;
    auto server = start_server(handler, options);
    TestClient handled(server->port()), sending(server->port()), idle(server->port());
    ASSERT_TRUE(handled.send(get_request("/handled")));
    auto exchange = parked.take();
    const std::string wire = post_request("/sending", "0123456789");
    ASSERT_TRUE(sending.send(wire.substr(0, wire.size() - 5)));
    // Rounds of the loop, until it has read what was sent.
    for (int i = 0; i < 100; ++i) ASSERT_EQ(idle.request(get_request("/now")).status, 200);
    const int64_t start_ms = test_now_ms();
    std::thread stopper([&] { server->stop(kPatienceMs); });
    EXPECT_TRUE(idle.at_end());  // the stop has begun
    ASSERT_TRUE(sending.send(wire.substr(wire.size() - 5)));
    TestHandler::echo(std::move(exchange));
    TestHandler::echo(parked.take());
    const Reply reply = handled.reply();
    EXPECT_EQ(reply.body, "GET /handled ");
    EXPECT_TRUE(reply.has("connection: close"));
    EXPECT_EQ(sending.reply().body, "POST /sending 0123456789");
    stopper.join();
    EXPECT_LT(test_now_ms() - start_ms, kPatienceMs / 2);
}

TEST(HttpServerStop, AnswersThatAreHeldMeanwhileDoNotDelayIt) {
    std::promise<void> entered;
    std::promise<void> leave;
    TestHandler handler([&](std::unique_ptr<HttpExchange> e) {
        if (e->request.target == "/block") {
            entered.set_value();
            leave.get_future().wait();
        }
        TestHandler::echo(std::move(e));
    });
    auto server = start_server(handler);  // two loops; the first one accepts
    TestClient idle(server->port()), busy(server->port());
    ASSERT_EQ(idle.request(get_request("/")).status, 200);
    ASSERT_TRUE(busy.send(get_request("/block")));
    entered.get_future().wait();
    const int64_t start_ms = test_now_ms();
    std::thread stopper([&] { server->stop(kPatienceMs); });
    EXPECT_TRUE(idle.at_end());                                  // the stop has begun
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the busy loop has the word, too
    leave.set_value();
    EXPECT_EQ(busy.reply().body, "GET /block ");
    EXPECT_TRUE(busy.at_end());
    stopper.join();
    EXPECT_LT(test_now_ms() - start_ms, kPatienceMs / 2);
}

TEST(HttpServerStop, GraceEndsAndLateAnswersAreHarmless) {
    Parked parked;
    TestHandler handler([&](std::unique_ptr<HttpExchange> e) { parked.put(std::move(e)); });
    auto server = start_server(handler);
    TestClient client(server->port()), half(server->port()), dropped(server->port());
    ASSERT_TRUE(half.send("GET / HTTP/1.1\r\nHo"));
    ASSERT_TRUE(client.send(get_request("/stuck")));
    auto exchange = parked.take();
    ASSERT_TRUE(dropped.send(get_request("/dropped")));
    auto abandoned = parked.take();
    const int64_t start_ms = test_now_ms();
    server->stop(100);
    EXPECT_GE(test_now_ms() - start_ms, 95);
    EXPECT_TRUE(client.at_end());
    EXPECT_TRUE(half.at_end());
    EXPECT_TRUE(exchange->cancelled());
    server.reset();
    EXPECT_EQ(exchange->request.target, "/stuck");  // outlives the server
    TestHandler::echo(std::move(exchange));
    abandoned.reset();
}

TEST(HttpServerStop, UnderLoad) {
    for (int round = 0; round < 5; ++round) {
        Workers workers(2);
        TestHandler handler([&](std::unique_ptr<HttpExchange> e) { workers.put(std::move(e)); });
        auto server = start_server(handler);
        const uint16_t port = server->port();
        std::atomic<int> connected{0};
        std::atomic<int> answered{0};
        std::vector<std::thread> clients;
        for (int c = 0; c < 6; ++c) {
            clients.emplace_back([&, c] {
                TestClient client(port);
                ++connected;
                while (
                    client.send(get_request(c == 0 ? "/drop" : "/x") + post_request("/y", "z"))) {
                    if (client.reply().status == 0 || client.reply().status == 0) break;
                    ++answered;
                }
            });
        }
        EXPECT_TRUE(eventually([&] { return connected == 6 && answered > 50; }));
        server->stop(1000);
        if (round % 2 == 0) server.reset();  // answers still under way must not mind
        for (auto& client : clients) client.join();
        workers.end();
    }
}

}  // namespace
}  // namespace orrery::net
