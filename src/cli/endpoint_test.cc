#include "cli/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace orrery::cli {
namespace {

using ::testing::HasSubstr;

std::map<std::string, std::string> variables;
std::string test_environment(const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
}

class EndpointTest : public ::testing::Test {
protected:
    void SetUp() override { variables.clear(); }
    static Result<ConnectionSettings> resolve(const ConnectionFlags& flags) {
        return resolve_connection(flags, test_environment);
    }
};

TEST_F(EndpointTest, ReadsAddresses) {
    const auto plain = parse_endpoint("http://127.0.0.1:8081/");
    ASSERT_TRUE(plain.ok());
    EXPECT_FALSE(plain->tls);
    EXPECT_EQ(plain->text(), "http://127.0.0.1:8081/");
    const auto azure = parse_endpoint("https://name.documents.azure.com");
    ASSERT_TRUE(azure.ok());
    EXPECT_TRUE(azure->tls);
    EXPECT_EQ(azure->port, 443);
    const auto six = parse_endpoint("https://[::1]:9000");
    ASSERT_TRUE(six.ok());
    EXPECT_EQ(six->authority(), "[::1]:9000");
    EXPECT_TRUE(six->is_loopback());
    EXPECT_EQ(parse_endpoint("localhost:5")->port, 5);
}

TEST_F(EndpointTest, RefusesWhatIsNoAddress) {
    for (const char* text : {"", "http://", "ftp://x", "http://x/dbs", "http://x:0",
                             "http://x:70000", "http://x:", "http://x:8o81", "http://[::1",
                             "http://[::1]x", "http://a b", "http://user@x"}) {
        const auto endpoint = parse_endpoint(text);
        ASSERT_FALSE(endpoint.ok()) << text;
        EXPECT_THAT(endpoint.error().message, HasSubstr("Write it as")) << text;
    }
}

TEST_F(EndpointTest, DefaultsToTheLocalServer) {
    const auto settings = resolve({});
    ASSERT_TRUE(settings.ok());
    EXPECT_EQ(settings->endpoint.text(), "http://127.0.0.1:8081/");
    EXPECT_EQ(settings->key.size(), 64u);
    variables["ORRERY_PORT"] = "9001";
    EXPECT_EQ(resolve({})->endpoint.port, 9001);
}

TEST_F(EndpointTest, TheWellKnownKeyStaysOnLoopback) {
    const auto settings = resolve({.endpoint = "https://name.documents.azure.com"});
    ASSERT_FALSE(settings.ok());
    EXPECT_THAT(settings.error().message, HasSubstr("ORRERY_KEY"));
    EXPECT_TRUE(resolve({.endpoint = "https://name.documents.azure.com", .key = "AAAA"}).ok());
    EXPECT_TRUE(resolve({.endpoint = "http://localhost:1"}).ok());
}

TEST_F(EndpointTest, ReadsConnectionStrings) {
    const auto settings =
        resolve({.connection_string = "AccountEndpoint=https://a.example:444/;AccountKey=QUJD;"});
    ASSERT_TRUE(settings.ok());
    EXPECT_EQ(settings->endpoint.authority(), "a.example:444");
    EXPECT_EQ(settings->key, "ABC");
    EXPECT_FALSE(settings->insecure);
    EXPECT_TRUE(resolve({.connection_string = "AccountKey=QUI=;AccountEndpoint=http://"
                                              "x;DisableServerCertificateValidation=True"})
                    ->insecure);
    EXPECT_THAT(resolve({.connection_string = "AccountEndpoint=http://x"}).error().message,
                HasSubstr("AccountKey"));
    EXPECT_THAT(
        resolve({.connection_string = "AccountEndpoint=http://x;AccountKey=QUI=;Colour=red"})
            .error()
            .message,
        HasSubstr("Colour"));
    EXPECT_FALSE(resolve({.endpoint = "http://x",
                          .connection_string = "AccountEndpoint=http://x;AccountKey=QUI="})
                     .ok());
}

TEST_F(EndpointTest, FlagsWinOverTheEnvironment) {
    variables["ORRERY_CONNECTION_STRING"] = "AccountEndpoint=https://env.example/;AccountKey=QUJD;";
    EXPECT_EQ(resolve({})->endpoint.host, "env.example");
    EXPECT_EQ(resolve({.endpoint = "http://localhost:2"})->endpoint.port, 2);
    variables["ORRERY_ENDPOINT"] = "http://127.0.0.1:3";
    EXPECT_EQ(resolve({})->endpoint.port, 3);
}

TEST_F(EndpointTest, SaysWhatIsWrongWithKeyAndAuthority) {
    EXPECT_THAT(resolve({.key = "not base64!"}).error().message, HasSubstr("base64"));
    EXPECT_THAT(resolve({.ca = "/nowhere/ca.pem"}).error().message, HasSubstr("/nowhere/ca.pem"));
    EXPECT_THAT(resolve({.ca = "/tmp"}).error().message, HasSubstr("tls/ca.pem"));
}

}  // namespace
}  // namespace orrery::cli
