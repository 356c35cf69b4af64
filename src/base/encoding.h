#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Text forms of bytes.
namespace orrery {

std::string base64_encode(std::string_view bytes);
constexpr size_t base64_size(size_t byte_count) {
    return (byte_count + 2) / 3 * 4;
}
/// Writes base64_size(bytes.size()) characters.
void base64_encode_to(char* out, std::string_view bytes);
/// Standard alphabet, padding required; nullopt when malformed.
std::optional<std::string> base64_decode(std::string_view text);

/// The alphabet of `_rid`s: base64 with '/' replaced by '-'.
std::string rid_encode(std::string_view bytes);
/// Writes base64_size(bytes.size()) characters.
void rid_encode_to(char* out, std::string_view bytes);
std::optional<std::string> rid_decode(std::string_view text);

std::string hex_encode_upper(std::string_view bytes);
/// Accepts both cases; nullopt for an odd length or a foreign character.
std::optional<std::string> hex_decode(std::string_view text);

/// %XX decoding, once; '+' stays '+'. nullopt for a malformed escape.
std::optional<std::string> percent_decode(std::string_view text);
/// Encodes everything but the unreserved characters A-Z a-z 0-9 - _ . ~
std::string percent_encode(std::string_view bytes);
void append_percent_encoded(std::string& out, std::string_view bytes);

/// True when `bytes` is well-formed UTF-8 (no surrogates, no overlong forms).
bool is_valid_utf8(std::string_view bytes);

/// ASCII only: the protocol's header names, booleans and methods are ASCII.
bool equals_ignore_case(std::string_view a, std::string_view b);
std::string to_lower_ascii(std::string_view text);

}  // namespace orrery
