#pragma once

#include "cli/workload.h"

/// The workloads of `orrery bench`, the same for every system that is measured.
namespace orrery::bench {

using cli::item_id;
using cli::item_json;
using cli::Operation;
using cli::Workload;
using cli::WorkloadOptions;

}  // namespace orrery::bench
