// Items that the filter names.
#include <algorithm>

#include "base/errors.h"
#include "json/write.h"
#include "query/exec/page.h"
#include "storage/light_view.h"

namespace orrery::query {
namespace {

/// Names the first few; of the others it gives the number.
void append_id(AccessReport& report, const std::string& id) {
    constexpr uint64_t kNamed = 3;
    constexpr size_t kTextBytesMax = 200;
    std::string& text = report.detail;
    const std::string more =
        (report.candidates == 1 ? "id " : ", ") + json::to_text(json::Value::string(id));
    if (report.candidates <= kNamed && text.size() + more.size() <= kTextBytesMax) {
        text += more;
    } else {
        text = std::to_string(report.candidates) + (report.candidates == 1 ? " id" : " ids");
    }
}

/// Reads pins one after the other. Its position counts all of them, so that it holds in every part
/// of the range.
class Points final : public ItemSource {
public:
    Result<const FoundItem*> next(Page& page) override;
    void note(Page& page, Taken taken, uint64_t rows_done) override;
    void tell(Page& page) override;

private:
    std::optional<size_t> source_of(const Page& page, std::string_view epk) const;
    Result<partition::OperationResult> read(const SourceRange& source, const ItemKey& pin) const;
    static AccessReport& report_of(Page& page, size_t source);

    std::optional<uint64_t> at_;  ///< the pin in hand; nullopt: none yet
    partition::OperationResult read_;
    FoundItem item_;
    uint64_t matched_ = 0;
};

AccessReport& Points::report_of(Page& page, size_t source) {
    for (AccessReport& report : page.answer.accesses)
        if (report.partition == source) return report;
    AccessReport& report = page.answer.accesses.emplace_back();
    report.partition = source;
    report.access = "points";
    return report;
}

std::optional<size_t> Points::source_of(const Page& page, std::string_view epk) const {
    if (!page.scope.range.contains(epk)) return std::nullopt;
    for (size_t i = 0; i < page.scope.sources.size(); ++i)
        if (page.scope.sources[i].partition->identity().range.contains(epk)) return i;
    return std::nullopt;
}

Result<partition::OperationResult> Points::read(const SourceRange& source,
                                                const ItemKey& pin) const {
    storage::ReadBudget* const budget = storage::budget_of(*source.view);
    if (budget == nullptr) return source.partition->read(pin.epk, pin.id, "");
    auto cached = source.partition->read_cached(pin.epk, pin.id, "");
    budget->exceeded |= !cached;
    if (!cached) return errors::internal("An item is not in memory.");
    return std::move(*cached);
}

Result<const FoundItem*> Points::next(Page& page) {
    const std::vector<ItemKey>& pins = *page.plan.points;
    const bool resumed = page.resume.order == Position::Order::kWhole;
    if (!at_) page.position.order = Position::Order::kWhole;
    for (at_ = at_ ? *at_ + 1 : resumed ? page.resume.item_rows : 0; *at_ < pins.size(); ++*at_) {
        const ItemKey& pin = pins[*at_];
        const auto source = source_of(page, pin.epk);
        if (!source) continue;
        page.work_of(*source);
        AccessReport& report = report_of(page, *source);
        ++report.candidates;
        if (page.scope.explain) append_id(report, pin.id);
        TRY(read_, read(page.scope.sources[*source], pin));
        if (!read_.has_item) {
            if (!read_.status.ok() && read_.status.error().code != Code::kNotFound)
                return std::move(read_.status);
            continue;
        }
        TRY(item_.document, json::decode_document(*read_.item.document));
        item_.stored_bytes = read_.item.document->size();
        item_.docref = read_.item.docref;
        item_.source = *source;
        matched_ = page.answer.matched_items;
        return &item_;
    }
    return nullptr;
}

void Points::note(Page& page, Taken taken, uint64_t) {
    AccessReport& report = report_of(page, item_.source);
    report.loaded += taken == Taken::kPageFull ? 0 : 1;
    report.matched += page.answer.matched_items - matched_;
    if (taken == Taken::kPageFull) page.position.item_rows = *at_;
}

void Points::tell(Page& page) {
    page.touch_one();
    if (page.answer.accesses.empty()) report_of(page, 0);
    for (PartitionWork& work : page.answer.work) work.seeks = std::max<uint64_t>(work.seeks, 1);
}

}  // namespace

std::unique_ptr<ItemSource> read_points() {
    return std::make_unique<Points>();
}

}  // namespace orrery::query
