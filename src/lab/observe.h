#pragma once

#include <vector>

#include "base/status.h"
#include "engine/engine.h"
#include "lab/recorder.h"
#include "lab/rules/observation.h"
#include "lab/storage_ranking.h"

namespace orrery::lab {

/// What is known of a container now, from recorder, catalog and store. Worker thread.
Result<Observation> observe_container(const engine::Engine& engine, const Recorder& recorder,
                                      StorageRanking& ranking, const catalog::Container& container);

}  // namespace orrery::lab
