#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "base/log.h"
#include "net/probe.h"
#include "server/instance.h"
#include "server/main/options.h"

namespace {

using namespace orrery;
using server::CommandLine;

constexpr const char* kVersion = "0.1.0";
constexpr int64_t kProbeTimeoutMs = 5000;
constexpr uint16_t kUsualPort = 8081;

void print_welcome(const CommandLine& line, const std::vector<server::Endpoint>& endpoints) {
    const std::string& bound = line.serve.bind_address;
    const std::string host = bound == "0.0.0.0" || bound == "::"    ? "localhost"
                             : bound.find(':') != std::string::npos ? "[" + bound + "]"
                                                                    : bound;
    const auto address = [&](const server::Endpoint& endpoint) {
        return fmt::format("{}://{}:{}/", endpoint.scheme, host, endpoint.port);
    };
    const std::string endpoint = address(endpoints.front());
    fmt::print("Orrery {} is ready at {} (TLS on the same port)\n", kVersion, endpoint);
    for (size_t i = 1; i < endpoints.size(); ++i)
        fmt::print("  {:<18} {}\n", endpoints[i].name, address(endpoints[i]));
    if (line.container_log) {
        fmt::print("Started\nNow listening on: {}\nSystem is now fully ready to accept requests\n",
                   endpoint);
    } else {
        fmt::print(
            "  key                {}\n"
            "  connection string  AccountEndpoint={};AccountKey={};\n"
            "  data               {}\n"
            "  try                {} shell{}      or connect an SDK: see README.md\n",
            line.serve.keys.primary, endpoint, line.serve.keys.primary,
            line.serve.data_folder.empty()
                ? "in memory, gone on exit"
                : line.serve.data_folder +
                      (line.serve.durability == storage::Durability::kSync
                           ? ""
                           : "  (relaxed: the last writes may be lost on power failure)"),
            line.program,
            endpoints.front().port == kUsualPort ? std::string() : " --endpoint " + endpoint);
    }
    std::fflush(stdout);
}

log::Level log_level(const std::string& name) {
    if (name == "debug") return log::Level::kDebug;
    if (name == "warning") return log::Level::kWarning;
    if (name == "error") return log::Level::kError;
    return log::Level::kInfo;
}

/// Connections and RocksDB's tables need more files than the usual soft limit of 1,024 allows.
void raise_file_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        log::warning("the limit of open files stays as it is; many connections may be refused");
}

int serve(const CommandLine& line) {
    log::set_level(log_level(line.log_level));
    raise_file_limit();
    for (const auto& warning : line.warnings) log::warning(warning);
    // Before any thread exists, so that all of them inherit the mask and only sigwait() sees these.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);

    auto instance = server::Instance::start(line.serve);
    if (!instance.ok()) {
        fmt::print(stderr, "orrery: {}\n", instance.error().message);
        return 1;
    }
    print_welcome(line, (*instance)->endpoints());
    int signal = 0;
    sigwait(&signals, &signal);
    const Status stopped = (*instance)->stop();
    if (!stopped.ok()) fmt::print(stderr, "orrery: {}\n", stopped.error().message);
    const int code = stopped.ok() ? 0 : 1;
    if (const size_t stuck = (*instance)->stuck(); stuck > 0) {
        log::warning("stopped while " + std::to_string(stuck) + " script(s) could not be ended");
        std::fflush(nullptr);
        // Nothing may be destroyed that their threads still use.
        _exit(code);
    }
    return code;
}

int check(const CommandLine& line) {
    const auto findings = server::check_data_folder(line.check_folder);
    if (!findings.ok()) {
        fmt::print(stderr, "orrery: {}\n", findings.error().message);
        return 2;
    }
    for (const auto& finding : *findings) fmt::print("{}\n", finding);
    if (!findings->empty()) {
        fmt::print(stderr, "orrery: {} finding(s) in {}\n", findings->size(), line.check_folder);
        return 1;
    }
    fmt::print("{}: checksums are right; items, ids, index and log agree\n", line.check_folder);
    return 0;
}

int healthcheck(const CommandLine& line) {
    const auto status = net::probe(line.probe_address, line.probe_port, "/ready", kProbeTimeoutMs);
    if (!status.ok()) {
        fmt::print(stderr, "orrery: {}\n", status.error().message);
        return 1;
    }
    if (*status != 200) {
        fmt::print(stderr, "orrery: the server answered {} at /ready\n", *status);
        return 1;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const CommandLine line = server::read_command_line(argc, argv);
    switch (line.command) {
        case server::Command::kServe:
            return serve(line);
        case server::Command::kCheck:
            return check(line);
        case server::Command::kHealthcheck:
            return healthcheck(line);
        case server::Command::kVersion:
            fmt::print("orrery {}\n", kVersion);
            return 0;
        case server::Command::kClient:
            return line.client();
        case server::Command::kExit:
            return line.exit_code;
    }
    return 1;
}
