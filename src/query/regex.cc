#include "query/regex.h"

#include <re2/re2.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "query/choices.h"

namespace orrery::query {
namespace {

/// Each may hold some megabytes, in every thread.
constexpr size_t kCacheEntries = 16;
constexpr size_t kPatternBytesMax = 16 * 1024;

struct Compiled {
    std::unique_ptr<re2::RE2> regex;  ///< null when malformed
    bool unsupported = false;
};

/// Removes white space and # comments outside of classes and escapes: the x modifier.
std::string without_blanks(std::string_view pattern) {
    std::string out;
    bool in_class = false;
    for (size_t i = 0; i < pattern.size(); ++i) {
        const char c = pattern[i];
        if (c == '\\' && i + 1 < pattern.size()) {
            out += c;
            out += pattern[++i];
            continue;
        }
        if (c == '[') in_class = true;
        if (c == ']') in_class = false;
        if (!in_class && (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f')) continue;
        if (!in_class && c == '#') {
            while (i < pattern.size() && pattern[i] != '\n') ++i;
            continue;
        }
        out += c;
    }
    return out;
}

/// `(?<name>…)` as RE2 writes it.
std::string with_named_groups(std::string_view pattern) {
    std::string out;
    for (size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == '\\' && i + 1 < pattern.size()) {
            out.append(pattern, i++, 2);
            continue;
        }
        const std::string_view rest = pattern.substr(i);
        if (rest.size() > 3 && rest.starts_with("(?<") && rest[3] != '=' && rest[3] != '!') {
            out += "(?P<";
            i += 2;
            continue;
        }
        out += pattern[i];
    }
    return out;
}

/// Whether a repetition like {3,2} has its bounds the wrong way round.
bool is_reversed(std::string_view repetition) {
    const size_t comma = repetition.find(',');
    if (comma == std::string_view::npos) return false;
    const std::string_view low = repetition.substr(1, comma - 1);
    const std::string_view high = repetition.substr(comma + 1, repetition.find('}') - comma - 1);
    return !high.empty() && (low.size() != high.size() ? low.size() > high.size() : low > high);
}

/// Whether a pattern that RE2 does not take is one that backtracking engines do: such a one is
/// refused, while a malformed one is undefined.
bool is_beyond_re2(const re2::RE2& regex) {
    const std::string& part = regex.error_arg();
    const auto last_is_one_of = [&](std::string_view set) {
        return !part.empty() && set.find(part.back()) != std::string_view::npos;
    };
    switch (regex.error_code()) {
        case re2::RE2::ErrorPatternTooLarge:
            return true;
        case re2::RE2::ErrorRepeatSize:
            return !is_reversed(part);
        case re2::RE2::ErrorBadEscape:  // back references, further classes and anchors
            return last_is_one_of("123456789ceghkoGHKNRVXZ");
        case re2::RE2::ErrorRepeatOp:  // possessive repetitions
            return part.size() > 1 && part.back() == '+';
        case re2::RE2::ErrorBadPerlOp:  // look-around, atomic and conditional groups, recursion
            return last_is_one_of("=!<>|#('&+0123456789PRx");
        default:
            return false;
    }
}

Compiled compile(std::string_view pattern, std::string_view modifiers) {
    Compiled compiled;
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_never_capture(true);
    std::string flags;
    bool extended = false;
    for (const char c : modifiers) {
        switch (c) {
            case 'i':
            case 'm':
            case 's':
                flags += c;
                break;
            case 'x':
                extended = true;
                break;
            default:
                return compiled;
        }
    }
    std::string text = extended ? without_blanks(pattern) : std::string(pattern);
    text = with_named_groups(text);
    if (!flags.empty()) text = "(?" + flags + ")" + text;
    auto regex = std::make_unique<re2::RE2>(text, options);
    if (regex->ok()) {
        compiled.regex = std::move(regex);
    } else {
        compiled.unsupported = is_beyond_re2(*regex);
    }
    return compiled;
}

const Compiled& cached(std::string_view pattern, std::string_view modifiers) {
    thread_local std::unordered_map<std::string, Compiled> cache;
    std::string key(modifiers);
    key += '/';
    key += pattern;
    const auto found = cache.find(key);
    if (found != cache.end()) return found->second;
    if (cache.size() >= kCacheEntries) cache.clear();
    return cache.emplace(std::move(key), compile(pattern, modifiers)).first->second;
}

}  // namespace

Truth regex_match(EvalContext& context, std::string_view text, std::string_view pattern,
                  std::string_view modifiers) {
    if (pattern.size() > kPatternBytesMax || modifiers.size() > 16) {
        context.fail(errors::bad_request("The pattern of RegexMatch is too long."));
        return Truth::kUndefined;
    }
    const Compiled& compiled = cached(pattern, modifiers);
    if (compiled.regex != nullptr)
        return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled.regex)
                   ? Truth::kTrue
                   : Truth::kFalse;
    if (compiled.unsupported) {
        context.fail(errors::not_supported(
            "The pattern of RegexMatch uses look-around, a back reference, a possessive or too "
            "large a repetition, or another thing that needs backtracking, which",
            "Rewrite the pattern."));
    } else if (!choices::kBadRegexIsUndefined) {
        context.fail(errors::bad_request("The pattern of RegexMatch is malformed."));
    }
    return Truth::kUndefined;
}

}  // namespace orrery::query
