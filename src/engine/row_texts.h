#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/write.h"
#include "partition/client_item.h"
#include "query/row_sink.h"

namespace orrery::engine {

/// Rows as JSON texts, one behind the other in one text with commas between them, ready to be sent.
/// Items are as clients see them.
class RowTexts final : public query::RowSink {
public:
    RowTexts() = default;
    /// `front`: what the whole text begins with.
    explicit RowTexts(std::string front) : text_(std::move(front)), front_size_(text_.size()) {}

    void begin_page() override {
        text_.resize(front_size_);
        ends_.clear();
        settings_ = nullptr;
    }
    size_t add_item(const query::ShownItem& item) override {
        if (settings_ != &item.settings) writer_.emplace(item.settings);
        settings_ = &item.settings;
        return add_with([&] { writer_->append(text_, item.document, item.docref); });
    }
    size_t add_value(const json::Value& row) override {
        return add_with([&] { json::write(text_, row, json::NumberForm::kCanonical); });
    }
    size_t add_text(std::string_view row) override {
        return add_with([&] { text_ += row; });
    }
    void expect(size_t items, size_t item_bytes) override {
        constexpr size_t kRoomMax = 256 * 1024;
        constexpr size_t kBack = 64;  // what follows the last row
        constexpr size_t kSystemPropertiesBytes = 256;
        const size_t row_bytes = item_bytes + kSystemPropertiesBytes + 1;
        ends_.reserve(ends_.size() + std::min(items, kRoomMax / sizeof(size_t)));
        text_.reserve(text_.size() + std::min(items * row_bytes + kBack, kRoomMax));
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
    friend bool operator==(const RowTexts& a, const RowTexts& b) {
        return a.text_ == b.text_ && a.ends_ == b.ends_;
    }
    Iterator begin() const { return {*this, 0}; }
    Iterator end() const { return {*this, size()}; }

private:
    template <typename Append>
    size_t add_with(const Append& append) {
        if (!ends_.empty()) text_.push_back(',');
        const size_t before = text_.size();
        append();
        ends_.push_back(text_.size());
        return text_.size() - before;
    }

    std::string text_;
    size_t front_size_ = 0;
    std::vector<size_t> ends_;                                ///< in text_
    const partition::ContainerSettings* settings_ = nullptr;  ///< of writer_
    std::optional<partition::ItemWriter> writer_;
};

}  // namespace orrery::engine
