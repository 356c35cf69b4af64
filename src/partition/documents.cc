#include "partition/documents.h"

#include "base/errors.h"
#include "partition/partition.h"

namespace orrery::partition {

using storage::Docref;

namespace {

/// Of a budget, for what is made of a cached item.
constexpr uint64_t kRowSteps = 4;
constexpr size_t kBytesPerStep = 1024;

}  // namespace

Status Documents::read(const Partition& partition, const storage::View& view,
                       const std::vector<Docref>& docrefs) {
    storage::ReadBudget* const budget = storage::budget_of(view);
    cached_.resize(docrefs.size());
    places_.resize(docrefs.size());
    keys_.clear();
    partition.find_versions(view, docrefs, cached_);
    for (size_t i = 0; i < docrefs.size(); ++i) {
        places_[i] = keys_.size();
        if (cached_[i] == nullptr)
            keys_.push_back(storage::keys::item(partition.identity().id, docrefs[i]));
        else if (budget != nullptr &&
                 !budget->spend(kRowSteps + cached_[i]->size() / kBytesPerStep))
            return Status(errors::internal("An item is beyond the budget."));
    }
    if (keys_.empty()) return {};
    if (stored_ == nullptr) stored_ = storage::PinnedValues::make();
    TRY_STATUS(stored_->read(view, storage::Family::kItems, keys_));
    for (size_t i = 0; i < docrefs.size(); ++i) {
        if (cached_[i] != nullptr) continue;
        if (const auto document = stored_->at(places_[i]))
            partition.offer_version(view, docrefs[i], *document);
    }
    return {};
}

std::optional<std::string_view> Documents::at(size_t i) const {
    if (cached_[i] != nullptr) return *cached_[i];
    return stored_->at(places_[i]);
}

DocumentPtr Documents::share(size_t i) const {
    if (cached_[i] != nullptr) return cached_[i];
    const auto document = stored_->at(places_[i]);
    return document ? std::make_shared<const std::string>(*document) : nullptr;
}

Result<std::vector<DocumentPtr>> load_documents(const Partition& partition,
                                                const storage::View& view,
                                                const std::vector<Docref>& docrefs) {
    Documents documents;
    TRY_STATUS(documents.read(partition, view, docrefs));
    std::vector<DocumentPtr> out(docrefs.size());
    for (size_t i = 0; i < docrefs.size(); ++i) out[i] = documents.share(i);
    return out;
}

}  // namespace orrery::partition
