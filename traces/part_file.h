// SPDX-License-Identifier: Apache-2.0
#pragma once
// A result file appears whole or not at all: bytes go to `<path>.part`, which is renamed when everything is written and removed when anything
// failed. A name ending in .gz is compressed on the way. Devices and pipes are written directly, since renaming would replace them.
#include <memory>
#include <string>
#include <string_view>

namespace sfumato::traces {

class PartFile {
public:
    /// Opens the file; throws InputError when it cannot be created.
    explicit PartFile(std::string path);
    ~PartFile();
    PartFile(const PartFile&) = delete;
    PartFile& operator=(const PartFile&) = delete;

    /// Buffers and writes. Never throws: a failure is kept for commit(), so that this may be called from inside a running model.
    void write(std::string_view);
    /// Flushes, closes and renames. Throws InputError if anything could not be written; nothing is left behind then.
    void commit();
    bool failed() const;
    const std::string& path() const { return path_; }

private:
    struct Stream;
    void flush();
    std::string path_, part_;
    std::string buffer_;
    std::unique_ptr<Stream> stream_;
};

/// The whole of `text` as a file, by the same rule.
void write_file(const std::string& path, std::string_view text);

}  // namespace sfumato::traces
