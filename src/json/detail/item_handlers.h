#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "json/detail/inline_stack.h"
#include "json/detail/lexer.h"
#include "json/item.h"

/// Building blocks of the scan handlers in item.cc. Depth is the number of open containers: 1 for
/// the item's own members.
namespace orrery::json::detail {

/// Forwards a scan to an ItemVisitor, but not the subtrees that the visitor refused.
class VisitorFeed {
public:
    explicit VisitorFeed(ItemVisitor* visitor) : visitor_(visitor), muted_(visitor == nullptr) {}

    void member(uint32_t depth, std::string_view name) {
        if (!muted_ && !visitor_->enter_member(name)) mute(depth);
    }
    void element(uint32_t depth) {
        if (!muted_ && !visitor_->enter_element()) mute(depth);
    }
    /// No events until the value that follows at this depth has ended.
    void mute(uint32_t depth) {
        if (muted_) return;
        muted_ = true;
        muted_depth_ = depth;
    }
    void scalar(uint32_t depth, const Value& value) {
        if (!muted_ && depth > 0) visitor_->scalar(value);
    }
    void container(uint32_t depth, Type type) {
        if (!muted_ && depth > 0) visitor_->container(type);
    }
    void after_value(uint32_t depth) {
        if (!muted_) {
            if (depth > 0) visitor_->leave();
        } else if (muted_depth_ == depth) {
            muted_ = false;
        }
    }

private:
    ItemVisitor* const visitor_;
    bool muted_;
    uint32_t muted_depth_ = std::numeric_limits<uint32_t>::max();
};

/// Tells which of some member paths a value stands at.
class PathMatcher {
public:
    explicit PathMatcher(const std::vector<MemberPath>* paths) : paths_(paths) {
        if (paths_ == nullptr) return;
        for (const MemberPath& path : *paths_) {
            matched_.push(0);
            longest_ = std::max(longest_, path.size());
        }
    }

    void member(uint32_t depth, std::string_view name) {
        if (depth > longest_) return;
        for (size_t i = 0; i < matched_.size(); ++i) {
            const MemberPath& path = (*paths_)[i];
            if (matched_[i] != depth - 1 || path.size() < depth || path[depth - 1] != name)
                continue;
            if (path.size() == depth) {
                found_.push(static_cast<uint32_t>(i));
            } else {
                matched_[i] = depth;
                deepest_ = std::max(deepest_, depth);
            }
        }
    }
    /// The indexes of the paths that end at the value now beginning; the caller clears them.
    InlineStack<uint32_t, 8>& found() { return found_; }
    void after_value(uint32_t depth) {
        if (deepest_ < depth || depth == 0) return;
        deepest_ = depth - 1;
        for (size_t i = 0; i < matched_.size(); ++i) matched_[i] = std::min(matched_[i], deepest_);
    }

private:
    const std::vector<MemberPath>* const paths_;
    size_t longest_ = 0;
    uint32_t deepest_ = 0;              ///< greatest of matched_
    InlineStack<uint32_t, 8> matched_;  ///< per path: how many of its names lead here
    InlineStack<uint32_t, 8> found_;
};

/// Copies a text without white space, dropped members and needless escapes, in runs as long as
/// possible: a text that is minified already is copied at once.
class Minifier {
public:
    Minifier(std::string& out, std::string_view source) : out_(out), run_(source.data()) {
        out_.reserve(source.size());  // the result is never longer
    }

    void space(const char* from, const char* to) {
        if (dropping_) return;
        if (!skip_comma_) flush(from);
        run_ = to;
    }
    void escaped(const StringToken& token, const char* at);
    /// Every member of the outermost object passes through one of these two.
    void keep_member(const char* at) {
        if (skip_comma_) run_ = at;
        skip_comma_ = false;
        any_kept_ = true;
    }
    void drop_member(const char* at) {
        if (!skip_comma_) flush(at);
        if (any_kept_) out_.pop_back();  // the comma in front of it
        dropping_ = true;
    }
    void after_member(const char* behind) {
        if (!dropping_) return;
        run_ = behind;
        dropping_ = false;
        skip_comma_ = !any_kept_;
    }
    void finish(const char* closing_brace) {
        if (skip_comma_) run_ = closing_brace;
        flush(closing_brace + 1);
        run_ = closing_brace + 1;
    }

private:
    void flush(const char* to) { out_.append(run_, static_cast<size_t>(to - run_)); }

    std::string& out_;
    const char* run_;  ///< text from here to the scan's position is not copied yet
    bool any_kept_ = false;
    bool dropping_ = false;
    bool skip_comma_ = false;  ///< only dropped members precede the next comma
};

}  // namespace orrery::json::detail
