#include "partition/client_item.h"

#include "base/bytes.h"
#include "base/check.h"
#include "base/encoding.h"

namespace orrery::partition {
namespace {

constexpr size_t kContainerRidBytes = 8;
constexpr size_t kDatabaseRidBytes = 4;

std::string items_link(const std::string& container_rid) {
    if (container_rid.size() != kContainerRidBytes) return {};
    return "dbs/" + rid_encode(container_rid.substr(0, kDatabaseRidBytes)) + "/colls/" +
           rid_encode(container_rid) + "/docs/";
}

}  // namespace

ItemWriter::ItemWriter(const ContainerSettings& settings)
    : rid_bytes_(settings.container_rid),
      self_(items_link(settings.container_rid)),
      rid_prefix_size_(rid_bytes_.size()),
      self_prefix_size_(self_.size()) {}

json::SystemProperties ItemWriter::system(const json::DocumentHeader& header,
                                          const storage::Docref& docref) {
    json::SystemProperties out;
    if (!self_.empty()) {
        rid_bytes_.resize(rid_prefix_size_);
        append_u64_le(rid_bytes_, docref.item_number());
        rid_ = rid_encode(rid_bytes_);
        self_.resize(self_prefix_size_);
        self_.append(rid_).push_back('/');
    }
    etag_ = json::etag_text(header.etag_nonce, header.lsn);
    out.rid = rid_;
    out.self = self_;
    out.etag = etag_;
    out.ts = header.ts;
    return out;
}

void ItemWriter::append(std::string& out, const json::DocumentView& document,
                        const storage::Docref& docref) {
    json::append_item(out, document.text, system(document.header, docref));
}

void ItemWriter::append(std::string& out, const StoredItem& item) {
    const auto document = json::decode_document(*item.document);
    CHECK(document.ok());
    append(out, *document, item.docref);
}

void ItemWriter::append_with_lsn(std::string& out, const StoredItem& item) {
    const auto document = json::decode_document(*item.document);
    CHECK(document.ok());
    json::SystemProperties properties = system(document->header, item.docref);
    properties.lsn = document->header.lsn;
    json::append_item(out, document->text, properties);
}

std::string client_item(const ContainerSettings& settings, const StoredItem& item) {
    std::string out;
    ItemWriter(settings).append(out, item);
    return out;
}

}  // namespace orrery::partition
