#include "server/config_file.h"

#include <fmt/format.h>

#include <fstream>

#include "base/errors.h"

namespace orrery::server {
namespace {

constexpr std::string_view kBlanks = " \t\r";
/// A file of options is short; a larger file was named by mistake.
constexpr size_t kConfigBytesMax = 1 << 20;

std::string_view trimmed(std::string_view text) {
    const size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string_view unquoted(std::string_view text) {
    const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
                        text.back() == text.front();
    return quoted ? text.substr(1, text.size() - 2) : text;
}

}  // namespace

Result<std::vector<Setting>> parse_settings(std::string_view text, const std::string& where) {
    std::vector<Setting> settings;
    size_t number = 0;
    while (!text.empty()) {
        const size_t end = text.find('\n');
        const std::string_view line = trimmed(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
        ++number;
        if (line.empty() || line.front() == '#' || line.front() == ';') continue;
        const size_t equals = line.find('=');
        const std::string_view name = trimmed(line.substr(0, equals));
        if (name.empty() || name.find_first_of(" \t[\"'") != std::string_view::npos)
            return errors::bad_request(
                fmt::format("{}:{}: expected a line 'name = value' with the name of an option of "
                            "'orrery serve', found '{}'.",
                            where, number, line));
        const std::string_view value =
            equals == std::string_view::npos ? "true" : unquoted(trimmed(line.substr(equals + 1)));
        settings.push_back({std::string(name), std::string(value), number});
    }
    return settings;
}

Result<std::vector<Setting>> read_config_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text(kConfigBytesMax + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad() || (!file.eof() && file.fail()) || !file.is_open())
        return errors::bad_request(fmt::format("Cannot read the configuration file {}.", path));
    text.resize(static_cast<size_t>(file.gcount()));
    if (text.size() > kConfigBytesMax)
        return errors::bad_request(
            fmt::format("The configuration file {} is larger than 1 MB.", path));
    return parse_settings(text, path);
}

}  // namespace orrery::server
