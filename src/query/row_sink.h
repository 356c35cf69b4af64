#pragma once

#include <cstddef>
#include <string_view>

#include "json/document.h"
#include "json/value.h"
#include "partition/partition.h"

namespace orrery::query {

/// An item that a page shows unchanged. Valid until the sink returns.
struct ShownItem {
    const json::Document& document;
    const storage::Docref& docref;
    const partition::ContainerSettings& settings;  ///< of its container
};

/// Takes the rows of a page, in their order, and gives them the form that its owner wants: whoever
/// asks supplies one. Used by one thread. Each row's size counts for the length of the page, that
/// of rows that are no items for the charge, too.
class RowSink {
public:
    virtual ~RowSink() = default;
    /// A page begins. What an attempt that was given up has added is forgotten.
    virtual void begin_page() = 0;
    virtual size_t add_item(const ShownItem& item) = 0;
    /// What a query made: a value, or its canonical JSON text.
    virtual size_t add_value(const json::Value& row) = 0;
    virtual size_t add_text(std::string_view row) = 0;
    /// About so many items of about so many bytes are to come.
    virtual void expect(size_t items, size_t item_bytes) = 0;
};

}  // namespace orrery::query
