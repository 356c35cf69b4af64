#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace orrery::log {
namespace {

spdlog::logger& logger() {
    static const std::shared_ptr<spdlog::logger> instance = [] {
        auto made = spdlog::stderr_logger_mt("orrery");
        made->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
        return made;
    }();
    return *instance;
}

}  // namespace

void set_level(Level level) {
    switch (level) {
        case Level::kDebug:
            logger().set_level(spdlog::level::debug);
            break;
        case Level::kInfo:
            logger().set_level(spdlog::level::info);
            break;
        case Level::kWarning:
            logger().set_level(spdlog::level::warn);
            break;
        case Level::kError:
            logger().set_level(spdlog::level::err);
            break;
    }
}

void debug(std::string_view line) {
    logger().debug("{}", line);
}
void info(std::string_view line) {
    logger().info("{}", line);
}
void warning(std::string_view line) {
    logger().warn("{}", line);
}
void error(std::string_view line) {
    logger().error("{}", line);
}

}  // namespace orrery::log
