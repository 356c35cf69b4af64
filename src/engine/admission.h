#pragma once

#include <atomic>
#include <cstdint>

#include "catalog/resources.h"
#include "meter/budget.h"
#include "meter/charge.h"

namespace orrery::engine {

/// What a request brings along that decides its admission and its price.
struct RequestTerms {
    meter::Traffic traffic;
    bool strong = false;          ///< read under Strong or Bounded Staleness: costs twice
    bool exempt = false;          ///< the server's own work: neither refused nor paid
    bool maintains_view = false;  ///< may write to a materialized view
    /// Is told the number of the range that refused; borrowed, may be null.
    std::atomic<uint32_t>* refused_by = nullptr;
};

/// What one physical partition got of a request's charge.
struct RangeCharge {
    uint32_t range = 0;  ///< catalog::PartitionRange::number
    meter::Charge charge;
};

}  // namespace orrery::engine
