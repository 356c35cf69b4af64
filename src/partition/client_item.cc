#include "partition/client_item.h"

#include "base/bytes.h"
#include "base/encoding.h"

namespace orrery::partition {

SystemTexts system_texts(const ContainerSettings& settings, const json::DocumentHeader& header,
                         const storage::Docref& docref) {
    SystemTexts out;
    constexpr size_t kContainerRidBytes = 8;
    constexpr size_t kDatabaseRidBytes = 4;
    if (settings.container_rid.size() == kContainerRidBytes) {
        std::string bytes = settings.container_rid;
        append_u64_le(bytes, docref.item_number());
        out.rid = rid_encode(bytes);
        out.self = "dbs/" + rid_encode(settings.container_rid.substr(0, kDatabaseRidBytes)) +
                   "/colls/" + rid_encode(settings.container_rid) + "/docs/" + out.rid + "/";
    }
    out.etag = json::etag_text(header.etag_nonce, header.lsn);
    return out;
}

void append_client_item(std::string& out, const ContainerSettings& settings,
                        const json::DocumentView& document, const storage::Docref& docref) {
    const SystemTexts texts = system_texts(settings, document.header, docref);
    json::SystemProperties system;
    system.rid = texts.rid;
    system.self = texts.self;
    system.etag = texts.etag;
    system.ts = document.header.ts;
    json::append_item(out, document.text, system);
}

}  // namespace orrery::partition
