#pragma once

#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/detail/test_client.h"
#include "net/frames.h"

/// For net's own tests: a small binary protocol as a head would write it. A frame is its length
/// (4 bytes, little-endian, with itself), the request's number (4 bytes), an operation (1 byte) and
/// a text. Answers carry the number of what they answer.
namespace orrery::net::detail {

inline std::string make_frame(uint32_t number, char operation, std::string_view text = "") {
    const auto length = static_cast<uint32_t>(9 + text.size());
    std::string frame(9, operation);
    std::memcpy(frame.data(), &length, 4);
    std::memcpy(frame.data() + 4, &number, 4);
    return frame.append(text);
}

inline std::optional<size_t> frame_bytes(std::string_view received) {
    if (received.size() < 4) return 9;
    uint32_t length = 0;
    std::memcpy(&length, received.data(), 4);
    if (length < 9) return std::nullopt;
    return length;
}

inline std::string frame_refusal(FrameRefusal why) {
    return make_frame(0, '!', std::to_string(static_cast<int>(why)));
}

inline constexpr FrameFormat kTestFormat{.bytes = frame_bytes, .refusal = frame_refusal};

/// The number and the rest of the next frame.
inline std::pair<uint32_t, std::string> next_frame(TestClient& client) {
    const std::string head = client.take(8);
    if (head.size() < 8) return {0, "the connection ended"};
    uint32_t length = 0, number = 0;
    std::memcpy(&length, head.data(), 4);
    std::memcpy(&number, head.data() + 4, 4);
    return {number, client.take(length - 8)};
}

/// Requests that wait for the test, with their numbers.
class ParkedRequests {
public:
    void put(uint32_t number, ChannelRequest request) {
        const std::lock_guard lock(mutex_);
        requests_.emplace_back(number, std::move(request));
    }
    size_t count() {
        const std::lock_guard lock(mutex_);
        return requests_.size();
    }
    /// All that are there once there are `count`.
    std::vector<std::pair<uint32_t, ChannelRequest>> take(size_t count) {
        EXPECT_TRUE(eventually([&] { return this->count() >= count; }));
        const std::lock_guard lock(mutex_);
        return std::exchange(requests_, {});
    }

private:
    std::mutex mutex_;
    std::vector<std::pair<uint32_t, ChannelRequest>> requests_;
};

/// e: echo · w: wait for the test · l: log in, the text is the new limit · s: send so many frames ·
/// c: close · t: throw
class TestFrames final : public ChannelHandler {
public:
    TestFrames(const Peer& peer, ParkedRequests& parked) : peer_(peer), parked_(parked) {}

    void on_message(std::string_view message, MessageKind, ChannelRequest request) override {
        uint32_t number = 0;
        std::memcpy(&number, message.data() + 4, 4);
        const std::string text(message.substr(9));
        switch (message[8]) {
            case 'e':
                return peer_.send(make_frame(number, 'e', text));
            case 'w':
                return parked_.put(number, std::move(request));
            case 'l':
                peer_.trust(std::stoul(text));
                return peer_.send(make_frame(number, 'l'));
            case 's':
                for (int i = 0; i < std::stoi(text); ++i)
                    peer_.send(make_frame(number, 's', std::string(1000, 's')));
                return;
            case 'c':
                peer_.send(make_frame(number, 'c'));
                return peer_.close();
            case 't':
                throw std::runtime_error("handler failed");
            default:
                return;
        }
    }

private:
    const Peer peer_;
    ParkedRequests& parked_;
};

inline ProtocolFactory test_frames(ParkedRequests& parked, const ChannelLimits& limits = {}) {
    return frame_protocol(
        kTestFormat,
        [&parked](const Peer& peer) { return std::make_unique<TestFrames>(peer, parked); }, limits);
}

}  // namespace orrery::net::detail
