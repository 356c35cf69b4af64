#include "engine/item_json.h"

#include "base/check.h"
#include "json/document.h"

namespace orrery::engine {

std::string item_json(const catalog::Container& container, const partition::StoredItem& item) {
    const auto document = json::decode_document(*item.document);
    CHECK(document.ok());
    const std::string rid = child_rid(container.rid, catalog::ChildType::kItem, item.docref.item_number());
    const std::string self = container.self() + "docs/" + rid + "/";
    const std::string etag = json::etag_text(document->header.etag_nonce, document->header.lsn);
    std::string out;
    out.reserve(document->text.size() + 256);
    json::SystemProperties system;
    system.rid = rid;
    system.self = self;
    system.etag = etag;
    system.ts = document->header.ts;
    json::append_item(out, document->text, system);
    return out;
}

}  // namespace orrery::engine
