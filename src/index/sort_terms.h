#pragma once

#include <string>

#include "base/bytes.h"
#include "index/terms.h"
#include "json/value.h"

namespace orrery::index {

/// An index term without the cut: orders values that share their first bytes.
inline void append_uncut_term(std::string& out, const json::Value& value) {
    std::string term;
    if (!append_term(term, value) || !value.is_string()) {
        out += term;
        return;
    }
    out.push_back(term[0]);
    append_delimited(out, value.as_string());
}

/// Turns the order of what stands from `from` on round.
inline void invert_term(std::string& bytes, size_t from) {
    for (size_t i = from; i < bytes.size(); ++i) bytes[i] = static_cast<char>(~bytes[i]);
}

}  // namespace orrery::index
