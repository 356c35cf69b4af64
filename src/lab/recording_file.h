#pragma once

#include <string>

#include "catalog/catalog.h"
#include "lab/recorder.h"

namespace orrery::lab {

/// Goes on from what `folder` has of an earlier run, and keeps what is recorded there from now on.
/// A recording that cannot be read or written is a line in the log and nothing else: it is
/// evidence, not data. To be called before the first request.
void keep_recording(Recorder& recorder, const catalog::Catalog& catalog, const std::string& folder);

}  // namespace orrery::lab
