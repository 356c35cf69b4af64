#include "base/bytes.h"

namespace orrery {

void append_delimited(std::string& out, std::string_view bytes) {
    for (const char c : bytes) {
        out.push_back(c);
        if (c == '\0') out.push_back('\xFF');
    }
    out.append(2, '\0');
}

std::optional<std::string> take_delimited(std::string_view& in) {
    std::string out;
    for (size_t i = 0; i < in.size(); ++i) {
        if (in[i] != '\0') {
            out.push_back(in[i]);
            continue;
        }
        if (i + 1 >= in.size()) return std::nullopt;
        ++i;
        if (in[i] == '\0') {
            in.remove_prefix(i + 1);
            return out;
        }
        if (in[i] != '\xFF') return std::nullopt;
        out.push_back('\0');
    }
    return std::nullopt;
}

std::string prefix_successor(std::string_view prefix) {
    std::string out(prefix);
    while (!out.empty()) {
        if (out.back() != '\xFF') {
            out.back() = static_cast<char>(out.back() + 1);
            return out;
        }
        out.pop_back();
    }
    return out;
}

}  // namespace orrery
