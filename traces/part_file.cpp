// SPDX-License-Identifier: Apache-2.0
#include "traces/part_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "isa/diagnostic.h"

namespace sfumato::traces {

namespace {
constexpr std::size_t kBuffer = 1 << 20;

[[noreturn]] void refuse(const std::string& path, const std::string& doing, int error) {
    throw isa::InputError(path + ": cannot " + doing + ": " + std::strerror(error) + "; choose a writable path with enough space");
}
}  // namespace

/// A file descriptor, with a gzip stream in front of it when the name asks for one.
struct PartFile::Stream {
    int fd = -1;
    int error = 0;  ///< errno of the first failure
    bool gzip = false;
    z_stream z{};
    std::string packed;

    void put(const char* data, std::size_t n) {
        while (n > 0 && error == 0) {
            const ssize_t done = ::write(fd, data, n);
            if (done < 0 && errno == EINTR) continue;
            if (done <= 0) {
                error = done < 0 ? errno : ENOSPC;
                return;
            }
            data += done;
            n -= static_cast<std::size_t>(done);
        }
    }
    void compress(std::string_view data, int mode) {
        z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
        z.avail_in = static_cast<uInt>(data.size());
        do {
            z.next_out = reinterpret_cast<Bytef*>(packed.data());
            z.avail_out = static_cast<uInt>(packed.size());
            deflate(&z, mode);
            put(packed.data(), packed.size() - z.avail_out);
        } while (z.avail_out == 0);
    }
    void start_gzip() {
        constexpr int kGzipWindow = 15 + 16;  // zlib: 16 asks for the gzip container
        gzip = true;
        packed.resize(kBuffer);
        isa::check(deflateInit2(&z, 1, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib starts");
    }
    void close() {
        if (gzip) deflateEnd(&z);
        if (fd >= 0 && ::close(fd) != 0 && error == 0) error = errno;
        fd = -1;
        gzip = false;
    }
    ~Stream() { close(); }
};

PartFile::PartFile(std::string path) : path_(std::move(path)), stream_(std::make_unique<Stream>()) {
    std::error_code none;
    const auto status = std::filesystem::status(path_, none);
    if (std::filesystem::is_directory(status)) refuse(path_, "write", EISDIR);
    const bool special = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
    part_ = special ? path_ : path_ + ".part";
    stream_->fd = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (stream_->fd < 0) refuse(path_, "write", errno);
    if (path_.ends_with(".gz")) stream_->start_gzip();
    buffer_.reserve(kBuffer);
}

PartFile::~PartFile() {
    if (!stream_) return;
    stream_->close();
    if (part_ != path_) ::unlink(part_.c_str());
}

void PartFile::write(std::string_view text) {
    if (buffer_.size() + text.size() > kBuffer) flush();
    if (text.size() > kBuffer) {
        stream_->gzip ? stream_->compress(text, Z_NO_FLUSH) : stream_->put(text.data(), text.size());
        return;
    }
    buffer_ += text;
}

void PartFile::flush() {
    if (stream_->error == 0) stream_->gzip ? stream_->compress(buffer_, Z_NO_FLUSH) : stream_->put(buffer_.data(), buffer_.size());
    buffer_.clear();
}

bool PartFile::failed() const { return stream_ && stream_->error != 0; }

void PartFile::commit() {
    flush();
    if (stream_->gzip && stream_->error == 0) stream_->compress({}, Z_FINISH);
    stream_->close();
    int error = stream_->error;
    if (error == 0 && part_ != path_ && ::rename(part_.c_str(), path_.c_str()) != 0) error = errno;
    if (error != 0 && part_ != path_) ::unlink(part_.c_str());
    stream_.reset();
    if (error != 0) refuse(path_, "write", error);
}

void write_file(const std::string& path, std::string_view text) {
    PartFile file(path);
    file.write(text);
    file.commit();
}

}  // namespace sfumato::traces
