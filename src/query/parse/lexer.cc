#include "query/parse/lexer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "json/text.h"
#include "query/parse/number.h"

namespace orrery::query {
namespace {

struct Keyword {
    std::string_view upper;
    Tok token;
    bool lower_case_only = false;
};

constexpr std::array kKeywords = {
    Keyword{"AND", Tok::kAnd},
    Keyword{"ARRAY", Tok::kArray},
    Keyword{"AS", Tok::kAs},
    Keyword{"ASC", Tok::kAsc},
    Keyword{"BETWEEN", Tok::kBetween},
    Keyword{"BY", Tok::kBy},
    Keyword{"DESC", Tok::kDesc},
    Keyword{"DISTINCT", Tok::kDistinct},
    Keyword{"ESCAPE", Tok::kEscape},
    Keyword{"EXISTS", Tok::kExists},
    Keyword{"FALSE", Tok::kFalse, true},
    Keyword{"FROM", Tok::kFrom},
    Keyword{"GROUP", Tok::kGroup},
    Keyword{"IN", Tok::kIn},
    Keyword{"JOIN", Tok::kJoin},
    Keyword{"LEFT", Tok::kLeft},
    Keyword{"LIKE", Tok::kLike},
    Keyword{"LIMIT", Tok::kLimit},
    Keyword{"NOT", Tok::kNot},
    Keyword{"NULL", Tok::kNull, true},
    Keyword{"OFFSET", Tok::kOffset},
    Keyword{"OR", Tok::kOr},
    Keyword{"ORDER", Tok::kOrder},
    Keyword{"RANK", Tok::kRank},
    Keyword{"RIGHT", Tok::kRight},
    Keyword{"SELECT", Tok::kSelect},
    Keyword{"TOP", Tok::kTop},
    Keyword{"TRUE", Tok::kTrue, true},
    Keyword{"UDF", Tok::kUdf, true},
    Keyword{"UNDEFINED", Tok::kUndefined, true},
    Keyword{"VALUE", Tok::kValue},
    Keyword{"WHERE", Tok::kWhere},
};
constexpr size_t kKeywordLengthMax = 9;

constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
constexpr bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
constexpr bool is_ascii_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// Blanks and marks that nobody sees, as texts copied from pages have them. In a name they would
/// make it another one without a trace.
bool is_invisible(char32_t c) {
    return json::is_white_space(c) || (c >= 0x80 && c < 0xA0) || c == 0xAD || c == 0x200B ||
           c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
           (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
}

/// The bytes of the letter that begins at text[at]; 0: none does. Names may use any alphabet, so
/// that every character beyond ASCII that can be seen counts as a letter.
size_t letter_bytes(std::string_view text, size_t at) {
    if (at >= text.size()) return 0;
    if (static_cast<unsigned char>(text[at]) < 0x80) return is_ascii_letter(text[at]) ? 1 : 0;
    size_t end = at;
    return is_invisible(json::next_code_point(text, end)) ? 0 : end - at;
}
size_t name_part_bytes(std::string_view text, size_t at) {
    return at < text.size() && is_digit(text[at]) ? 1 : letter_bytes(text, at);
}
constexpr char to_upper(char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

Tok keyword_of(std::string_view word) {
    if (word.size() < 2 || word.size() > kKeywordLengthMax) return Tok::kIdentifier;
    std::array<char, kKeywordLengthMax> upper;
    bool any_upper = false;
    for (size_t i = 0; i < word.size(); ++i) {
        upper[i] = to_upper(word[i]);
        any_upper |= word[i] >= 'A' && word[i] <= 'Z';
    }
    const std::string_view key(upper.data(), word.size());
    // Sorted by first letter; a linear look over the few candidates beats hashing.
    for (const Keyword& keyword : kKeywords) {
        if (keyword.upper[0] != key[0] || keyword.upper != key) continue;
        return keyword.lower_case_only && any_upper ? Tok::kIdentifier : keyword.token;
    }
    return Tok::kIdentifier;
}

void append_utf8(char*& out, uint32_t code) {
    auto put = [&](uint32_t byte) { *out++ = static_cast<char>(byte); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xC0 | (code >> 6));
        put(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        put(0xE0 | (code >> 12));
        put(0x80 | ((code >> 6) & 0x3F));
        put(0x80 | (code & 0x3F));
    } else {
        put(0xF0 | (code >> 18));
        put(0x80 | ((code >> 12) & 0x3F));
        put(0x80 | ((code >> 6) & 0x3F));
        put(0x80 | (code & 0x3F));
    }
}

/// Four hex digits at `at`, or -1.
int32_t hex4(std::string_view text, size_t at) {
    if (at + 4 > text.size()) return -1;
    uint32_t code = 0;
    for (size_t i = at; i < at + 4; ++i)
        if (!is_hex(text[i])) return -1;
    std::from_chars(text.data() + at, text.data() + at + 4, code, 16);
    return static_cast<int32_t>(code);
}

}  // namespace

void Lexer::skip_blanks() {
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            ++at_;
        } else if (c == '-' && at_ + 1 < text_.size() && text_[at_ + 1] == '-') {
            while (at_ < text_.size() && text_[at_] != '\n') ++at_;
        } else {
            return;
        }
    }
}

Token Lexer::make(Tok kind, size_t start) const {
    Token token;
    token.kind = kind;
    token.range = {static_cast<uint32_t>(start), static_cast<uint32_t>(at_)};
    token.text = text_.substr(start, at_ - start);
    return token;
}

Token Lexer::next() {
    skip_blanks();
    const size_t start = at_;
    if (at_ >= text_.size()) return make(Tok::kEnd, start);
    const char c = text_[at_];
    if (letter_bytes(text_, at_) > 0) return word(start);
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])))
        return number(start);
    if (c == '"' || c == '\'') return string(start);
    if (c == '@' && letter_bytes(text_, at_ + 1) > 0) {
        ++at_;
        skip_name();
        return make(Tok::kParameter, start);
    }
    if (static_cast<unsigned char>(c) >= 0x80) {
        json::next_code_point(text_, at_);
        return make(Tok::kError, start);
    }
    return punctuation(start);
}

