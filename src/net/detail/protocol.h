#pragma once

#include <memory>

#include "net/protocol_factory.h"
#include "net/tls.h"

namespace orrery::net::detail {

/// What is spoken on one connection: takes bytes from its input and fills its output. Owned by the
/// connection; all calls come on the loop's thread.
class Protocol {
public:
    virtual ~Protocol() = default;

    /// Takes from the input what it can and says whether it wants more (Connection::arm_read).
    /// Called after every event of the connection, whether or not bytes came.
    virtual void advance() = 0;
    /// The kernel has all that Connection::send() was given.
    virtual void on_sent() = 0;
    /// Somebody called Loop::wake().
    virtual void on_wake() = 0;
    /// The time given to Connection::set_deadline() has come.
    virtual void on_deadline() = 0;
    /// The server is stopping: the connection should end once nothing is under way.
    virtual void on_stop() = 0;
    /// The connection has ended. The object lives on for as long as somebody holds the connection.
    virtual void on_closed() = 0;
    /// The client sends no more; true: it is still to be sent something.
    virtual bool answer_due() const = 0;
};

/// What the connections of one port have in common. Immutable.
struct Origin {
    const TlsIdentity* tls;
    int64_t write_timeout_ms;
    ProtocolFactory make_protocol;
};

}  // namespace orrery::net::detail
