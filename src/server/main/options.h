#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "server/instance.h"

namespace orrery::server {

enum class Command { kServe, kCheck, kHealthcheck, kVersion, kClient, kExit };

/// The command line, environment and configuration file, read and checked.
struct CommandLine {
    Command command = Command::kExit;
    std::string program = "orrery";  ///< as it was called
    int exit_code = 0;               ///< kExit: help was shown (0) or the arguments are wrong
    InstanceOptions serve;
    bool container_log = false;  ///< print the ready lines that tools around the emulators wait for
    std::string log_level = "info";
    std::string check_folder;
    std::string probe_address = "127.0.0.1";
    uint16_t probe_port = 8081;
    std::vector<std::string> warnings;
    std::function<int()> client;  ///< kClient: runs the command and gives the exit code
};

/// Flags win over ORRERY_… variables, those over the configuration file, those over defaults.
CommandLine read_command_line(int argc, char** argv);

}  // namespace orrery::server
