#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heads/rest/call.h"

namespace orrery::rest {

/// How a batch is written: as JSON by most SDKs, as HybridRow by .NET. The first byte of a request
/// tells; the answer has the request's form.
enum class BatchForm : uint8_t { kJson, kHybridRow };
BatchForm batch_form(std::string_view body);

/// One operation of the body, with what its answer needs.
struct BatchItem {
    partition::ItemOperation operation;
    std::string partition_key;  ///< bulk: JSON array text; empty otherwise
    bool minimal = false;
    /// The error of this operation alone. It ends an atomic batch; in bulk it is only this
    /// operation's answer.
    Status refused;
};

/// Reads the operations of a request, in either form. 400 says which one is not of that form and
/// why.
Result<std::vector<BatchItem>> read_batch(const Call& call, BatchForm form);

/// The answer to a batch, written operation by operation.
class BatchAnswer {
public:
    BatchAnswer(const Call& call, BatchForm form);

    /// `minimal`: without the item.
    void add(const partition::OperationResult& result, meter::Charge charge, bool minimal);

    size_t bytes() const { return out_.size(); }
    /// 200, or 207 when an operation failed.
    int status() const { return failed_ ? 207 : 200; }
    std::string_view content_type() const;
    std::string take();

private:
    const Call& call_;
    const BatchForm form_;
    std::string out_;
    bool first_ = true;
    bool failed_ = false;
};

}  // namespace orrery::rest
