#include "query/regex.h"

#include <re2/re2.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "query/choices.h"

namespace orrery::query {
namespace {

constexpr size_t kCacheEntries = 64;
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

bool has_back_reference(std::string_view pattern) {
    for (size_t i = 0; i + 1 < pattern.size(); ++i) {
        if (pattern[i] != '\\') continue;
        if (pattern[i + 1] >= '1' && pattern[i + 1] <= '9') return true;
        ++i;
    }
    return false;
}

bool has_look_around(std::string_view pattern) {
    for (const std::string_view group : {"(?=", "(?!", "(?<=", "(?<!", "(?>"})
        if (pattern.find(group) != std::string_view::npos) return true;
    return false;
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
    if (!flags.empty()) text = "(?" + flags + ")" + text;
    auto regex = std::make_unique<re2::RE2>(text, options);
    if (regex->ok()) {
        compiled.regex = std::move(regex);
    } else {
        compiled.unsupported = has_back_reference(pattern) || has_look_around(pattern) ||
                               regex->error_code() == re2::RE2::ErrorPatternTooLarge;
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
            "The pattern of RegexMatch uses look-around, a back reference or too large a "
            "repetition, which",
            "Rewrite the pattern."));
    } else if (!choices::kBadRegexIsUndefined) {
        context.fail(errors::bad_request("The pattern of RegexMatch is malformed."));
    }
    return Truth::kUndefined;
}

}  // namespace orrery::query
