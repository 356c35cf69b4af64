#include "engine/door.h"

#include "engine/engine.h"

namespace orrery::engine {

Door::Door(Engine& engine, RequestObserver* observer)
    : engine_(engine), account_(engine.account()), clock_(engine.clock()), observer_(observer) {}

Status Door::health() const {
    return engine_.store().health();
}

}  // namespace orrery::engine
