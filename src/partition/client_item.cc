#include "partition/client_item.h"

#include "base/bytes.h"
#include "base/check.h"
#include "base/encoding.h"
#include "json/write.h"

namespace orrery::partition {
namespace {

constexpr size_t kContainerRidBytes = 8;
constexpr size_t kDatabaseRidBytes = 4;
constexpr size_t kItemRidBytes = 16;

}  // namespace

ItemWriter::ItemWriter(const ContainerSettings& settings) {
    const std::string& container_rid = settings.container_rid;
    std::string self;
    if (container_rid.size() == kContainerRidBytes) {
        self = "dbs/" + rid_encode(std::string_view(container_rid).substr(0, kDatabaseRidBytes)) +
               "/colls/" + rid_encode(container_rid) + "/docs/";
        rid_bytes_ = container_rid;
        rid_bytes_.resize(kItemRidBytes);
        rid_size_ = base64_size(kItemRidBytes);
    }
    // The values are the server's own and need no escapes.
    constexpr size_t kMembersBytes = 256;
    members_.reserve(kMembersBytes);
    members_ += "\"_rid\":\"";
    rid_at_ = members_.size();
    members_.append(rid_size_, ' ');
    members_ += "\",\"_self\":\"";
    self_at_ = members_.size();
    members_ += self;
    self_rid_at_ = members_.size();
    members_.append(rid_size_, ' ');
    if (rid_size_ > 0) members_ += '/';
    members_ += "\",\"_etag\":\"\\\"";
    etag_at_ = members_.size();
    members_.append(json::kEtagChars, ' ');
    members_ += "\\\"\",\"_attachments\":\"attachments/\",\"_ts\":";
    ts_at_ = members_.size();
    members_ += '0';
}

void ItemWriter::fill(const json::DocumentHeader& header, const storage::Docref& docref) {
    if (rid_size_ > 0) {
        store_u64_le(rid_bytes_.data() + kContainerRidBytes, docref.item_number());
        rid_encode_to(members_.data() + rid_at_, rid_bytes_);
        members_.replace(self_rid_at_, rid_size_, members_, rid_at_, rid_size_);
    }
    json::etag_text_to(members_.data() + etag_at_, header.etag_nonce, header.lsn);
    if (header.ts == ts_) return;
    ts_ = header.ts;
    members_.resize(ts_at_);
    json::write_number(members_, ts_);
}

SystemProperties ItemWriter::system(const json::DocumentHeader& header,
                                    const storage::Docref& docref) {
    fill(header, docref);
    const std::string_view all = members_;
    const size_t self_size = rid_size_ == 0 ? 0 : self_rid_at_ + rid_size_ + 1 - self_at_;
    return {all.substr(rid_at_, rid_size_), all.substr(self_at_, self_size),
            all.substr(etag_at_, json::kEtagChars), header.ts};
}

void ItemWriter::append(std::string& out, const json::Document& document,
                        const storage::Docref& docref) {
    fill(document.header, docref);
    document.append_to(out, members_);
}

void ItemWriter::append(std::string& out, const StoredItem& item) {
    const auto document = json::decode_document(*item.document);
    CHECK(document.ok());
    append(out, *document, item.docref);
}

void ItemWriter::append_with_lsn(std::string& out, const StoredItem& item) {
    const auto document = json::decode_document(*item.document);
    CHECK(document.ok());
    fill(document->header, item.docref);
    document->append_to(out, members_ + ",\"_lsn\":" + std::to_string(document->header.lsn));
}

std::string client_item(const ContainerSettings& settings, const StoredItem& item) {
    std::string out;
    ItemWriter(settings).append(out, item);
    return out;
}

}  // namespace orrery::partition
