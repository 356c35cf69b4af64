#include "query/functions/regex.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace orrery::query {
namespace {

/// Each compiled pattern may take some megabytes, in every thread.
constexpr size_t kCacheEntries = 16;
constexpr size_t kPatternBytesMax = 16 * 1024;

struct Compiled {
    std::unique_ptr<re2::RE2> regex;  ///< null when malformed
    /// Instead of `regex` for a text without its last newline; null when `regex` says the same.
    std::unique_ptr<re2::RE2> before_newline;
    bool has_dollar = false;
    bool unsupported = false;
};

/// A part of a pattern that means one thing.
struct Piece {
    enum class Kind : uint8_t {
        kPlain,    ///< outside of a class, with the meaning that it has there
        kLiteral,  ///< stands for itself, whatever it looks like: from \Q to \E, a `[` in a class
        kEscape,   ///< a backslash and what it is before
        kOfClass,  ///< the brackets of a class, and its ranges, characters and `[:names:]`
    };
    Kind kind = Kind::kPlain;
    bool in_class = false;
    std::string_view text;
};

/// Takes a pattern apart as Perl reads it. A `]` that comes first in a class belongs to it, behind
/// `^`, too. What is malformed comes out as it stands, for RE2 to say so.
class Scanner {
public:
    explicit Scanner(std::string_view pattern) : rest_(pattern) {}

    std::optional<Piece> next() {
        using enum Piece::Kind;
        while (true) {
            if (take(quoted_ ? "\\E" : "\\Q")) {
                quoted_ = !quoted_;
            } else if (!take("\\E")) {  // an \E without \Q has no meaning
                break;
            }
        }
        if (rest_.empty()) return std::nullopt;
        const bool first = std::exchange(class_begins_, false);
        if (quoted_) return piece(kLiteral, 1);
        if (rest_[0] == '\\') return piece(kEscape, 2);
        if (!in_class_) {
            if (rest_[0] != '[') return piece(kPlain, 1);
            in_class_ = class_begins_ = true;
            return piece(kOfClass, rest_.starts_with("[^") ? 2 : 1);
        }
        if (rest_[0] == '[') {
            const size_t name = class_name_bytes();
            return name > 0 ? piece(kOfClass, name) : piece(kLiteral, 1);
        }
        if (rest_[0] != ']') return piece(kOfClass, 1);
        if (first) return piece(kLiteral, 1);
        const Piece end = piece(kOfClass, 1);
        in_class_ = false;
        return end;
    }

    /// Whether `text` comes next; then it is left out.
    bool take(std::string_view text) {
        if (!rest_.starts_with(text)) return false;
        rest_.remove_prefix(text.size());
        return true;
    }
    void skip_line() { rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size())); }
    std::string_view rest() const { return rest_; }

private:
    Piece piece(Piece::Kind kind, size_t bytes) {
        const Piece out{kind, in_class_, rest_.substr(0, bytes)};
        rest_.remove_prefix(out.text.size());
        return out;
    }

    /// Of a `[:name:]` or `[:^name:]` that comes next; 0: none.
    size_t class_name_bytes() const {
        if (!rest_.starts_with("[:")) return 0;
        size_t end = rest_.starts_with("[:^") ? 3 : 2;
        while (end < rest_.size() && rest_[end] >= 'a' && rest_[end] <= 'z') ++end;
        return rest_.substr(end).starts_with(":]") ? end + 2 : 0;
    }

    std::string_view rest_;
    bool quoted_ = false;
    bool in_class_ = false;
    bool class_begins_ = false;
};

bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct Rewritten {
    std::string text;
    bool has_dollar = false;  ///< outside of classes
    bool has_end = false;     ///< \z, outside of classes
};

struct RewriteOptions {
    bool extended = false;  ///< the x modifier: blanks and # comments mean nothing
    bool end_holds = true;  ///< whether \z is true anywhere
};

/// A pattern as RE2 writes what it takes otherwise than Perl: `(?<name>…)`, `\s` without U+000B,
/// and `\Q…\E` and `[` in classes.
Rewritten rewrite(std::string_view pattern, const RewriteOptions& options) {
    Rewritten out;
    Scanner scanner(pattern);
    while (const auto piece = scanner.next()) {
        const std::string_view text = piece->text;
        if (piece->kind == Piece::Kind::kLiteral) {
            out.text += re2::RE2::QuoteMeta(re2::StringPiece(text.data(), text.size()));
        } else if (text == "\\s" || text == "\\S") {
            const std::string_view name = text == "\\s" ? "[:space:]" : "[:^space:]";
            out.text += piece->in_class ? std::string(name) : fmt::format("[{}]", name);
        } else if (text == "\\z" && !piece->in_class) {
            out.has_end = true;
            out.text += options.end_holds ? text : "[^\\x00-\\x{10FFFF}]";
        } else if (piece->kind != Piece::Kind::kPlain) {
            out.text += text;
        } else if (options.extended && is_blank(text[0])) {
            continue;
        } else if (options.extended && text[0] == '#') {
            scanner.skip_line();
        } else if (text[0] == '(' && scanner.rest().starts_with("?<") &&
                   !scanner.rest().starts_with("?<=") && !scanner.rest().starts_with("?<!")) {
            scanner.take("?<");
            out.text += "(?P<";
        } else {
            out.has_dollar = out.has_dollar || text[0] == '$';
            out.text += text;
        }
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
    if (!flags.empty()) flags = "(?" + flags + ")";
    const Rewritten rewritten = rewrite(pattern, {.extended = extended});
    auto regex = std::make_unique<re2::RE2>(flags + rewritten.text, options);
    if (!regex->ok()) {
        compiled.unsupported = is_beyond_re2(*regex);
        return compiled;
    }
    compiled.regex = std::move(regex);
    compiled.has_dollar = rewritten.has_dollar;
    if (rewritten.has_dollar && rewritten.has_end)
        compiled.before_newline = std::make_unique<re2::RE2>(
            flags + rewrite(pattern, {.extended = extended, .end_holds = false}).text, options);
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

/// RE2's `$` holds at the end of the text, Perl's also before a newline that ends it. A match up to
/// there is one of the text without the newline, where everything else but `\z` means the same. (A
/// pattern whose `$` is followed by that newline is not found: it makes sense only with m.)
bool is_match(const Compiled& compiled, std::string_view text) {
    if (re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled.regex))
        return true;
    if (!compiled.has_dollar || !text.ends_with('\n')) return false;
    const auto& regex = compiled.before_newline ? compiled.before_newline : compiled.regex;
    return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size() - 1), *regex);
}

}  // namespace

Truth regex_match(EvalContext& context, std::string_view text, std::string_view pattern,
                  std::string_view modifiers) {
    if (pattern.size() > kPatternBytesMax || modifiers.size() > 16) {
        context.fail(errors::bad_request("The pattern of RegexMatch is too long."));
        return Truth::kUndefined;
    }
    const Compiled& compiled = cached(pattern, modifiers);
    if (compiled.regex != nullptr) return is_match(compiled, text) ? Truth::kTrue : Truth::kFalse;
    if (compiled.unsupported) {
        context.fail(errors::not_supported(
            "The pattern of RegexMatch uses look-around, a back reference, a possessive or too "
            "large a repetition, or another thing that needs backtracking, which",
            "Rewrite the pattern."));
    }
    return Truth::kUndefined;
}

}  // namespace orrery::query
