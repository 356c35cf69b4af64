#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partition/partition.h"
#include "storage/light_view.h"

namespace orrery::partition {

using DocumentPtr = std::shared_ptr<const std::string>;

/// Documents by docref, where they lie: in the item cache, else in the store. Owned by one thread;
/// reused from batch to batch.
class Documents {
public:
    Status read(const Partition& partition, const storage::View& view,
                const std::vector<storage::Docref>& docrefs);
    /// Of the docref at this place in the last read(), until the next; nullopt: there is none.
    std::optional<std::string_view> at(size_t i) const;
    /// The same, for longer; null: there is none.
    DocumentPtr share(size_t i) const;

private:
    std::vector<DocumentPtr> cached_;
    std::vector<size_t> places_;  ///< in stored_, of those that are not cached
    std::vector<std::string> keys_;
    std::unique_ptr<storage::PinnedValues> stored_;
};

/// Documents that outlive the view's blocks; null where there is none.
Result<std::vector<DocumentPtr>> load_documents(const Partition& partition,
                                                const storage::View& view,
                                                const std::vector<storage::Docref>& docrefs);

}  // namespace orrery::partition
