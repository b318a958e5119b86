// SPDX-License-Identifier: Apache-2.0
#pragma once
// The value rules of the verifier, written once over `E`: an integer in a bound instance, an interval in a program. A rule over intervals is
// broken only when every value breaks it, so one source serves the compile-time proof and the run-time check.
#include <string>
#include <vector>

#include "isa/chip.h"
#include "isa/diagnostic.h"
#include "isa/limits.h"
#include "isa/walker.h"

namespace sfumato::isa::rules {

/// Where violations of one instruction go.
struct Context {
    const Program& program;
    const Chip& chip;
    const Instr& instr;
    std::vector<Diagnostic>& out;

    /// `message` follows the mnemonic.
    void fail(Code code, const std::string& message) const;
};

/// Limits of fields, shapes and flag ids.
void fields(const Context&, const BoundOperands&);
void fields(const Context&, const OperandsT<Interval>&);

/// Rules that need exact addresses: alignment, accesses inside their buffer, overlap of vector operands.
void addresses(const Context&, const BoundOperands&);
/// The overlap rule alone.
void vector_overlap(const Context&, const VectorT<std::int64_t>&);

/// A value known to be `residue` modulo `modulus` (modulus 0: exactly `residue`, 1: nothing known).
struct Congruence {
    std::int64_t modulus = 1, residue = 0;
};
Congruence congruence(const ExprPool&, Expr);
/// Alignment of symbolic addresses, as far as congruences prove a violation.
void symbolic_alignment(const Context&);

/// Spaces, objects, types and options of an instruction: what does not depend on values.
void structure(const Context&, CoreKind);

/// The name of an operand's buffer or tensor in quotes, for messages.
std::string object_name(const Program&, Space, std::int32_t object);
void add(std::vector<Diagnostic>& out, const Program&, Code, std::string message, SourceId);

/// f(name, operand, element type) for every present operand of a family.
template <class FamilyStruct, class F>
void for_each_operand(const FamilyStruct& o, F&& f) {
    if constexpr (requires { o.src0; }) {  // vector
        f("dst", o.dst, o.dst_dtype), f("src0", o.src0, o.dtype), f("src1", o.src1, o.dtype);
    } else if constexpr (requires { o.bias; }) {  // cube
        f("dst", o.dst, DType::f32), f("a", o.a, o.dtype), f("b", o.b, o.dtype), f("bias", o.bias, DType::f32);
    } else if constexpr (requires { o.relu; }) {  // drain
        f("dst", o.dst, o.dst_dtype), f("src", o.src, o.dtype);
    } else if constexpr (requires { o.cols; }) {  // copy
        f("dst", o.dst, o.dtype), f("src", o.src, o.dtype);
    }
}

}  // namespace sfumato::isa::rules
