#pragma once

#include <cstdint>
#include <string_view>

#include "json/value.h"
#include "query/parse/ast.h"

namespace orrery::query {

enum class Tok : uint8_t {
    kEnd,
    kError,  ///< a character or literal that no token starts with; `text` is what to quote
    kIdentifier,
    kParameter,
    kNumber,
    kString,
    // punctuation
    kComma,
    kDot,
    kOpenParen,
    kCloseParen,
    kOpenBracket,
    kCloseBracket,
    kOpenBrace,
    kCloseBrace,
    kColon,
    kQuestion,
    kCoalesce,
    kStar,
    kSlash,
    kPercent,
    kPlus,
    kMinus,
    kTilde,
    kAmpersand,
    kCaret,
    kPipe,
    kConcat,
    kShiftLeft,
    kShiftRight,
    kShiftRightUnsigned,
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    // reserved words
    kAnd,
    kArray,
    kAs,
    kAsc,
    kBetween,
    kBy,
    kDesc,
    kDistinct,
    kEscape,
    kExists,
    kFalse,
    kFrom,
    kGroup,
    kIn,
    kJoin,
    kLeft,
    kLike,
    kLimit,
    kNot,
    kNull,
    kOffset,
    kOr,
    kOrder,
    kRank,
    kRight,
    kSelect,
    kTop,
    kTrue,
    kUdf,
    kUndefined,
    kValue,
    kWhere,
};

struct Token {
    Tok kind = Tok::kEnd;
    ast::Range range;
    std::string_view text;  ///< as written
    json::Value value;      ///< kNumber, kString (decoded)
};

/// Splits a query into tokens on demand, in one pass. Never fails: what is no token becomes kError.
class Lexer {
public:
    /// Both borrowed; decoded strings go to `arena`.
    Lexer(std::string_view text, json::Arena& arena) : text_(text), arena_(&arena) {}
    Token next();

private:
    void skip_blanks();
    void skip_name();
    Token make(Tok kind, size_t start) const;
    Token number(size_t start);
    Token string(size_t start);
    Token word(size_t start);
    Token punctuation(size_t start);
    bool decode_escape(char*& out);

    std::string_view text_;
    json::Arena* arena_;
    size_t at_ = 0;
};

/// True when `name` is an identifier that needs no brackets: right characters, not reserved.
bool is_plain_identifier(std::string_view name);

}  // namespace orrery::query
