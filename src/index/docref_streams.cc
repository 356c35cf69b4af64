#include "index/docref_streams.h"

#include <algorithm>

namespace orrery::index {
namespace {

class TermStream final : public DocrefStream {
public:
    TermStream(const PostingScope& scope, uint64_t path, const TermRange& range)
        : term_(range.begin), postings_(scope, path, range) {}
    bool valid() const override { return postings_.valid(); }
    std::string_view docref() const override { return postings_.docref(); }
    bool certain() const override { return !postings_.partial(); }
    void next() override { postings_.next(); }
    void seek(std::string_view docref) override {
        // Neighbours are reached faster by steps than by a search.
        for (int i = 0; i < kStepsBeforeSearch && valid() && this->docref() < docref; ++i) next();
        if (valid() && this->docref() < docref) postings_.seek(term_, docref);
    }
    Status status() const override { return postings_.status(); }
    std::optional<uint64_t> left() const override { return postings_.left(); }

private:
    static constexpr int kStepsBeforeSearch = 4;
    const std::string term_;
    Postings postings_;
};

bool comes_before(const ListedDocref& a, const ListedDocref& b) {
    const int order = a.docref.bytes().compare(b.docref.bytes());
    return order != 0 ? order < 0 : a.certain > b.certain;
}

class ListStream final : public DocrefStream {
public:
    explicit ListStream(std::vector<ListedDocref> list) : list_(std::move(list)) {
        // Entries of one value come in order.
        if (!std::is_sorted(list_.begin(), list_.end(), comes_before))
            std::sort(list_.begin(), list_.end(), comes_before);
        list_.erase(std::unique(list_.begin(), list_.end(),
                                [](const ListedDocref& a, const ListedDocref& b) {
                                    return a.docref == b.docref;
                                }),
                    list_.end());
    }
    bool valid() const override { return at_ < list_.size(); }
    std::string_view docref() const override { return list_[at_].docref.bytes(); }
    bool certain() const override { return list_[at_].certain; }
    void next() override { ++at_; }
    void seek(std::string_view docref) override {
        const auto from = list_.begin() + static_cast<ptrdiff_t>(at_);
        const auto found = std::lower_bound(
            from, list_.end(), docref,
            [](const ListedDocref& a, std::string_view b) { return a.docref.bytes() < b; });
        at_ = static_cast<size_t>(found - list_.begin());
    }
    Status status() const override { return {}; }

private:
    std::vector<ListedDocref> list_;
    size_t at_ = 0;
};

class ContinuedStream final : public DocrefStream {
public:
    ContinuedStream(std::vector<ListedDocref> read, DocrefStreamPtr rest)
        : head_(std::move(read)), rest_(std::move(rest)) {}
    bool valid() const override { return head_.valid() || rest_->valid(); }
    std::string_view docref() const override { return at().docref(); }
    bool certain() const override { return at().certain(); }
    void next() override { head_.valid() ? head_.next() : rest_->next(); }
    void seek(std::string_view docref) override {
        if (head_.valid()) head_.seek(docref);
        if (!head_.valid()) rest_->seek(docref);
    }
    Status status() const override { return rest_->status(); }

private:
    const DocrefStream& at() const {
        if (head_.valid()) return head_;
        return *rest_;
    }

    ListStream head_;
    const DocrefStreamPtr rest_;
};

class IntersectionStream final : public DocrefStream {
public:
    IntersectionStream(std::vector<DocrefStreamPtr> streams, bool complete)
        : streams_(std::move(streams)), complete_(complete) {
        settle();
    }
    bool valid() const override { return valid_; }
    std::string_view docref() const override { return streams_[0]->docref(); }
    bool certain() const override {
        return complete_ && std::all_of(streams_.begin(), streams_.end(),
                                        [](const auto& s) { return s->certain(); });
    }
    void next() override {
        streams_[0]->next();
        settle();
    }
    void seek(std::string_view docref) override {
        streams_[0]->seek(docref);
        settle();
    }
    Status status() const override {
        for (const auto& stream : streams_) TRY_STATUS(stream->status());
        return {};
    }

private:
    /// Moves everybody to the first docref that all have.
    void settle() {
        valid_ = false;
        for (size_t agreed = 1; streams_[0]->valid();) {
            if (agreed == streams_.size()) {
                valid_ = true;
                return;
            }
            DocrefStream& other = *streams_[agreed];
            other.seek(streams_[0]->docref());
            if (!other.valid()) return;
            if (other.docref() == streams_[0]->docref()) {
                ++agreed;
            } else {
                target_.assign(other.docref());
                streams_[0]->seek(target_);
                agreed = 1;
            }
        }
    }

    std::vector<DocrefStreamPtr> streams_;
    const bool complete_;
    std::string target_;
    bool valid_ = false;
};

class UnionStream final : public DocrefStream {
public:
    explicit UnionStream(std::vector<DocrefStreamPtr> streams) : streams_(std::move(streams)) {
        settle();
    }
    bool valid() const override { return least_ != nullptr; }
    std::string_view docref() const override { return least_->docref(); }
    bool certain() const override { return certain_; }
    void next() override {
        current_.assign(docref());
        for (const auto& stream : streams_)
            if (stream->valid() && stream->docref() == current_) stream->next();
        settle();
    }
    void seek(std::string_view docref) override {
        for (const auto& stream : streams_)
            if (stream->valid() && stream->docref() < docref) stream->seek(docref);
        settle();
    }
    Status status() const override {
        for (const auto& stream : streams_) TRY_STATUS(stream->status());
        return {};
    }

private:
    void settle() {
        least_ = nullptr;
        certain_ = false;
        for (const auto& stream : streams_) {
            if (!stream->valid()) continue;
            const int order = least_ == nullptr ? -1 : stream->docref().compare(least_->docref());
            if (order < 0) {
                least_ = stream.get();
                certain_ = stream->certain();
            } else if (order == 0) {
                certain_ |= stream->certain();
            }
        }
    }

    std::vector<DocrefStreamPtr> streams_;
    const DocrefStream* least_ = nullptr;
    bool certain_ = false;
    std::string current_;
};

}  // namespace

DocrefStreamPtr stream_term(const PostingScope& scope, uint64_t path_hash, const TermRange& term) {
    return std::make_unique<TermStream>(scope, path_hash, term);
}

DocrefStreamPtr stream_list(std::vector<ListedDocref> list) {
    return std::make_unique<ListStream>(std::move(list));
}

DocrefStreamPtr stream_after(std::vector<ListedDocref> read, DocrefStreamPtr rest) {
    return std::make_unique<ContinuedStream>(std::move(read), std::move(rest));
}

DocrefStreamPtr intersection(std::vector<DocrefStreamPtr> streams, bool complete) {
    if (complete && streams.size() == 1) return std::move(streams[0]);
    return std::make_unique<IntersectionStream>(std::move(streams), complete);
}

DocrefStreamPtr union_of(std::vector<DocrefStreamPtr> streams) {
    return std::make_unique<UnionStream>(std::move(streams));
}

}  // namespace orrery::index
