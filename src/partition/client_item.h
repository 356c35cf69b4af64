#pragma once

#include <string>

#include "json/document.h"
#include "partition/operation.h"
#include "partition/partition.h"

/// Items as clients see them: with the system properties.
namespace orrery::partition {

/// The texts of an item's system properties (`_ts` is in the document's header).
struct SystemTexts {
    std::string rid;
    std::string self;
    std::string etag;  ///< without quotes
};
SystemTexts system_texts(const ContainerSettings& settings, const json::DocumentHeader& header,
                         const storage::Docref& docref);

void append_client_item(std::string& out, const ContainerSettings& settings,
                        const json::DocumentView& document, const storage::Docref& docref);

}  // namespace orrery::partition
