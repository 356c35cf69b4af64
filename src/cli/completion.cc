#include "cli/completion.h"

#include <fmt/format.h>

namespace orrery::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
    std::string out;
    for (const auto& word : words) out += (out.empty() ? "" : " ") + word;
    return out;
}

/// For text inside single quotes.
std::string quoted(std::string_view text) {
    std::string out;
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out;
}

/// zsh reads brackets and colons in descriptions.
std::string zsh_text(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
        out += c;
    }
    return quoted(out);
}

std::string bash(std::string_view program, const std::vector<CommandWord>& commands) {
    std::vector<std::string> names;
    std::string cases;
    for (const CommandWord& command : commands) {
        names.push_back(command.name);
        std::vector<std::string> options;
        std::string values;
        for (const OptionWord& option : command.options) {
            options.push_back(option.name);
            if (!option.takes_value) continue;
            values += option.choices.empty() ? fmt::format(
                                                   "                {}) COMPREPLY=($(compgen -f -- "
                                                   "\"$current\")); return ;;\n",
                                                   option.name)
                                             : fmt::format(
                                                   "                {}) COMPREPLY=($(compgen -W "
                                                   "'{}' -- \"$current\")); return ;;\n",
                                                   option.name, joined(option.choices));
        }
        cases += fmt::format(
            "        {})\n            case \"$previous\" in\n{}            esac\n            "
            "words='{}'\n            choices='{}'\n            ;;\n",
            command.name, values, joined(options), joined(command.choices));
    }
    return fmt::format(R"(# Completion of {0} for bash. Made by `{0} completion bash`; load it with
#   source <({0} completion bash)
_{0}() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words='' choices=''
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W '{1} --help' -- "$current"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{2}    esac
    case "$current" in
        -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
        *) if [ -n "$choices" ]; then COMPREPLY=($(compgen -W "$choices" -- "$current")); else COMPREPLY=($(compgen -f -- "$current")); fi ;;
    esac
}}
complete -o filenames -F _{0} {0}
)",
                       program, joined(names), cases);
}

std::string zsh(std::string_view program, const std::vector<CommandWord>& commands) {
    std::string list;
    std::string cases;
    for (const CommandWord& command : commands) {
        list += fmt::format("        '{}:{}'\n", command.name, zsh_text(command.help));
        cases += fmt::format("        {})\n            _arguments \\\n", command.name);
        for (const OptionWord& option : command.options) {
            cases += fmt::format("                '{}[{}]", option.name, zsh_text(option.help));
            if (option.takes_value)
                cases += option.choices.empty()
                             ? ":value:_files"
                             : fmt::format(":value:({})", joined(option.choices));
            cases += "' \\\n";
        }
        cases += command.choices.empty()
                     ? "                '*:file:_files'\n            ;;\n"
                     : fmt::format("                '1:value:({})'\n            ;;\n",
                                   joined(command.choices));
    }
    return fmt::format(R"(#compdef {0}
# Completion of {0} for zsh. Made by `{0} completion zsh`; put it into a folder of $fpath as _{0}.
_{0}() {{
    local -a commands
    commands=(
{1}    )
    if (( CURRENT == 2 )); then
        _describe 'command' commands
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
{2}    esac
}}
if [ "$funcstack[1]" = "_{0}" ]; then _{0} "$@"; else compdef _{0} {0}; fi
)",
                       program, list, cases);
}

std::string fish(std::string_view program, const std::vector<CommandWord>& commands) {
    std::string out = fmt::format(
        "# Completion of {0} for fish. Made by `{0} completion fish`; save it as\n#   "
        "~/.config/fish/completions/{0}.fish\n",
        program);
    for (const CommandWord& command : commands)
        out += fmt::format("complete -c {} -n __fish_use_subcommand -f -a {} -d '{}'\n", program,
                           command.name, quoted(command.help));
    for (const CommandWord& command : commands) {
        const std::string when = fmt::format("complete -c {} -n '__fish_seen_subcommand_from {}'",
                                             program, command.name);
        if (!command.choices.empty())
            out += fmt::format("{} -f -a '{}'\n", when, joined(command.choices));
        for (const OptionWord& option : command.options) {
            const std::string name = option.name.starts_with("--") ? "-l " + option.name.substr(2)
                                                                   : "-s " + option.name.substr(1);
            out += fmt::format("{} {}", when, name);
            if (option.takes_value)
                out += option.choices.empty() ? " -r"
                                              : fmt::format(" -x -a '{}'", joined(option.choices));
            out += fmt::format(" -d '{}'\n", quoted(option.help));
        }
    }
    return out;
}

}  // namespace

std::string completion_file(ShellKind shell, std::string_view program,
                            const std::vector<CommandWord>& commands) {
    switch (shell) {
        case ShellKind::kBash:
            return bash(program, commands);
        case ShellKind::kZsh:
            return zsh(program, commands);
        case ShellKind::kFish:
            return fish(program, commands);
    }
    return "";
}

}  // namespace orrery::cli
