#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::query {

/// A LIKE pattern, translated once: % any run, _ one character, [abc] [a-f] one of, [^abc] none of.
/// Immutable.
class LikePattern {
public:
    /// `escape` is 0 or the character after which the next one is literal.
    LikePattern(std::string_view pattern, char32_t escape);
    bool matches(std::string_view text) const;

    /// No live wildcard: the pattern is an equality with literal().
    bool is_exact() const { return shape_ == Shape::kExact; }
    /// Literal text followed by one final %: a prefix condition with literal().
    bool is_prefix() const { return shape_ == Shape::kPrefix; }
    const std::string& literal() const { return literal_; }

private:
    enum class Shape : uint8_t { kExact, kPrefix, kSuffix, kContains, kGeneral };
    enum class Kind : uint8_t { kCharacter, kAnyRun, kAnyOne, kSet };
    struct Span {
        char32_t low;
        char32_t high;
    };
    struct Token {
        Kind kind;
        bool negated = false;
        char32_t character = 0;
        std::vector<Span> spans;
    };
    size_t add_set(const std::u32string& pattern, size_t at, char32_t escape);
    void find_shape();
    static bool accepts(const Token& token, char32_t c);

    std::vector<Token> tokens_;
    Shape shape_ = Shape::kGeneral;
    std::string literal_;
};

}  // namespace orrery::query
