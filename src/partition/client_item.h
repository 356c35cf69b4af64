#pragma once

#include <string>
#include <string_view>

#include "json/document.h"
#include "partition/operation.h"
#include "partition/partition.h"

/// Items as clients see them: the stored text with the system properties.
namespace orrery::partition {

/// Writes a container's items for clients. Owned by one thread; reused from item to item.
class ItemWriter {
public:
    explicit ItemWriter(const ContainerSettings& settings);

    /// The item's system properties; valid until the next call.
    json::SystemProperties system(const json::DocumentHeader& header,
                                  const storage::Docref& docref);
    void append(std::string& out, const json::DocumentView& document,
                const storage::Docref& docref);
    /// Precondition: the item is a well-formed document.
    void append(std::string& out, const StoredItem& item);
    /// The same with `_lsn`, as in the change feed.
    void append_with_lsn(std::string& out, const StoredItem& item);

private:
    std::string rid_bytes_;  ///< the container's, then the item's part
    std::string self_;       ///< "dbs/…/colls/…/docs/", then the item's part
    const size_t rid_prefix_size_;
    const size_t self_prefix_size_;
    std::string rid_;
    std::string etag_;
};

std::string client_item(const ContainerSettings& settings, const StoredItem& item);

}  // namespace orrery::partition
