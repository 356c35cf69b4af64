#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "json/document.h"
#include "partition/operation.h"
#include "partition/partition.h"

/// Items as clients see them: the stored text with the system properties.
namespace orrery::partition {

/// What the server says of an item.
struct SystemProperties {
    std::string_view rid;
    std::string_view self;
    std::string_view etag;  ///< without quotes
    int64_t ts = 0;
};

/// Writes a container's items for clients: their own members, then _rid, _self, _etag,
/// _attachments, _ts. Owned by one thread; reused from item to item.
class ItemWriter {
public:
    explicit ItemWriter(const ContainerSettings& settings);

    /// The item's system properties; valid until the next call.
    SystemProperties system(const json::DocumentHeader& header, const storage::Docref& docref);
    void append(std::string& out, const json::Document& document, const storage::Docref& docref);
    /// Precondition: the item is a well-formed document.
    void append(std::string& out, const StoredItem& item);
    /// The same with `_lsn` at the end, as in the change feed.
    void append_with_lsn(std::string& out, const StoredItem& item);

private:
    /// Makes members_ those of this item.
    void fill(const json::DocumentHeader& header, const storage::Docref& docref);

    std::string rid_bytes_;  ///< the container's, then the item's part; empty: there are no rids
    size_t rid_size_ = 0;    ///< in characters
    /// The members as JSON. All of them but _ts are as long for every item, so each has its place.
    std::string members_;
    size_t rid_at_ = 0;
    size_t self_at_ = 0;
    size_t self_rid_at_ = 0;
    size_t etag_at_ = 0;
    size_t ts_at_ = 0;
    int64_t ts_ = 0;
};

std::string client_item(const ContainerSettings& settings, const StoredItem& item);

}  // namespace orrery::partition
