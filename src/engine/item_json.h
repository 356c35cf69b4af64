#pragma once

#include <string>

#include "catalog/resources.h"
#include "partition/operation.h"

namespace orrery::engine {

/// The item as clients see it: its text, then the system properties.
/// Precondition: the document was decoded successfully when it was read from the store.
std::string item_json(const catalog::Container& container, const partition::StoredItem& item);

}  // namespace orrery::engine
