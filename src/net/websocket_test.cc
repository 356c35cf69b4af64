#include "net/websocket.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <random>
#include <thread>

#include "net/detail/test_frames.h"
#include "net/detail/websocket_frame.h"

namespace orrery::net {
namespace {

using detail::eventually;
using detail::get_request;
using detail::kPatienceMs;
using detail::Opcode;
using detail::ParkedRequests;
using detail::Reply;
using detail::start_server;
using detail::TestClient;
using detail::TestHandler;
using detail::TestServerOptions;

constexpr std::string_view kUpgrade =
    "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Extensions: permessage-deflate\r\n";

/// A client's frame, masked.
std::string frame(Opcode opcode, std::string_view payload, bool final = true) {
    std::string bytes = detail::make_header(opcode, payload.size());
    if (!final) bytes[0] = static_cast<char>(bytes[0] & 0x7f);
    bytes[1] = static_cast<char>(bytes[1] | 0x80);
    const uint8_t mask[4] = {0x12, 0xf3, 0x00, 0x9b};
    std::string masked(payload);
    detail::unmask(masked.data(), masked.size(), mask);
    bytes.append(reinterpret_cast<const char*>(mask), 4);
    return bytes + masked;
}

struct Received {
    Opcode opcode = Opcode::kContinuation;
    std::string payload;
};

Received receive_frame(TestClient& client) {
    const std::string head = client.take(2);
    if (head.size() < 2) return {};
    size_t size = static_cast<uint8_t>(head[1]);
    EXPECT_EQ(size & 0x80, 0u) << "servers do not mask";
    EXPECT_EQ(head[0] & 0xf0, 0x80);
    const size_t length_bytes = size == 126 ? 2 : size == 127 ? 8 : 0;
    if (length_bytes > 0) {
        size = 0;
        for (const char c : client.take(length_bytes)) size = size << 8 | static_cast<uint8_t>(c);
    }
    return {static_cast<Opcode>(head[0] & 0x0f), client.take(size)};
}

/// The code of the close frame that comes next; the connection ends behind it.
int close_code(TestClient& client) {
    const Received last = receive_frame(client);
    if (last.opcode != Opcode::kClose || last.payload.size() != 2) return 0;
    EXPECT_TRUE(client.at_end());
    return static_cast<uint8_t>(last.payload[0]) << 8 | static_cast<uint8_t>(last.payload[1]);
}

/// Echoes; "wait" stays under way until the test lets it go; "close" closes.
class Echo final : public ChannelHandler {
public:
    explicit Echo(ParkedRequests& waiting) : waiting_(waiting) {}
    void on_message(std::string_view message, MessageKind kind, ChannelRequest request) override {
        if (message == "wait") {
            waiting_.put(0, std::move(request));
            return;
        }
        if (message == "trust") request.peer().trust(1'000'000);
        request.peer().send(std::string(message), kind);
        if (message == "close") request.peer().close();
    }

private:
    ParkedRequests& waiting_;
};

class WebSocket : public ::testing::Test {
protected:
    WebSocket()
        : handler_([this](std::unique_ptr<HttpExchange> exchange) {
              if (!asks_for_websocket(exchange->request) && exchange->request.target != "/force")
                  return TestHandler::echo(std::move(exchange));
              accept_websocket(
                  std::move(exchange),
                  [this](const Peer&) { return std::make_unique<Echo>(waiting_); }, limits_);
          }) {}

