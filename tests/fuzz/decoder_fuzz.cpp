// SPDX-License-Identifier: Apache-2.0
// The decoder either refuses its input as an InputError or yields a program that encodes and decodes to itself.
#include <cstdlib>

#include "isa/diagnostic.h"
#include "isa/encode.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sfumato::isa;
    try {
        const Program p = decode({reinterpret_cast<const std::byte*>(data), size});
        const auto bytes = encode(p);
        if (encode(decode(bytes)) != bytes) std::abort();
    } catch (const InputError&) {
    }
    return 0;
}
