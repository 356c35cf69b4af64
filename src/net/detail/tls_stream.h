#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/tls.h"

struct ssl_st;

namespace orrery::net::detail {

/// One side of a TLS connection, between two buffers in memory: the owner moves bytes to and from
/// the socket. Owned by one connection's loop.
class TlsStream {
public:
    enum class Read : uint8_t {
        kData,       ///< plaintext was delivered
        kNeedInput,  ///< all input is used up
        kClosed,     ///< the peer said goodbye
        kFailed,     ///< handshake or record error; an alert may wait in output()
    };

    /// Null when memory is short.
    static std::unique_ptr<TlsStream> create(const TlsIdentity& identity);
    ~TlsStream();
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;

    /// Appends what the socket delivered.
    void add_input(std::string_view bytes);
    /// Where the socket may put up to `size` bytes; only while input_used_up().
    char* input_space() { return input_.get(); }
    static constexpr size_t kInputBytes = 16 * 1024 + 512;
    void input_received(size_t count);
    bool input_used_up() const { return input_begin_ == input_end_; }

    /// Decrypts into `out`; `count` is set with kData. Runs the handshake as needed.
    Read read(char* out, size_t size, size_t& count);
    /// Encrypts all of `bytes` into output(). False when the connection is unusable.
    bool write(std::string_view bytes);
    /// Adds the goodbye to output().
    void close();

    bool handshake_done() const;
    std::string_view output() const { return std::string_view(output_).substr(output_sent_); }
    void output_sent(size_t count);

private:
    TlsStream() = default;
    friend struct MemoryBio;

    ssl_st* ssl_ = nullptr;
    std::unique_ptr<char[]> input_;  ///< ciphertext received, [input_begin_, input_end_) unread
    size_t input_begin_ = 0;
    size_t input_end_ = 0;
    std::string output_;  ///< ciphertext to send; the first output_sent_ bytes are gone
    size_t output_sent_ = 0;
    bool failed_ = false;
};

}  // namespace orrery::net::detail
