#pragma once

#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "engine/account.h"

namespace orrery::engine {

class Engine;
class RequestObserver;

/// Where heads come in: they open sessions here and find what every client may know of the account.
/// Only sessions and statements reach what is behind it. Immutable.
class Door {
public:
    /// `observer` is told of every statement; may be null. Both are borrowed and outlive this.
    Door(Engine& engine, RequestObserver* observer);

    const std::string& account_id() const { return account_.id(); }
    const AccountSettings& settings() const { return account_.settings(); }
    const Clock& clock() const { return clock_; }
    /// An error once the store takes no more writes.
    Status health() const;

private:
    friend class Session;
    friend class Statement;

    Engine& engine_;
    const Account& account_;
    const Clock& clock_;
    RequestObserver* const observer_;
};

}  // namespace orrery::engine
