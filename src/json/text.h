#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "json/value.h"

/// Unicode text as string functions see it. All input is valid UTF-8 unless a caller cut it
/// apart; malformed bytes are read as U+FFFD, never beyond the end.
namespace orrery::json {

bool is_ascii(std::string_view text);
/// Reads the code point at `at` (which must be < text.size()) and moves behind it.
char32_t next_code_point(std::string_view text, size_t& at);
void append_utf8(std::string& out, char32_t c);
std::u32string decode_utf8(std::string_view text);

/// Positions and lengths count UTF-16 code units.
size_t text_length(std::string_view text);
/// The units [start, start + count), both clipped. Half of a surrogate pair becomes U+FFFD.
std::string_view text_slice(std::string_view text, size_t start, size_t count, Arena& arena);
/// The unit position of a byte offset that lies on a character border.
size_t text_position(std::string_view text, size_t byte_offset);
/// The byte offset of the first character at or behind a unit position; text.size() if beyond.
size_t text_offset(std::string_view text, size_t position);

/// Like std::string_view::rfind, in linear time whatever the texts are.
size_t find_last_text(std::string_view text, std::string_view part);

/// Culture-invariant, one character to one character.
char32_t upper_case(char32_t c);
char32_t lower_case(char32_t c);
std::string_view upper_case(std::string_view text, Arena& arena);
std::string_view lower_case(std::string_view text, Arena& arena);
std::string_view reverse(std::string_view text, Arena& arena);

bool is_white_space(char32_t c);
/// Strips the characters for which `strip` holds from the chosen ends.
enum class TrimEnds : uint8_t { kStart, kEnd, kBoth };
std::string_view trim_white_space(std::string_view text, TrimEnds ends);
std::string_view trim_characters(std::string_view text, std::string_view set, TrimEnds ends);

}  // namespace orrery::json
