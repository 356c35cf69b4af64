#include "base/replaceable_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

namespace orrery {
namespace {

/// A task that is stuck until it is let go.
class Stuck {
public:
    explicit Stuck(ReplaceablePool& pool) {
        pool.post([this] {
            seat_.set_value(&ReplaceablePool::this_seat());
            free_.get_future().wait();
            priority_ = getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()));
            thread_ = std::this_thread::get_id();
            back_.set_value();
        });
    }
    ReplaceablePool::Seat& seat() { return *seat_.get_future().get(); }
    void let_go() {
        free_.set_value();
        back_.get_future().wait();
    }
    int priority() const { return priority_; }
    std::thread::id thread() const { return thread_; }

private:
    std::promise<ReplaceablePool::Seat*> seat_;
    std::promise<void> free_;
    std::promise<void> back_;
    int priority_ = 0;
    std::thread::id thread_;
};

std::thread::id thread_of_next(ReplaceablePool& pool) {
    std::promise<std::thread::id> promise;
    auto id = promise.get_future();
    pool.post([&] { promise.set_value(std::this_thread::get_id()); });
    return id.get();
}

void wait_for_all(const ReplaceablePool& pool) {
    while (pool.given_up() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(ReplaceablePool, RunsAllTasksBeforeItStops) {
    std::atomic<int> ran{0};
    ReplaceablePool pool("test", 3);
    for (int i = 0; i < 1000; ++i) pool.post([&] { ++ran; });
    pool.stop();
    EXPECT_EQ(ran, 1000);
    pool.post([&] { ++ran; });
    pool.stop();
    EXPECT_EQ(ran, 1000);
}

TEST(ReplaceablePool, AnotherThreadTakesThePlaceOfOneThatIsGivenUp) {
    ReplaceablePool pool("test", 1);
    const std::thread::id first = thread_of_next(pool);
    Stuck stuck(pool);
    pool.give_up(stuck.seat());
    EXPECT_EQ(pool.given_up(), 1u);
    const std::thread::id second = thread_of_next(pool);
    EXPECT_NE(first, second);
    stuck.let_go();
    wait_for_all(pool);
    EXPECT_EQ(stuck.thread(), first);
    EXPECT_EQ(stuck.priority(), 19);
    // It has ended: there is one thread, as before.
    for (int i = 0; i < 100; ++i) EXPECT_EQ(thread_of_next(pool), second);
}

TEST(ReplaceablePool, MayLoseThreadAfterThread) {
    ReplaceablePool pool("test", 2);
    for (int round = 0; round < 20; ++round) {
        Stuck one(pool);
        Stuck two(pool);
        pool.give_up(one.seat());
        pool.give_up(two.seat());
        EXPECT_EQ(pool.given_up(), 2u);
        (void)thread_of_next(pool);
        one.let_go();
        two.let_go();
        wait_for_all(pool);
    }
}

TEST(ReplaceablePool, StopsWithoutThoseThatAreGivenUp) {
    std::atomic<bool> dropped{false};
    auto pool = std::make_unique<ReplaceablePool>("test", 1);
    Stuck stuck(*pool);
    ReplaceablePool::Seat& seat = stuck.seat();
    // Given up only while somebody waits for it.
    std::thread stop([&] { pool->stop(); });
    std::shared_ptr<void> mark(nullptr, [&](void*) { dropped = true; });
    pool->post([mark] {});
    mark.reset();
    pool->give_up(seat);
    stop.join();
    EXPECT_EQ(pool->given_up(), 1u);
    EXPECT_TRUE(dropped);
    std::thread free([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        stuck.let_go();
    });
    pool.reset();
    free.join();
}

}  // namespace
}  // namespace orrery
