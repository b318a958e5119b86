// SPDX-License-Identifier: Apache-2.0
// The text parser either refuses its input as an InputError or yields a program whose printed form is stable.
#include <cstdlib>

#include "isa/diagnostic.h"
#include "isa/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sfumato::isa;
    try {
        const Program p = parse_program({reinterpret_cast<const char*>(data), size}, "fuzz.sfa");
        const std::string text = print_program(p);
        if (print_program(parse_program(text, "printed.sfa")) != text) std::abort();
    } catch (const InputError&) {
    }
    return 0;
}
