#include "query/functions/like.h"

#include "base/find_bytes.h"
#include "json/text.h"

namespace orrery::query {
namespace {

/// Tells which brackets begin a set that is closed. The places that were passed on the way to the
/// end of the pattern are remembered: thousands of open brackets do not each read all that follows.
class OpenBrackets {
public:
    OpenBrackets(const std::u32string& pattern, char32_t escape)
        : pattern_(pattern), escape_(escape) {}

    /// As LikePattern::add_set reads on from pattern[at] == '['.
    bool is_closed(size_t at) {
        size_t i = at + 1;
        if (i < pattern_.size() && pattern_[i] == U'^') ++i;
        passed_.clear();
        for (bool first = true; i < pattern_.size(); first = false, ++i) {
            if (!first && pattern_[i] == U']') return true;
            if (first && pattern_[i] == U']' && pattern_.find(U']', i + 1) == pattern_.npos)
                return true;  // "[]"
            if (!first) {
                if (!unclosed_.empty() && unclosed_[i]) break;
                passed_.push_back(i);
            }
            if (escape_ != 0 && pattern_[i] == escape_ && i + 1 < pattern_.size()) ++i;
            if (i + 2 < pattern_.size() && pattern_[i + 1] == U'-' && pattern_[i + 2] != U']')
                i += 2;
        }
        unclosed_.resize(pattern_.size());
        for (const size_t place : passed_) unclosed_[place] = true;
        return false;
    }

private:
    const std::u32string& pattern_;
    const char32_t escape_;
    std::vector<bool> unclosed_;
    std::vector<size_t> passed_;
};

}  // namespace

LikePattern::LikePattern(std::string_view pattern, char32_t escape) {
    const std::u32string p = json::decode_utf8(pattern);
    OpenBrackets brackets(p, escape);
    for (size_t i = 0; i < p.size(); ++i) {
        if (escape != 0 && p[i] == escape && i + 1 < p.size()) {
            tokens_.push_back({Kind::kCharacter, false, p[++i], {}});
        } else if (p[i] == U'%') {
            if (tokens_.empty() || tokens_.back().kind != Kind::kAnyRun)
                tokens_.push_back({Kind::kAnyRun, false, 0, {}});
        } else if (p[i] == U'_') {
            tokens_.push_back({Kind::kAnyOne, false, 0, {}});
        } else if (p[i] == U'[' && brackets.is_closed(i)) {
            i = add_set(p, i, escape);
        } else {
            tokens_.push_back({Kind::kCharacter, false, p[i], {}});
        }
    }
    find_shape();
}

/// Reads the set that begins at pattern[at] == '[' and is closed; returns the index of its last
/// character.
size_t LikePattern::add_set(const std::u32string& pattern, size_t at, char32_t escape) {
    Token token{Kind::kSet, false, 0, {}};
    size_t i = at + 1;
    if (i < pattern.size() && pattern[i] == U'^') {
        token.negated = true;
        ++i;
    }
    bool first = true;
    for (; i < pattern.size() && (pattern[i] != U']' || first); first = false, ++i) {
        if (pattern[i] == U']' && first) {
            // "[]": an empty set unless more follows; treat the bracket as its member.
            if (pattern.find(U']', i + 1) == std::u32string::npos) break;
        }
        if (escape != 0 && pattern[i] == escape && i + 1 < pattern.size()) ++i;
        const char32_t low = pattern[i];
        char32_t high = low;
        if (i + 2 < pattern.size() && pattern[i + 1] == U'-' && pattern[i + 2] != U']') {
            high = pattern[i + 2];
            i += 2;
        }
        token.spans.push_back({low, high});
    }
    if (!token.negated && token.spans.size() == 1 && token.spans[0].low == token.spans[0].high) {
        tokens_.push_back({Kind::kCharacter, false, token.spans[0].low, {}});
    } else {
        tokens_.push_back(std::move(token));
    }
    return i;
}

void LikePattern::find_shape() {
    size_t begin = 0;
    size_t end = tokens_.size();
    const bool open_start = begin < end && tokens_[begin].kind == Kind::kAnyRun;
    if (open_start) ++begin;
    const bool open_end = begin < end && tokens_[end - 1].kind == Kind::kAnyRun;
    if (open_end) --end;
    for (size_t i = begin; i < end; ++i) {
        if (tokens_[i].kind != Kind::kCharacter) return;
        json::append_utf8(literal_, tokens_[i].character);
    }
    if (open_start && begin == tokens_.size()) {
        shape_ = Shape::kContains;  // "%": everything contains the empty text
    } else if (open_start) {
        shape_ = open_end ? Shape::kContains : Shape::kSuffix;
    } else {
        shape_ = open_end ? Shape::kPrefix : Shape::kExact;
    }
}

bool LikePattern::accepts(const Token& token, char32_t c) {
    switch (token.kind) {
        case Kind::kCharacter:
            return token.character == c;
        case Kind::kAnyOne:
            return true;
        case Kind::kSet:
            for (const Span& span : token.spans)
                if (c >= span.low && c <= span.high) return !token.negated;
            return token.negated;
        case Kind::kAnyRun:
            break;
    }
    return false;
}

bool LikePattern::matches(std::string_view text) const {
    switch (shape_) {
        case Shape::kExact:
            return text == literal_;
        case Shape::kPrefix:
            return text.starts_with(literal_);
        case Shape::kSuffix:
            return text.ends_with(literal_);
        case Shape::kContains:
            return find_bytes(text, literal_) != std::string_view::npos;
        case Shape::kGeneral:
            break;
    }
    // Only the last % ever needs to be reconsidered, so this takes at most |text| * |pattern|
    // steps.
    size_t at = 0;
    size_t token = 0;
    size_t run_token = tokens_.size();  // the last % seen
    size_t run_at = 0;                  // where its run ends
    while (at < text.size()) {
        if (token < tokens_.size() && tokens_[token].kind == Kind::kAnyRun) {
            run_token = token++;
            run_at = at;
            continue;
        }
        size_t next = at;
        const char32_t c = json::next_code_point(text, next);
        if (token < tokens_.size() && accepts(tokens_[token], c)) {
            ++token;
            at = next;
        } else if (run_token < tokens_.size()) {
            token = run_token + 1;
            json::next_code_point(text, run_at);
            at = run_at;
        } else {
            return false;
        }
    }
    while (token < tokens_.size() && tokens_[token].kind == Kind::kAnyRun) ++token;
    return token == tokens_.size();
}

}  // namespace orrery::query
