#include "server/config_file.h"

#include <gmock/gmock.h>

namespace orrery::server {
namespace {

TEST(ConfigFile, ReadsNamesAndValues) {
    const auto settings = parse_settings(
        "# a comment\n"
        "port = 9000\r\n"
        "\n"
        "  memory\n"
        "key=\"abc==\"\n"
        "; another\n"
        "data = './with blank # and sign'",
        "x.conf");
    ASSERT_TRUE(settings.ok());
    std::vector<std::string> seen;
    for (const auto& setting : *settings)
        seen.push_back(std::to_string(setting.line) + " " + setting.name + "=" + setting.value);
    EXPECT_THAT(seen, testing::ElementsAre("2 port=9000", "4 memory=true",
                                           "5 key=abc==", "7 data=./with blank # and sign"));
}

TEST(ConfigFile, NamesTheLineThatIsWrong) {
    for (const std::string_view line : {"[serve]", "= 5", "two words = 1", "\"port\" = 1"}) {
        const auto settings = parse_settings("port = 1\n" + std::string(line), "x.conf");
        ASSERT_FALSE(settings.ok()) << line;
        EXPECT_THAT(settings.error().message, testing::HasSubstr("x.conf:2:"));
        EXPECT_THAT(settings.error().message, testing::HasSubstr(std::string(line)));
    }
}

TEST(ConfigFile, AMissingFileAndAFolderAreRefused) {
    for (const char* path : {"/nonexistent/x.conf", "/"}) {
        const auto settings = read_config_file(path);
        ASSERT_FALSE(settings.ok()) << path;
        EXPECT_THAT(settings.error().message, testing::HasSubstr(path));
    }
}

}  // namespace
}  // namespace orrery::server
