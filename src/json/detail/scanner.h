#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "base/errors.h"
#include "json/detail/lexer.h"
#include "json/detail/names.h"
#include "json/detail/scan_handler.h"

namespace orrery::json::detail {

/// One strict pass over one JSON text. It checks everything and trusts nothing. Strings with
/// escapes are decoded into `arena`; all else borrows the text.
template <typename Handler>
class Scanner {
public:
    Scanner(std::string_view text, Handler& handler, Arena& arena, const ScanOptions& options)
        : begin_(text.data()),
          p_(text.data()),
          end_(text.data() + text.size()),
          handler_(handler),
          arena_(arena),
          options_(options) {
        if (options_.depth_max > kScanDepthCap) options_.depth_max = kScanDepthCap;
    }

    /// False: the text is refused and error() says why.
    bool run();
    Error error() const {
        return errors::bad_json(message_.empty() ? std::string_view(fault_.what) : message_,
                                static_cast<uint64_t>(fault_.at - begin_));
    }

private:
    struct Frame {
        Type type;
        NameTracker::Scope names;
    };

    bool fail(const char* what) { return fail(what, p_); }
    bool fail(const char* what, const char* at) {
        fault_ = {p_ == end_ && at == p_ ? "the text ends too early" : what, at};
        return false;
    }
    bool fail_duplicate(std::string_view name, const char* at) {
        fault_ = {"duplicate member name", at};
        size_t shown = std::min<size_t>(name.size(), 100);
        while (shown < name.size() && shown > 0 && (name[shown] & 0xC0) == 0x80) --shown;
        message_ = "duplicate member name '";
        message_.append(name.substr(0, shown)).append(shown < name.size() ? "…'" : "'");
        return false;
    }

    void skip_space() {
        if (p_ < end_ && static_cast<unsigned char>(*p_) <= ' ') [[unlikely]] {
            const char* const from = p_;
            while (p_ < end_ && is_space(*p_)) ++p_;
            if (p_ != from) handler_.space(from, p_);
        }
    }
    bool at(char c) const { return p_ < end_ && *p_ == c; }

    bool literal(std::string_view word, const Value& value) {
        if (static_cast<size_t>(end_ - p_) < word.size() ||
            std::memcmp(p_, word.data(), word.size()) != 0)
            return fail("unknown literal", p_);
        p_ += word.size();
        handler_.scalar(value);
        return true;
    }
    bool scalar();
    bool member_name();
    bool open(Type type);
    bool close();
    bool start_text();

    const char* const begin_;
    const char* p_;
    const char* const end_;
    Handler& handler_;
    Arena& arena_;
    ScanOptions options_;
    NameTracker names_;
    InlineStack<Frame, 32> frames_;
    Fault fault_;
    std::string message_;
};

template <typename Handler>
bool Scanner<Handler>::start_text() {
    if (end_ - begin_ > int64_t{UINT32_MAX}) return fail("the text is too long", end_);
    if (options_.check_utf8) {
        const char* bad = find_bad_utf8({begin_, static_cast<size_t>(end_ - begin_)});
        if (bad != nullptr) return fail("malformed UTF-8", bad);
    }
    if (std::string_view(begin_, static_cast<size_t>(end_ - begin_)).starts_with("\xEF\xBB\xBF"))
        return fail("a byte order mark is not allowed");
    skip_space();
    return true;
}

template <typename Handler>
bool Scanner<Handler>::scalar() {
    switch (*p_) {
        case '"': {
            StringToken token;
            if (!lex_string(p_, end_, arena_, token, fault_)) return false;
            if (token.escaped) handler_.escaped(token, p_);
            p_ = token.end;
            handler_.scalar(Value::string(token.value));
            return true;
        }
        case 't':
            return literal("true", Value::boolean(true));
        case 'f':
            return literal("false", Value::boolean(false));
        case 'n':
            return literal("null", Value::null());
        default: {
            if (*p_ != '-' && !is_digit(*p_)) return fail("a value is expected");
            Value value;
            const char* const behind = lex_number(p_, end_, value, fault_);
            if (behind == nullptr) return false;
            p_ = behind;
            handler_.scalar(value);
            return true;
        }
    }
}

template <typename Handler>
bool Scanner<Handler>::member_name() {
    if (!at('"')) return fail("a member name in double quotes is expected");
    StringToken token;
    if (!lex_string(p_, end_, arena_, token, fault_)) return false;
    if (options_.refuse_duplicate_names) {
        NameTracker::Scope& scope = frames_.back().names;
        if (!names_.add(scope, token.value, static_cast<uint32_t>(p_ - begin_)))
            return fail_duplicate(token.value, p_);
    }
    handler_.name(token, p_);
    if (token.escaped) handler_.escaped(token, p_);
    p_ = token.end;
    skip_space();
    if (!at(':')) return fail("':' is expected");
    ++p_;
    skip_space();
    return true;
}

template <typename Handler>
bool Scanner<Handler>::open(Type type) {
    if (frames_.size() >= options_.depth_max) return fail("too many levels of nesting");
    frames_.push({type, names_.open()});
    handler_.begin(type, p_);
    ++p_;
    skip_space();
    return true;
}

template <typename Handler>
bool Scanner<Handler>::close() {
    const Frame frame = frames_.back();
    frames_.truncate(frames_.size() - 1);
    ++p_;
    if (frame.type == Type::kObject && !names_.close(frame.names))
        return fail_duplicate(names_.duplicate(), begin_ + names_.duplicate_offset());
    handler_.end(frame.type, p_);
    return true;
}

template <typename Handler>
bool Scanner<Handler>::run() {
    if (!start_text()) return false;
value:
    if (p_ == end_) return fail("a value is expected");
    if (*p_ == '{') {
        if (!open(Type::kObject)) return false;
        if (!at('}')) goto member;
        if (!close()) return false;
    } else if (*p_ == '[') {
        if (!open(Type::kArray)) return false;
        if (!at(']')) goto element;
        if (!close()) return false;
    } else if (!scalar()) {
        return false;
    }
behind_value:
    handler_.after_value(p_);
    if (handler_.finished()) return true;
    skip_space();
    if (frames_.size() == 0) return p_ == end_ || fail("unexpected bytes behind the value");
    if (frames_.back().type == Type::kObject) {
        if (at(',')) {
            ++p_;
            skip_space();
            goto member;
        }
        if (!at('}')) return fail("',' or '}' is expected");
    } else {
        if (at(',')) {
            ++p_;
            skip_space();
            goto element;
        }
        if (!at(']')) return fail("',' or ']' is expected");
    }
    if (!close()) return false;
    goto behind_value;
member:
    if (!member_name()) return false;
    goto value;
element:
    handler_.element();
    goto value;
}

}  // namespace orrery::json::detail
