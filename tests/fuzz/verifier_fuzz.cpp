// SPDX-License-Identifier: Apache-2.0
// The verifier judges any program that can be written, on two kinds of chip, and any instance of it.
#include "isa/diagnostic.h"
#include "isa/text.h"
#include "isa/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sfumato::isa;
    static const Chip split = load_chip("Ascend910B2", {}, "isa/chips"), merged = load_chip("Ascend910A", {}, "isa/chips");
    try {
        const Program p = parse_program({reinterpret_cast<const char*>(data), size}, "fuzz.sfa");
        verify(p, split);
        verify(p, merged);
    } catch (const InputError&) {
    }
    return 0;
}