    void open(TestClient& client) {
        const Reply reply = client.request(get_request("/", kUpgrade));
        EXPECT_EQ(reply.status, 101);
        EXPECT_EQ(reply.head.substr(0, 34), "HTTP/1.1 101 Switching Protocols\r\n");
        EXPECT_TRUE(reply.has("sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        EXPECT_TRUE(reply.has("upgrade: websocket"));
        EXPECT_TRUE(reply.has("connection: upgrade"));
        EXPECT_FALSE(reply.has_header("content-length"));
        EXPECT_FALSE(reply.has_header("sec-websocket-extensions"));
    }

    ChannelLimits limits_;
    TestServerOptions options_;
    ParkedRequests waiting_;
    TestHandler handler_;
};

TEST_F(WebSocket, MessagesOfManySizesAndKinds) {
    limits_.message_bytes_max = 1'000'000;
    auto server = start_server(handler_, options_);
    TestClient client(server->port());
    EXPECT_EQ(client.request(get_request("/plain")).body, "GET /plain ");
    open(client);
    for (const size_t size : {0u, 1u, 125u, 126u, 127u, 65'535u, 65'536u, 1'000'000u}) {
        for (const Opcode kind : {Opcode::kText, Opcode::kBinary}) {
            const std::string text(size, 'x');
            ASSERT_TRUE(client.send(frame(kind, text)));
            const Received echoed = receive_frame(client);
            EXPECT_EQ(echoed.opcode, kind);
            EXPECT_TRUE(echoed.payload == text) << size;
        }
    }
    for (const char c : frame(Opcode::kText, "slow")) ASSERT_TRUE(client.send({&c, 1}));
    EXPECT_EQ(receive_frame(client).payload, "slow");
}

TEST_F(WebSocket, FirstMessageMayComeWithTheHandshake) {
    auto server = start_server(handler_, options_);
    TestClient client(server->port());
    ASSERT_TRUE(client.send(get_request("/", kUpgrade) + frame(Opcode::kText, "early")));
    EXPECT_EQ(client.reply().status, 101);
    EXPECT_EQ(receive_frame(client).payload, "early");
}

TEST_F(WebSocket, PiecesWithControlFramesBetweenThem) {
    auto server = start_server(handler_, options_);
    TestClient client(server->port());
    open(client);
    const std::string heart = "\xe2\x99\xa5";  // cut inside a character
    ASSERT_TRUE(client.send(frame(Opcode::kText, "a" + heart.substr(0, 1), false) +
                            frame(Opcode::kPing, "p") +
                            frame(Opcode::kContinuation, heart.substr(1), false) +
                            frame(Opcode::kPong, "unasked") + frame(Opcode::kContinuation, "b")));
    const Received pong = receive_frame(client);
    EXPECT_EQ(pong.opcode, Opcode::kPong);
    EXPECT_EQ(pong.payload, "p");
    const Received echoed = receive_frame(client);
    EXPECT_EQ(echoed.opcode, Opcode::kText);
    EXPECT_EQ(echoed.payload, "a" + heart + "b");
    ASSERT_TRUE(client.send(frame(Opcode::kPing, std::string(125, 'p'))));
    EXPECT_EQ(receive_frame(client).payload, std::string(125, 'p'));
}

TEST_F(WebSocket, WhatIsWrongHasItsCloseCode) {
    limits_.message_bytes_max = 1000;
    auto server = start_server(handler_, options_);
    std::string unmasked = detail::make_header(Opcode::kText, 1) + "x";
    std::string extension = frame(Opcode::kText, "x");
    extension[0] = static_cast<char>(extension[0] | 0x40);
    std::string long_form("\x82\xfe\x00\x05\x01\x02\x03\x04hello", 13);
    std::string negative("\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02\x03\x04", 14);
    const std::string half = frame(Opcode::kText, "half", false);
    const std::vector<std::pair<std::string, int>> cases = {
        {unmasked, 1002},
        {extension, 1002},
        {long_form, 1002},
        {negative, 1002},
        {frame(static_cast<Opcode>(3), ""), 1002},
        {frame(static_cast<Opcode>(0xB), ""), 1002},
        {frame(Opcode::kPing, "", false), 1002},
        {frame(Opcode::kPing, std::string(126, 'p')), 1002},
        {frame(Opcode::kContinuation, "x"), 1002},
        {half + frame(Opcode::kText, "x"), 1002},
        {frame(Opcode::kText, "\xc3\x28"), 1007},
        {half + frame(Opcode::kContinuation, "\xff"), 1007},
        {frame(Opcode::kBinary, std::string(1001, 'x')).substr(0, 20), 1009},
        {half + frame(Opcode::kContinuation, std::string(997, 'x')), 1009},
        {frame(Opcode::kClose, ""), 1000},
        {frame(Opcode::kClose, "\x03\xe9 bye"), 1001},
        {frame(Opcode::kClose, std::string("\x0b\xb8", 2)), 3000},
        {frame(Opcode::kClose, "x"), 1002},
        {frame(Opcode::kClose, std::string("\x03\xed", 2)), 1002},  // 1005 is never sent
        {frame(Opcode::kClose, "\x03\xe8\xff"), 1007},
        {frame(Opcode::kText, "close"), 1000},
    };
    for (const auto& [wire, code] : cases) {
        TestClient client(server->port());
        open(client);
        ASSERT_TRUE(client.send(wire));
        if (wire == cases.back().first) {
            EXPECT_EQ(receive_frame(client).payload, "close");
        }
        EXPECT_EQ(close_code(client), code) << wire.size() << " bytes";
    }
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
}

TEST_F(WebSocket, LimitsDifferAfterTrustAndTimesAreKept) {
    limits_.message_bytes_max = 10;
    limits_.trust_timeout_ms = 150;
    auto server = start_server(handler_, options_);
    EXPECT_TRUE(eventually([&] {
        const int64_t start_ms = detail::test_now_ms();
        TestClient client(server->port());
        open(client);
        EXPECT_TRUE(client.send(frame(Opcode::kText, "trust")));
        const bool trusted = receive_frame(client).payload == "trust";
        if (detail::test_now_ms() - start_ms > 75) return false;  // the machine was busy
        EXPECT_TRUE(trusted);
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        EXPECT_TRUE(client.send(frame(Opcode::kText, std::string(500'000, 'x'))));
        EXPECT_EQ(receive_frame(client).payload.size(), 500'000u);
        return true;
    }));
    TestClient silent(server->port());
    open(silent);
    EXPECT_EQ(close_code(silent), 1008);
    TestClient half(server->port());
    open(half);
    ASSERT_TRUE(half.send(frame(Opcode::kText, "x", false)));
    EXPECT_EQ(close_code(half), 1008);
}

TEST_F(WebSocket, StopSaysGoodbyeBehindTheLastAnswer) {
    auto server = start_server(handler_, options_);
    TestClient busy(server->port()), idle(server->port());
    open(busy);
    open(idle);
    ASSERT_TRUE(busy.send(frame(Opcode::kText, "wait") + frame(Opcode::kText, "seen")));
    EXPECT_EQ(receive_frame(busy).payload, "seen");
    auto requests = waiting_.take(1);
    std::thread stopper([&] { server->stop(kPatienceMs); });
    EXPECT_EQ(close_code(idle), 1001);
    requests[0].second.peer().send("late", MessageKind::kText);
    requests.clear();
    EXPECT_EQ(receive_frame(busy).payload, "late");
    EXPECT_EQ(close_code(busy), 1001);
    stopper.join();
}

TEST_F(WebSocket, WrongHandshakesGetAnHttpAnswer) {
    auto server = start_server(handler_, options_);
    const std::string good(kUpgrade);
    const auto without = [&](std::string_view name, std::string_view instead) {
        std::string headers = good;
        const size_t at = headers.find(name);
        return headers.replace(at, headers.find('\n', at) + 1 - at, instead);
    };
    const std::string old = without("Sec-WebSocket-Version", "Sec-WebSocket-Version: 8\r\n");
    const std::vector<std::pair<std::string, int>> cases = {
        {get_request("/", old), 426},
        {get_request("/force"), 426},
        {get_request("/", without("Sec-WebSocket-Version", "")), 426},
        {get_request("/", without("Sec-WebSocket-Key", "")), 400},
        {get_request("/", without("Sec-WebSocket-Key", "Sec-WebSocket-Key: c2hvcnQ=\r\n")), 400},
        {get_request("/", good + "Content-Length: 1\r\n") + "x", 400},
        {"PUT / HTTP/1.1\r\nHost: a\r\n" + good + "\r\n", 400},
        {get_request("/", without("Connection", "")), 200},
    };
    for (const auto& [wire, status] : cases) {
        TestClient client(server->port());
        const Reply reply = client.request(wire);
        EXPECT_EQ(reply.status, status) << wire;
        EXPECT_EQ(reply.has("sec-websocket-version: 13"), status == 426);
        EXPECT_EQ(client.request(get_request("/after")).status, 200);
    }
    // A client that does not keep the connection cannot switch protocols on it.
    for (const std::string& wire :
         {get_request("/", without("Connection", "Connection: close, Upgrade\r\n")),
          "GET / HTTP/1.0\r\n" + good + "\r\n"}) {
        TestClient client(server->port());
        const Reply reply = client.request(wire);
        EXPECT_EQ(reply.status, 503);
        EXPECT_TRUE(reply.has("x-refused: 503"));
        EXPECT_FALSE(reply.has_header("upgrade"));
        EXPECT_TRUE(client.at_end());
    }
}

TEST_F(WebSocket, PiecesOfAnySizeGiveTheSameMessages) {
    auto server = start_server(handler_, options_);
    std::minstd_rand random(7);
    TestClient client(server->port());
    open(client);
    std::string wire;
    std::vector<std::string> messages;
    for (int i = 0; i < 300; ++i) {
        const std::string message(random() % 3000, static_cast<char>('a' + random() % 26));
        Opcode opcode = Opcode::kBinary;
        size_t at = 0;
        for (; random() % 3 == 0 && at < message.size(); opcode = Opcode::kContinuation) {
            const size_t piece = random() % (message.size() - at + 1);
            wire += frame(opcode, std::string_view(message).substr(at, piece), false);
            at += piece;
        }
        wire += frame(opcode, std::string_view(message).substr(at));
        messages.push_back(message);
    }
    std::thread sender([&] {
        for (size_t at = 0, piece; at < wire.size(); at += piece) {
            piece = std::min<size_t>(1 + random() % 5000, wire.size() - at);
            if (!client.send(std::string_view(wire).substr(at, piece))) return;
        }
    });
    for (const std::string& message : messages) {
        const Received echoed = receive_frame(client);
        ASSERT_EQ(echoed.opcode, Opcode::kBinary);
        ASSERT_EQ(echoed.payload, message);
    }
    sender.join();
}

TEST_F(WebSocket, NonsenseEndsOrWaits) {
    auto server = start_server(handler_, options_);
    std::minstd_rand random(11);
    for (int round = 0; round < 200; ++round) {
        TestClient client(server->port());
        open(client);
        std::string wire = frame(Opcode::kText, "good");
        // Mostly what a client could have sent, with a few bytes changed.
        for (int i = 0; i < 5; ++i)
            wire += frame(Opcode::kBinary, std::string(random() % 200, 'x'));
        for (unsigned i = random() % 8; i > 0; --i)
            wire[10 + random() % (wire.size() - 10)] = static_cast<char>(random());
        client.send(wire);
        EXPECT_EQ(receive_frame(client).payload, "good");
        client.end_sending();
        while (client.receive()) {
        }
    }
    EXPECT_TRUE(eventually([&] { return server->connection_count() == 0; }));
}

TEST_F(WebSocket, OverTls) {
    auto identity = TlsIdentity::create_in_memory({});
    ASSERT_TRUE(identity.ok());
    options_.tls = identity->get();
    auto server = start_server(handler_, options_);
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    TestClient client(server->port());
    ASSERT_TRUE(client.start_tls(context));
    open(client);
    ASSERT_TRUE(client.send(frame(Opcode::kText, std::string(50'000, 's'))));
    EXPECT_EQ(receive_frame(client).payload, std::string(50'000, 's'));
    ASSERT_TRUE(client.send(frame(Opcode::kClose, "")));
    EXPECT_EQ(close_code(client), 1000);
    SSL_CTX_free(context);
}

TEST(WebSocketFrame, HeadersInPieces) {
    for (const size_t size : {0u, 125u, 126u, 65'535u, 65'536u}) {
        const std::string whole = frame(Opcode::kBinary, std::string(size, 'x'));
        detail::FrameHeader header;
        const size_t header_bytes = whole.size() - size;
        for (size_t cut = 0; cut < header_bytes; ++cut)
            EXPECT_EQ(detail::read_header(std::string_view(whole).substr(0, cut), header),
                      detail::HeaderRead::kNeedMore);
        ASSERT_EQ(detail::read_header(whole, header), detail::HeaderRead::kWhole);
        EXPECT_EQ(header.header_bytes, header_bytes);
        EXPECT_EQ(header.payload_bytes, size);
        EXPECT_TRUE(header.final);
    }
}

TEST(WebSocketFrame, MasksOfAnyLength) {
    const uint8_t mask[4] = {1, 2, 4, 8};
    for (size_t size = 0; size < 40; ++size) {
        std::string bytes(size, 'a');
        detail::unmask(bytes.data(), bytes.size(), mask);
        for (size_t i = 0; i < size; ++i)
            ASSERT_EQ(bytes[i], static_cast<char>('a' ^ mask[i % 4])) << size;
    }
}

}  // namespace
}  // namespace orrery::net
