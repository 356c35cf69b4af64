#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::query {

/// Rows as JSON texts, one behind the other in one text with commas between them: whoever sends
/// them all sends that.
class RowTexts {
public:
    RowTexts() = default;
    /// `front`: what the whole text begins with.
    explicit RowTexts(std::string front) : text_(std::move(front)), front_size_(text_.size()) {}

    /// `append` is called with the text that the row is to be appended to.
    template <typename Append>
    void add_with(const Append& append) {
        if (!ends_.empty()) text_.push_back(',');
        append(text_);
        ends_.push_back(text_.size());
    }
    void add(std::string_view row) {
        add_with([&](std::string& text) { text += row; });
    }

    /// So many rows of about so many bytes are to come.
    void expect(size_t rows, size_t row_bytes) {
        constexpr size_t kRoomMax = 256 * 1024;
        constexpr size_t kBack = 64;  // what follows the last row
        ends_.reserve(ends_.size() + std::min(rows, kRoomMax / sizeof(size_t)));
        text_.reserve(text_.size() + std::min(rows * (row_bytes + 1) + kBack, kRoomMax));
    }

    size_t size() const { return ends_.size(); }
    bool empty() const { return ends_.empty(); }
    std::string_view operator[](size_t i) const {
        const size_t begin = i == 0 ? front_size_ : ends_[i - 1] + 1;
        return std::string_view(text_).substr(begin, ends_[i] - begin);
    }
    /// Front, rows and `back`. Afterwards only the number of rows is known.
    std::string take_text(std::string_view back) {
        text_ += back;
        return std::move(text_);
    }

    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = std::string_view;
        using difference_type = std::ptrdiff_t;
        using pointer = const std::string_view*;
        using reference = std::string_view;

        Iterator(const RowTexts& rows, size_t at) : rows_(&rows), at_(at) {}
        std::string_view operator*() const { return (*rows_)[at_]; }
        Iterator& operator++() {
            ++at_;
            return *this;
        }
        Iterator operator++(int) { return {*rows_, at_++}; }
        friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

    private:
        const RowTexts* rows_;
        size_t at_;
    };
    friend bool operator==(const RowTexts&, const RowTexts&) = default;
    Iterator begin() const { return {*this, 0}; }
    Iterator end() const { return {*this, size()}; }

private:
    std::string text_;
    size_t front_size_ = 0;
    std::vector<size_t> ends_;  ///< in text_
};

}  // namespace orrery::query
