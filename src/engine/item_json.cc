#include "engine/item_json.h"

#include "base/check.h"
#include "json/document.h"

namespace orrery::engine {

ItemWriter::ItemWriter(const catalog::Container& container)
    : container_(container),
      self_(container.self() + "docs/"),
      self_prefix_size_(self_.size()) {}

void ItemWriter::append(std::string& out, const partition::StoredItem& item) {
    const auto document = json::decode_document(*item.document);
    CHECK(document.ok());
    const std::string rid =
        child_rid(container_.rid, catalog::ChildType::kItem, item.docref.item_number());
    self_.resize(self_prefix_size_);
    self_ += rid;
    self_ += '/';
    const std::string etag = json::etag_text(document->header.etag_nonce, document->header.lsn);
    json::SystemProperties system;
    system.rid = rid;
    system.self = self_;
    system.etag = etag;
    system.ts = document->header.ts;
    json::append_item(out, document->text, system);
}

std::string item_json(const catalog::Container& container, const partition::StoredItem& item) {
    std::string out;
    ItemWriter(container).append(out, item);
    return out;
}

}  // namespace orrery::engine
