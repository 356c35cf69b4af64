#pragma once

#include <string>

#include "catalog/resources.h"
#include "partition/operation.h"

namespace orrery::engine {

/// Writes a container's items as clients see them: the stored text with the system properties
/// spliced in. Owned by one thread.
class ItemWriter {
public:
    explicit ItemWriter(const catalog::Container& container);
    /// Precondition: the item is a well-formed document.
    void append(std::string& out, const partition::StoredItem& item);

private:
    const catalog::Container& container_;
    std::string self_;  ///< "dbs/…/colls/…/docs/", then the item's part
    const size_t self_prefix_size_;
};

std::string item_json(const catalog::Container& container, const partition::StoredItem& item);

}  // namespace orrery::engine
