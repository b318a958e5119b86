// SPDX-License-Identifier: Apache-2.0
#include "isa/pages.h"

#include "isa/diagnostic.h"
#include "isa/enum_names.h"
#include "isa/fields.h"
#include "isa/limits.h"

namespace sfumato::isa {

namespace {

constexpr std::string_view kFamilyDocs[] = {
    "Copies of `rows` x `cols` elements; pitches are elements from row to row, on an NZ side physical rows (a multiple of 16).",
    "Drains of an accumulator tile in NZ order with `src_pitch` physical rows, converted from `dtype` to `dst_dtype`.",
    "C[m, n] (+)= A[m, k] x B[k, n] on fractals; `init` 1 starts from zero or the bias, 0 continues the sum.",
    "Up to 256 bytes a repeat in 8 blocks of 32 bytes. Strides are in blocks. Mode counter processes `count` elements, mode normal `repeats` repeats "
    "of the lanes in `mask_hi:mask_lo`.",
    "Work of the scalar unit.",
    "Flags between pipes, barriers, flags between cores.",
};

struct TypeText {
    std::string_view type, form;
};
template <class T>
constexpr TypeText text_of() {
    if constexpr (IsOperand<T>::value)
        return {"place", "`SPACE:object[slot]+byte offset`, parts that are 0 left out"};
    else if constexpr (std::is_same_v<T, Expr>)
        return {"expression", "integer expression over symbols"};
    else if constexpr (std::is_same_v<T, bool>)
        return {"flag", "`true` or `false`"};
    else if constexpr (std::is_same_v<T, double>)
        return {"number", "floating-point number"};
    else if constexpr (std::is_same_v<T, std::uint64_t>)
        return {"bits", "64 bits, usually hexadecimal"};
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return {"integer", "integer"};
    else
        return {EnumNames<T>::what, ""};
}

std::string value_list(const auto& names) {
    std::string out;
    for (std::string_view n : names) out += (out.empty() ? "`" : ", `") + std::string(n) + "`";
    return out;
}

std::string type_list(TypeMask mask) {
    if (mask == kAnyType) return "any";
    std::string out;
    for (int t = 0; t < kDTypeCount; ++t)
        if (mask & type_bit(static_cast<DType>(t))) out += (out.empty() ? "" : " ") + std::string(name(static_cast<DType>(t)));
    return out;
}

std::string place(Space s) { return s == Space::none ? "-" : std::string(name(s)); }

std::string instructions() {
    std::string out =
        "## Instructions\n\n| mnemonic | pipe | family | destination | source | types | timing class | meaning "
        "|\n|---|---|---|---|---|---|---|---|\n";
    for (const InstrDesc& d : kInstructions) {
        const bool sync = d.family == Family::Sync;
        std::string meaning;  // a bar would end the table's cell
        for (char c : d.doc) meaning += c == '|' ? std::string("\\|") : std::string(1, c);
        out += "| `" + std::string(d.name) + "` | " + (sync ? "named" : std::string(name(d.pipe))) + " | " +
               kFamilyNames[static_cast<std::size_t>(d.family)] + " | " + place(d.dst) + " | " + place(d.src) + " | " +
               (sync || d.family == Family::Scalar ? "-" : type_list(d.types)) + " | " +
               std::string(kTimingClassNames[static_cast<std::size_t>(d.timing)]) + " | " + meaning + " |\n";
    }
    return out + "\n";
}

std::string families() {
    std::string out =
        "## Operand families\n\nA field that is not written has its default: 0, absent, the first pipe, or what the last column says.\n\n";
    for (std::size_t f = 0; f < std::size(kFamilyNames); ++f) {
        out += "### " + std::string(kFamilyNames[f]) + "\n\n" + std::string(kFamilyDocs[f]) + "\n\n| field | type | values |\n|---|---|---|\n";
        const Operands fresh = default_operands<Expr>(static_cast<Family>(f));
        std::visit(
            [&](const auto& family) {
                for_each_field(family, [&](const char* field, const auto& value) {
                    using T = std::remove_cvref_t<decltype(value)>;
                    std::string form(text_of<T>().form);
                    if constexpr (std::is_enum_v<T>) form = value_list(EnumNames<T>::list) + "; default `" + std::string(enum_name(value)) + "`";
                    out += "| `" + std::string(field) + "` | " + std::string(text_of<T>().type) + " | " + form + " |\n";
                });
            },
            fresh);
        out += "\n";
    }
    return out;
}

std::string limits() {
    std::string out =
        "## Limits\n\nThe same for every chip; capacities, alignments and flag ids are chip data (`docs/chips.md`). Both edges of each are "
        "tested.\n\n"
        "| limit | value | of what | source |\n|---|---|---|---|\n";
    for (const Limit& l : kLimits)
        out += "| `" + std::string(l.name) + "` | " + std::to_string(l.value) + " | " + std::string(l.doc) + " | " + std::string(l.source) + " |\n";
    return out + "\n";
}

std::string diagnostics() {
    std::string out = "## Diagnostics\n\n| code | meaning |\n|---|---|\n";
    const auto row = [&](Code c) { out += "| `" + std::string(name(c)) + "` | " + std::string(doc(c)) + " |\n"; };
#define X(code, text) row(Code::code);
    SFUMATO_DIAGNOSTICS(X)
#undef X
    return out;
}

std::string text_form() {
    return "## Text form\n\nOne statement a line, `#` begins a comment, `; file:line:column` after a statement names the author's source.\n\n```\n" +
           std::string(isa_example()) +
           "```\n\n"
           "| statement | meaning |\n|---|---|\n"
           "| `.program NAME` | first statement |\n"
           "| `.param NAME` | a launch parameter |\n"
           "| `.symbol NAME KIND` | a symbol of kind " +
           value_list(EnumNames<SymbolKind>::list) +
           " |\n"
           "| `.tensor NAME TYPE [EXTENT, ...] ROLE` | a row-major tensor in GM; role " +
           value_list(EnumNames<Role>::list) +
           " |\n"
           "| `.buffer NAME SPACE TYPE [EXTENT, ...] slots N slot_bytes N [base N] [why \"...\"]` | on-chip memory |\n"
           "| `.blocks EXPRESSION` | blocks of the launch |\n"
           "| `.section KIND` | what follows runs on core kind " +
           value_list(kCoreKindNames) +
           " |\n"
           "| `loop COUNTER < EXPRESSION [stages N] {` ... `}` | repeats with the counter 0, 1, ...; a counter that is not declared is declared here "
           "|\n"
           "| `when EXPRESSION {` ... `}` | runs when the value is not 0 |\n"
           "| `bump COUNTER` | adds 1 to a running counter |\n"
           "| `load SYMBOL = TENSOR[EXPRESSION]` | control load of an i32 or u32 element |\n"
           "| `MNEMONIC FIELD=VALUE ... [hand]` | an instruction; `hand`: its author orders it |\n\n"
           "Expressions, loosest first: `\\|\\|`, `&&`, `== < <=`, `+ -`, `* / %` (`/` rounds towards minus infinity, `%` has the sign of the "
           "divisor), `- !`,\n"
           "`min(a, b)`, `max(a, b)`, symbols, integers. Nesting is limited to 64 statements and 128 levels of an expression.\n\n";
}

}  // namespace

std::string_view isa_example() {
    return ".program scale\n"
           ".param n\n"
           ".symbol c counter\n"
           ".tensor x f16 [n] in\n"
           ".tensor y f16 [n] out\n"
           ".buffer a UB f16 [1024] slots 2 slot_bytes 2048 base 0\n"
           ".section aiv\n"
           "loop i < (n + 1023) / 1024 stages 2 {\n"
           "  mov_gm_ub dst=UB:a[c % 2] src=GM:x+2048*i dtype=f16 rows=1 cols=min(1024, n - 1024*i)\n"
           "  set_flag src=MTE2 dst=V id=c % 2\n"
           "  wait_flag src=MTE2 dst=V id=c % 2\n"
           "  vmuls dst=UB:a[c % 2] src0=UB:a[c % 2] dtype=f16 dst_dtype=f16 scalar=0.5 count=min(1024, n - 1024*i) dst_block=1 src0_block=1 "
           "dst_repeat=8 "
           "src0_repeat=8\n"
           "  set_flag src=V dst=MTE3 id=c % 2\n"
           "  wait_flag src=V dst=MTE3 id=c % 2\n"
           "  mov_ub_gm dst=GM:y+2048*i src=UB:a[c % 2] dtype=f16 rows=1 cols=min(1024, n - 1024*i)\n"
           "  barrier src=ALL\n"
           "  bump c\n"
           "}\n";
}

std::string isa_page() {
    return "# Instruction set\n\nGenerated from `isa/instructions.def`, `isa/operands.h`, `isa/limits.h` and `isa/diagnostic.h` by `sfumato isa "
           "--page`.\n\n" +
           instructions() + families() + text_form() + limits() + diagnostics();
}

}  // namespace sfumato::isa