void Lexer::skip_name() {
    while (const size_t bytes = name_part_bytes(text_, at_)) at_ += bytes;
}

Token Lexer::word(size_t start) {
    skip_name();
    return make(keyword_of(text_.substr(start, at_ - start)), start);
}

Token Lexer::number(size_t start) {
    auto peek = [&](size_t ahead) {
        return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
    };
    bool well_formed = true;
    if (peek(0) == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
        at_ += 2;
        well_formed = is_hex(peek(0));
        while (is_hex(peek(0))) ++at_;
    } else {
        while (is_digit(peek(0))) ++at_;
        if (peek(0) == '.') {
            ++at_;
            while (is_digit(peek(0))) ++at_;
        }
        if (peek(0) == 'e' || peek(0) == 'E') {
            ++at_;
            if (peek(0) == '+' || peek(0) == '-') ++at_;
            well_formed = is_digit(peek(0));
            while (is_digit(peek(0))) ++at_;
        }
    }
    // A name may not start with a digit, so nothing that looks like one may follow.
    if (name_part_bytes(text_, at_) > 0) {
        well_formed = false;
        skip_name();
    }
    Token token = make(well_formed ? Tok::kNumber : Tok::kError, start);
    if (well_formed) token.value = number_from_text(token.text);
    return token;
}

