#pragma once

#include "meter/charge.h"
#include "partition/operation.h"

namespace orrery::partition {

/// What a successful operation costs.
meter::Charge charge_of(const OperationWork& work, const meter::Pricing& pricing = {});
/// What an operation costs, whatever became of it: failures by their code.
meter::Charge charge_of(const OperationResult& result, const meter::Pricing& pricing = {});

}  // namespace orrery::partition
