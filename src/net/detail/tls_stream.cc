#include "net/detail/tls_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "base/check.h"
#include "net/detail/tls_context.h"

namespace orrery::net::detail {

/// The library's view of the stream's two buffers. Reads say "retry" when the input is used up;
/// writes always succeed, so encryption never waits.
struct MemoryBio {
    static TlsStream& stream(BIO* bio) { return *static_cast<TlsStream*>(BIO_get_data(bio)); }

    static int read(BIO* bio, char* out, int size) {
        TlsStream& s = stream(bio);
        BIO_clear_retry_flags(bio);
        const size_t count =
            std::min(static_cast<size_t>(std::max(size, 0)), s.input_end_ - s.input_begin_);
        if (count == 0) {
            BIO_set_retry_read(bio);
            return -1;
        }
        std::memcpy(out, s.input_.get() + s.input_begin_, count);
        s.input_begin_ += count;
        return static_cast<int>(count);
    }

    static int write(BIO* bio, const char* bytes, int size) {
        BIO_clear_retry_flags(bio);
        stream(bio).output_.append(bytes, static_cast<size_t>(std::max(size, 0)));
        return size;
    }

    static long control(BIO*, int command, long, void*) {
        return command == BIO_CTRL_FLUSH ? 1 : 0;
    }

    static int create(BIO* bio) {
        BIO_set_init(bio, 1);
        return 1;
    }

    static BIO_METHOD* method() {
        static BIO_METHOD* const shared = [] {
            BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "orrery");
            CHECK(m != nullptr);
            BIO_meth_set_read(m, read);
            BIO_meth_set_write(m, write);
            BIO_meth_set_ctrl(m, control);
            BIO_meth_set_create(m, create);
            return m;
        }();
        return shared;
    }
};

std::unique_ptr<TlsStream> TlsStream::create(const TlsIdentity& identity) {
    std::unique_ptr<TlsStream> stream(new TlsStream());
    stream->ssl_ = SSL_new(identity.context().ssl.get());
    BIO* bio = BIO_new(MemoryBio::method());
    if (stream->ssl_ == nullptr || bio == nullptr) {
        BIO_free(bio);
        return nullptr;
    }
    BIO_set_data(bio, stream.get());
    SSL_set_bio(stream->ssl_, bio, bio);
    SSL_set_accept_state(stream->ssl_);
    stream->input_ = std::make_unique_for_overwrite<char[]>(kInputBytes);
    return stream;
}

TlsStream::~TlsStream() {
    SSL_free(ssl_);
}

void TlsStream::add_input(std::string_view bytes) {
    DCHECK(input_used_up() && bytes.size() <= kInputBytes);
    std::memcpy(input_.get(), bytes.data(), bytes.size());
    input_received(bytes.size());
}

void TlsStream::input_received(size_t count) {
    DCHECK(input_used_up() && count <= kInputBytes);
    input_begin_ = 0;
    input_end_ = count;
}

TlsStream::Read TlsStream::read(char* out, size_t size, size_t& count) {
    if (failed_) return Read::kFailed;
    ERR_clear_error();
    const int wanted = static_cast<int>(std::min<size_t>(size, INT_MAX));
    const int got = SSL_read(ssl_, out, wanted);
    if (got > 0) {
        count = static_cast<size_t>(got);
        return Read::kData;
    }
    switch (SSL_get_error(ssl_, got)) {
        case SSL_ERROR_WANT_READ:
            return Read::kNeedInput;
        case SSL_ERROR_ZERO_RETURN:
            return Read::kClosed;
        default:
            failed_ = true;
            return Read::kFailed;
    }
}

bool TlsStream::write(std::string_view bytes) {
    while (!bytes.empty() && !failed_) {
        ERR_clear_error();
        const int count = static_cast<int>(std::min<size_t>(bytes.size(), INT_MAX));
        const int written = SSL_write(ssl_, bytes.data(), count);
        if (written <= 0) {
            failed_ = true;
        } else {
            bytes.remove_prefix(static_cast<size_t>(written));
        }
    }
    return !failed_;
}

void TlsStream::close() {
    if (failed_ || !handshake_done()) return;
    ERR_clear_error();
    SSL_shutdown(ssl_);
}

bool TlsStream::handshake_done() const {
    return SSL_is_init_finished(ssl_) != 0;
}

void TlsStream::output_sent(size_t count) {
    constexpr size_t kKeepBytes = 32 * 1024;
    output_sent_ += count;
    DCHECK(output_sent_ <= output_.size());
    if (output_sent_ < output_.size()) return;
    output_sent_ = 0;
    output_.clear();
    if (output_.capacity() > kKeepBytes) output_.shrink_to_fit();
}

}  // namespace orrery::net::detail
