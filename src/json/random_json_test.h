#pragma once

#include <cmath>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "json/value.h"
#include "json/write.h"

/// Random values and texts for property tests. Every test names its seed.
namespace orrery::json::test {

class RandomJson {
public:
    explicit RandomJson(uint64_t seed) : engine_(seed) {}

    uint64_t below(uint64_t n) { return engine_() % n; }
    bool chance(uint64_t percent) { return below(100) < percent; }

    std::string string() {
        static const char* const kParts[] = {
            "a",  "b", "Z",          "0",    " ",    "\"",
            "\\", "/", "\n",         "\x01", "\x1f", "\x7f",
            "é",  "€", "\U0001F600", "~",    "_id",  "longer part of a string that fills a vector"};
        std::string out;
        for (uint64_t n = below(6); n > 0; --n) out += kParts[below(std::size(kParts))];
        if (chance(3)) out.push_back('\0');
        return out;
    }

    /// Small domains on purpose, so that equal values occur.
    Value number(Arena& arena) {
        static const char* const kTexts[] = {"0",
                                             "-0",
                                             "1",
                                             "1.0",
                                             "1e0",
                                             "-1",
                                             "10",
                                             "1.5",
                                             "1E2",
                                             "100",
                                             "9007199254740993",
                                             "9223372036854775807",
                                             "-9223372036854775808",
                                             "9223372036854775808",
                                             "1e308",
                                             "4.9e-324",
                                             "0.1",
                                             "123456789012345678901"};
        switch (below(4)) {
            case 0:
                return Value::integer(static_cast<int64_t>(below(7)) - 3);
            case 1:
                return Value::integer(static_cast<int64_t>(engine_()));
            case 2:
                return Value::number(static_cast<double>(static_cast<int64_t>(below(9)) - 4) / 2);
            default: {
                const char* const text = kTexts[below(std::size(kTexts))];
                return Value::number_text(std::strtod(text, nullptr),
                                          arena.copy(std::string_view(text)));
            }
        }
    }

    Value value(Arena& arena, int depth) {
        switch (below(depth > 0 ? 8 : 5)) {
            case 0:
                return Value::null();
            case 1:
                return Value::boolean(chance(50));
            case 2:
            case 3:
                return number(arena);
            case 4:
                return Value::string(arena.copy(string()));
            case 5: {
                std::vector<Value> elements;
                for (uint64_t n = below(5); n > 0; --n) elements.push_back(value(arena, depth - 1));
                return Value::array(arena.copy(std::span<const Value>(elements)));
            }
            default:
                return object(arena, depth);
        }
    }

    Value object(Arena& arena, int depth) {
        std::vector<Member> members;
        std::set<std::string> names;
        for (uint64_t n = below(6); n > 0; --n) {
            std::string name =
                chance(60) ? std::string(1, static_cast<char>('a' + below(4))) : string();
            if (!names.insert(name).second) continue;
            members.push_back({arena.copy(name), value(arena, depth - 1)});
        }
        return Value::object(arena.copy(std::span<const Member>(members)));
    }

    /// The value as a client might write it: white space, needless escapes.
    std::string sloppy_text(const Value& value) {
        std::string out;
        sloppy(out, value);
        return out;
    }

    std::mt19937_64& engine() { return engine_; }

private:
    void space(std::string& out) {
        while (chance(20)) out.push_back(" \t\r\n"[below(4)]);
    }
    void escape(std::string& out, char16_t unit) {
        const char* hex = chance(50) ? "0123456789abcdef" : "0123456789ABCDEF";
        out += "\\u";
        for (int shift = 12; shift >= 0; shift -= 4) out.push_back(hex[(unit >> shift) & 15]);
    }
    void sloppy_string(std::string& out, std::string_view s) {
        std::string plain;
        write_string(plain, s);
        // Escape some of the characters that need no escape.
        out.push_back('"');
        for (size_t i = 1; i + 1 < plain.size();) {
            const auto lead = static_cast<unsigned char>(plain[i]);
            size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
            if (plain[i] == '\\') length = plain[i + 1] == 'u' ? 6 : 2;
            if (plain[i] == '/' && chance(50)) {
                out += "\\/";
            } else if (plain[i] != '\\' && chance(25)) {
                uint32_t code = lead;
                if (length > 1) code = lead & (0xFFu >> (length + 1));
                for (size_t k = 1; k < length; ++k)
                    code = code << 6 | (static_cast<unsigned char>(plain[i + k]) & 0x3Fu);
                if (code >= 0x10000) {
                    escape(out, static_cast<char16_t>(0xD800 + ((code - 0x10000) >> 10)));
                    escape(out, static_cast<char16_t>(0xDC00 + ((code - 0x10000) & 0x3FF)));
                } else {
                    escape(out, static_cast<char16_t>(code));
                }
            } else {
                out.append(plain, i, length);
            }
            i += length;
        }
        out.push_back('"');
    }
    void sloppy(std::string& out, const Value& value) {
        space(out);
        if (value.is_string()) {
            sloppy_string(out, value.as_string());
        } else if (value.is_array()) {
            out.push_back('[');
            bool first = true;
            for (const Value& e : value.elements()) {
                if (!first) out.push_back(',');
                first = false;
                sloppy(out, e);
            }
            space(out);
            out.push_back(']');
        } else if (value.is_object()) {
            out.push_back('{');
            bool first = true;
            for (const Member& m : value.members()) {
                if (!first) out.push_back(',');
                first = false;
                space(out);
                sloppy_string(out, m.name);
                space(out);
                out.push_back(':');
                sloppy(out, m.value);
            }
            space(out);
            out.push_back('}');
        } else {
            write(out, value, NumberForm::kAsWritten);
        }
        space(out);
    }

    std::mt19937_64 engine_;
};

}  // namespace orrery::json::test
