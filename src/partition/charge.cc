#include "partition/charge.h"

namespace orrery::partition {

meter::Charge charge_of(const OperationWork& work, const meter::Pricing& pricing) {
    switch (work.kind) {
        case OperationKind::kCreate:
            return meter::create(work.new_bytes, work.terms_added, pricing);
        case OperationKind::kUpsert:
            if (!work.existed) return meter::create(work.new_bytes, work.terms_added, pricing);
            [[fallthrough]];
        case OperationKind::kReplace:
            return meter::replace(work.old_bytes, work.new_bytes, work.terms_removed,
                                  work.terms_added, pricing);
        case OperationKind::kPatch:
            return meter::patch(work.old_bytes, work.new_bytes, work.terms_removed,
                                work.terms_added, work.patch_operations, pricing);
        case OperationKind::kDelete:
            return meter::remove(work.old_bytes, work.terms_removed, pricing);
        case OperationKind::kRead:
            return meter::point_read(work.new_bytes, pricing);
    }
    return {};
}

meter::Charge charge_of(const OperationResult& result, const meter::Pricing& pricing) {
    if (!result.status.ok()) return meter::failure(result.status.error().code, pricing);
    if (result.not_modified) return meter::not_modified(pricing);
    return charge_of(result.work, pricing);
}

}  // namespace orrery::partition