bool Lexer::decode_escape(char*& out) {
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    switch (c) {
        case '\'':
        case '"':
        case '\\':
        case '/':
            *out++ = c;
            return true;
        case 'b':
            *out++ = '\b';
            return true;
        case 'f':
            *out++ = '\f';
            return true;
        case 'n':
            *out++ = '\n';
            return true;
        case 'r':
            *out++ = '\r';
            return true;
        case 't':
            *out++ = '\t';
            return true;
        case 'u':
            break;
        default:
            return false;
    }
    int32_t code = hex4(text_, at_);
    if (code < 0) return false;
    at_ += 4;
    if (code >= 0xDC00 && code <= 0xDFFF) return false;
    if (code >= 0xD800 && code <= 0xDBFF) {
        if (text_.substr(at_, 2) != "\\u") return false;
        const int32_t low = hex4(text_, at_ + 2);
        if (low < 0xDC00 || low > 0xDFFF) return false;
        at_ += 6;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    append_utf8(out, static_cast<uint32_t>(code));
    return true;
}

Token Lexer::string(size_t start) {
    const char quote = text_[at_++];
    size_t end = at_;
    bool escaped = false;
    while (end < text_.size() && text_[end] != quote) {
        if (static_cast<unsigned char>(text_[end]) < 0x20) {
            at_ = end + 1;
            return make(Tok::kError, start);
        }
        if (text_[end] == '\\') {
            escaped = true;
            ++end;
        }
        ++end;
    }
    if (end >= text_.size()) {  // no closing quote
        at_ = text_.size();
        return make(Tok::kError, start);
    }
    const std::string_view raw = text_.substr(at_, end - at_);
    if (!escaped) {
        at_ = end + 1;
        Token token = make(Tok::kString, start);
        token.value = json::Value::string(raw);
        return token;
    }
    char* const buffer = arena_->allocate(raw.size(), 1);  // escapes only shrink
    char* out = buffer;
    while (at_ < end) {
        const char c = text_[at_++];
        if (c != '\\') {
            *out++ = c;
        } else if (!decode_escape(out)) {
            at_ = end + 1;
            return make(Tok::kError, start);
        }
    }
    at_ = end + 1;
    Token token = make(Tok::kString, start);
    token.value = json::Value::string({buffer, static_cast<size_t>(out - buffer)});
    return token;
}

Token Lexer::punctuation(size_t start) {
    const std::string_view rest = text_.substr(at_, 3);
    auto take = [&](size_t length, Tok kind) {
        at_ += length;
        return make(kind, start);
    };
    const char second = rest.size() > 1 ? rest[1] : '\0';
    switch (rest[0]) {
        case ',':
            return take(1, Tok::kComma);
        case '.':
            return take(1, Tok::kDot);
        case '(':
            return take(1, Tok::kOpenParen);
        case ')':
            return take(1, Tok::kCloseParen);
        case '[':
            return take(1, Tok::kOpenBracket);
        case ']':
            return take(1, Tok::kCloseBracket);
        case '{':
            return take(1, Tok::kOpenBrace);
        case '}':
            return take(1, Tok::kCloseBrace);
        case ':':
            return take(1, Tok::kColon);
        case '?':
            return second == '?' ? take(2, Tok::kCoalesce) : take(1, Tok::kQuestion);
        case '*':
            return take(1, Tok::kStar);
        case '/':
            return take(1, Tok::kSlash);
        case '%':
            return take(1, Tok::kPercent);
        case '+':
            return take(1, Tok::kPlus);
        case '-':
            return take(1, Tok::kMinus);
        case '~':
            return take(1, Tok::kTilde);
        case '&':
            return take(1, Tok::kAmpersand);
        case '^':
            return take(1, Tok::kCaret);
        case '|':
            return second == '|' ? take(2, Tok::kConcat) : take(1, Tok::kPipe);
        case '=':
            return take(1, Tok::kEqual);
        case '!':
            if (second == '=') return take(2, Tok::kNotEqual);
            break;
        case '<':
            if (second == '<') return take(2, Tok::kShiftLeft);
            if (second == '=') return take(2, Tok::kLessEqual);
            if (second == '>') return take(2, Tok::kNotEqual);
            return take(1, Tok::kLess);
        case '>':
            if (rest == ">>>") return take(3, Tok::kShiftRightUnsigned);
            if (second == '>') return take(2, Tok::kShiftRight);
            if (second == '=') return take(2, Tok::kGreaterEqual);
            return take(1, Tok::kGreater);
        default:
            break;
    }
    return take(1, Tok::kError);
}

bool is_plain_identifier(std::string_view name) {
    if (letter_bytes(name, 0) == 0) return false;
    size_t at = 0;
    while (const size_t bytes = name_part_bytes(name, at)) at += bytes;
    return at == name.size() && keyword_of(name) == Tok::kIdentifier;
}

}  // namespace orrery::query
