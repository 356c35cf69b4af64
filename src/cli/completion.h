#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery::cli {

/// What a command line offers, for the completion of other shells.
struct OptionWord {
    std::string name;  ///< "--port"
    std::string help;
    bool takes_value = false;
    bool is_path = false;
    std::vector<std::string> choices;
};
struct CommandWord {
    std::string name;
    std::string help;
    std::vector<OptionWord> options;
    std::vector<std::string> choices;  ///< of its argument; empty: files
};

enum class ShellKind { kBash, kZsh, kFish };
/// The completion file of `program` for a shell.
std::string completion_file(ShellKind shell, std::string_view program,
                            const std::vector<CommandWord>& commands);

}  // namespace orrery::cli
