#include "net/channel.h"

#include "net/detail/channel.h"

namespace orrery::net {

void Peer::send(std::string message, MessageKind kind) const {
    channel_->send(std::move(message), kind);
}

void Peer::trust(size_t message_bytes_max) const {
    channel_->trust(message_bytes_max);
}

void Peer::close() const {
    channel_->close_soon();
}

bool Peer::gone() const {
    return channel_->stream().client_gone();
}

size_t Peer::unsent_bytes() const {
    return channel_->unsent_bytes();
}

void Peer::run_on_loop(std::unique_ptr<LoopTask> task) const {
    channel_->stream().loop().run(std::move(task));
}

uint64_t Peer::connection() const {
    return channel_->stream().number();
}

bool Peer::is_loopback() const {
    return channel_->stream().peer_is_loopback();
}

bool Peer::tls() const {
    return channel_->stream().tls();
}

ChannelRequest::~ChannelRequest() {
    if (peer_.channel_ != nullptr) peer_.channel_->end_request();
}

}  // namespace orrery::net
