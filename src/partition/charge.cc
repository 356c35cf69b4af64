#include "partition/charge.h"

namespace orrery::partition {

meter::Charge charge_of(const OperationWork& work) {
    switch (work.kind) {
        case OperationKind::kCreate:
            return meter::create(work.new_bytes, work.terms_added);
        case OperationKind::kUpsert:
            if (!work.existed) return meter::create(work.new_bytes, work.terms_added);
            [[fallthrough]];
        case OperationKind::kReplace:
            return meter::replace(work.old_bytes, work.new_bytes, work.terms_removed,
                                  work.terms_added);
        case OperationKind::kPatch:
            return meter::patch(work.old_bytes, work.new_bytes, work.terms_removed,
                                work.terms_added, work.patch_operations);
        case OperationKind::kDelete:
            return meter::remove(work.old_bytes, work.terms_removed);
        case OperationKind::kRead:
            return meter::point_read(work.new_bytes);
    }
    return {};
}

meter::Charge charge_of(const OperationResult& result) {
    if (!result.status.ok()) {
        const Error& error = result.status.error();
        return meter::failure(error.http_status, error.sub_status);
    }
    if (result.not_modified) return meter::failure(304, 0);
    return charge_of(result.work);
}

}  // namespace orrery::partition
