#include "server/listeners.h"

#include <gmock/gmock.h>

#include "net/http_protocol.h"

namespace orrery::server {
namespace {

class Silent final : public net::HttpHandler {
public:
    void handle(std::unique_ptr<net::HttpExchange> exchange) override {
        net::HttpExchange::send(std::move(exchange));
    }
    void refuse(int, std::string_view, net::HttpResponse&) override {}
};

class Listeners : public ::testing::Test {
protected:
    ListenerPlan plan(const std::string& name, PortChoice port) {
        return {name, "http", port, net::http_protocol(handler_)};
    }
    Silent handler_;
    net::Server server_{{.loop_count = 1}};
};

TEST_F(Listeners, PortsThatAreOffAreNotOpened) {
    const auto endpoints = open_listeners(
        server_, {}, {plan("a", {.number = 0}), plan("b", {.off = true}), plan("c", {})});
    ASSERT_TRUE(endpoints.ok());
    ASSERT_EQ(endpoints->size(), 2u);
    EXPECT_EQ((*endpoints)[0].name, "a");
    EXPECT_EQ((*endpoints)[1].name, "c");
    EXPECT_NE((*endpoints)[0].port, 0);
    EXPECT_NE((*endpoints)[1].port, (*endpoints)[0].port);
}

TEST_F(Listeners, TakenPortIsAnErrorOnlyWhereItWasAskedFor) {
    net::Server other({.loop_count = 1});
    const auto taken = other.listen({}, net::http_protocol(handler_));
    ASSERT_TRUE(taken.ok());
    const auto without =
        open_listeners(server_, {}, {plan("a", {.number = *taken}), plan("b", {})});
    ASSERT_TRUE(without.ok());
    ASSERT_EQ(without->size(), 1u);
    EXPECT_EQ((*without)[0].name, "b");
    const auto refused =
        open_listeners(server_, {}, {plan("a", {.number = *taken, .required = true})});
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, ::testing::HasSubstr(std::to_string(*taken)));
}

TEST(PortChoice, IsANumberOrOff) {
    PortChoice choice;
    ASSERT_TRUE(lexical_cast("8902", choice));
    EXPECT_EQ(choice.number, 8902);
    EXPECT_TRUE(choice.required);
    EXPECT_FALSE(choice.off);
    ASSERT_TRUE(lexical_cast("0", choice));
    EXPECT_EQ(choice.number, 0);
    ASSERT_TRUE(lexical_cast("off", choice));
    EXPECT_TRUE(choice.off);
    for (const char* wrong : {"", "on", "-1", "65536", "80x", " 80"})
        EXPECT_FALSE(lexical_cast(wrong, choice)) << wrong;
}

}  // namespace
}  // namespace orrery::server
