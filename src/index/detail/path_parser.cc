#include "index/detail/path_parser.h"

#include "base/errors.h"
#include "base/limits.h"

namespace orrery::index::detail {
namespace {

Error bad_path(std::string_view path, std::string_view why, size_t position) {
    return errors::bad_request("The indexing path '" + excerpt(path) +
                               "' could not be accepted, failed near position '" +
                               std::to_string(position) + "': " + std::string(why) + ".");
}

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Reads one path front to back.
class PathParser {
public:
    PathParser(std::string_view text, PathEnding ending) : text_(text), ending_(ending) {}

    Result<IndexPath> parse() {
        out_.text = text_;
        if (text_.empty() || text_.front() != '/') return fail("it must begin with '/'");
        while (true) {
            ++at_;  // behind '/'
            if (rest() == "*" || rest() == "?") break;
            TRY_STATUS(step());
            if (out_.steps.size() > limits::kNestingDepthMax)
                return fail("it is deeper than items can be");
            if (at_ == text_.size() && ending_ == PathEnding::kImplied) return std::move(out_);
            if (at_ == text_.size()) return fail("it must end in '/?' or '/*'");
            if (text_[at_] != '/') return fail("'/' is expected; put other names in double quotes");
        }
        out_.subtree = rest() == "*";
        if (!out_.subtree && out_.steps.empty()) return fail("the item itself is not a scalar");
        return std::move(out_);
    }

private:
    std::string_view rest() const { return text_.substr(at_); }
    Error fail(std::string_view why) const { return bad_path(text_, why, at_); }

    Status step() {
        if (rest().starts_with("[]")) {
            at_ += 2;
            out_.steps.push_back({.any_element = true, .name = ""});
            return {};
        }
        if (rest().starts_with("{"))
            return Status(errors::not_supported("A tuple index path ('" + excerpt(text_) + "')",
                                                "Index the members one by one instead."));
        if (rest().starts_with("\"")) return quoted();
        const size_t start = at_;
        while (at_ < text_.size() && is_plain(text_[at_])) ++at_;
        if (at_ == start)
            return Status(
                fail("a name is expected; names with characters other than letters, "
                     "digits and '_' need double quotes"));
        out_.steps.push_back(
            {.any_element = false, .name = std::string(text_.substr(start, at_ - start))});
        return {};
    }

    Status quoted() {
        std::string name;
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] == '\\') {
                ++at_;
                if (at_ == text_.size() || (text_[at_] != '"' && text_[at_] != '\\'))
                    return Status(fail("a backslash stands only before '\"' and '\\'"));
            }
            name.push_back(text_[at_]);
        }
        if (at_ == text_.size()) return Status(fail("a quoted name does not end"));
        ++at_;
        out_.steps.push_back({.any_element = false, .name = std::move(name)});
        return {};
    }

    std::string_view text_;
    const PathEnding ending_;
    size_t at_ = 0;
    IndexPath out_;
};

}  // namespace

std::string excerpt(std::string_view text) {
    constexpr size_t kExcerptBytesMax = 200;
    if (text.size() <= kExcerptBytesMax) return std::string(text);
    size_t end = kExcerptBytesMax;
    while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
    return std::string(text.substr(0, end)) + "...";
}

Error bad_policy(std::string_view why) {
    return errors::bad_request("The indexing policy is invalid: " + std::string(why) + ".");
}

Result<IndexPath> parse_index_path(std::string_view text, PathEnding ending) {
    return PathParser(text, ending).parse();
}

}  // namespace orrery::index::detail
