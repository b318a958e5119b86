// SPDX-License-Identifier: Apache-2.0
#include "isa/fields.h"
#include "isa/rules.h"

namespace sfumato::isa::rules {

namespace {

std::string type_names(TypeMask mask) {
    std::string out;
    for (int t = 0; t < kDTypeCount; ++t)
        if (mask & type_bit(static_cast<DType>(t))) out += (out.empty() ? "" : ", ") + std::string(name(static_cast<DType>(t)));
    return out;
}

void wants_type(const Context& c, const char* field, DType found, TypeMask allowed) {
    if (allowed & type_bit(found)) return;
    c.fail(Code::dtype, std::string(field) + " is " + std::string(name(found)) + ", allowed are " + type_names(allowed));
}

void wants_space(const Context& c, const char* field, const Operand& o, Space wanted, bool optional = false) {
    if (o.space == wanted || (optional && o.space == Space::none)) return;
    const auto shown = [](Space s) { return s == Space::none ? std::string("absent") : std::string(name(s)); };
    c.fail(Code::space, std::string(field) + " is " + (o.space == Space::none ? "absent" : "in " + std::string(name(o.space))) + ", it must be " +
                            (wanted == Space::none ? "absent" : "in " + shown(wanted)) + (optional ? " or absent" : ""));
}

void option(const Context& c, bool used, bool allowed, const char* what) {
    if (used && !allowed) c.fail(Code::unsupported, std::string(what));
}

void check(const Context& c, const InstrDesc& d, const Copy& o) {
    wants_space(c, "dst", o.dst, d.dst);
    wants_space(c, "src", o.src, d.src);
    wants_type(c, "dtype", o.dtype, d.types);
    option(c, o.transpose, d.dst == Space::l0a || d.dst == Space::l0b, "transpose is an option of mov_l1_l0a and mov_l1_l0b only");
    option(c, o.pad, d.op == Op::mov_gm_ub, "pad is an option of mov_gm_ub only");
    option(c, o.atomic != Atomic::none, d.dst == Space::gm, "atomic is an option of stores to GM only");
    option(c, o.cache != Cache::normal, d.dst == Space::gm || d.src == Space::gm, "cache is an option of GM accesses only");
}
void check(const Context& c, const InstrDesc& d, const Drain& o) {
    wants_space(c, "dst", o.dst, d.dst);
    wants_space(c, "src", o.src, d.src);
    wants_type(c, "dtype", o.dtype, d.types);
    if (d.types & type_bit(o.dtype)) wants_type(c, "dst_dtype", o.dst_dtype, drain_types(o.dtype));
    option(c, o.atomic != Atomic::none, d.dst == Space::gm, "atomic is an option of stores to GM only");
    option(c, o.cache != Cache::normal, d.dst == Space::gm, "cache is an option of GM accesses only");
}
void check(const Context& c, const InstrDesc& d, const Cube& o) {
    wants_space(c, "dst", o.dst, Space::l0c);
    wants_space(c, "a", o.a, Space::l0a);
    wants_space(c, "b", o.b, Space::l0b);
    wants_space(c, "bias", o.bias, Space::bt, true);
    wants_type(c, "dtype", o.dtype, d.types);
    if ((d.types & type_bit(o.dtype)) && c.chip.cube.per_fractal[static_cast<std::size_t>(o.dtype)] <= 0)
        c.fail(Code::unsupported, "the matrix unit of " + c.chip.name + " does not multiply " + std::string(name(o.dtype)));
}
void check(const Context& c, const InstrDesc& d, const Vector& o) {
    wants_space(c, "dst", o.dst, d.dst);
    wants_space(c, "src0", o.src0, d.src);
    wants_space(c, "src1", o.src1, reads_two_sources(d.op) ? Space::ub : Space::none);
    wants_type(c, "dtype", o.dtype, d.types);
    if (d.op != Op::vconv && d.op != Op::vcmp && o.dst_dtype != o.dtype)
        c.fail(Code::dtype, "dst_dtype is " + std::string(name(o.dst_dtype)) + " and dtype " + std::string(name(o.dtype)) + "; only vconv converts");
}
void check(const Context&, const InstrDesc&, const Scalar&) {}

void wants_pipe(const Context& c, CoreKind kind, const char* field, Pipe p, bool all_allowed) {
    if (p == Pipe::all ? all_allowed : has_pipe(kind, p)) return;
    c.fail(Code::unsupported, std::string(field) + " is pipe " + std::string(name(p)) + ", which " +
                                  (p == Pipe::all ? "only a barrier names" : "the core kind '" + std::string(name(kind)) + "' does not have"));
}
void sync(const Context& c, CoreKind kind, const Sync& o) {
    const Op op = c.instr.op;
    if (op == Op::barrier) {
        wants_pipe(c, kind, "src", o.src, true);
        if (o.src == Pipe::s)
            c.fail(Code::unsupported, "the scalar pipe S has no barrier: it issues in order and waits by itself; leave the barrier out");
        return;
    }
    const bool cross = op == Op::cross_set || op == Op::cross_wait;
    if (op != Op::cross_wait) wants_pipe(c, kind, "src", o.src, false);
    if (op != Op::cross_set) wants_pipe(c, kind, "dst", o.dst, false);
    if (!cross && o.src == o.dst)
        c.fail(Code::event_id, "both ends are pipe " + std::string(name(o.src)) + "; a flag orders two pipes, inside one pipe use a barrier");
    if (!cross) return;
    if (c.chip.cross.ids <= 0) c.fail(Code::unsupported, c.chip.name + " has no cross-core flags");
    if (o.mode < 0 || o.mode > kMaxCrossMode)
        c.fail(Code::range, "mode is " + std::to_string(o.mode) + ", allowed is 0 to " + std::to_string(kMaxCrossMode));
}

// Objects exist and lie in the space the operand names.
void objects(const Context& c) {
    std::visit(
        [&](const auto& family) {
            for_each_operand(family, [&](const char* field, const Operand& o, DType) {
                if (o.space == Space::none) return;
                const bool gm = o.space == Space::gm;
                const std::size_t count = gm ? c.program.tensors.size() : c.program.buffers.size();
                if (o.object < 0 && !gm) return;  // an absolute address
                if (o.object < 0 || static_cast<std::size_t>(o.object) >= count) {
                    c.fail(Code::space,
                           std::string(field) + " names " + (gm ? "tensor " : "buffer ") + std::to_string(o.object) + " of " + std::to_string(count));
                } else if (!gm && c.program.buffers[static_cast<std::size_t>(o.object)].space != o.space) {
                    c.fail(Code::space, std::string(field) + " is in " + std::string(name(o.space)) + " but buffer " +
                                            object_name(c.program, o.space, o.object) + " lies in " +
                                            std::string(name(c.program.buffers[static_cast<std::size_t>(o.object)].space)));
                }
            });
        },
        c.instr.operands);
}

}  // namespace

void structure(const Context& c, CoreKind kind) {
    const InstrDesc& d = desc(c.instr.op);
    if (c.instr.operands.index() != static_cast<std::size_t>(d.family)) {
        c.fail(Code::unsupported, "carries operands of another family, expected " + std::string(kFamilyNames[static_cast<std::size_t>(d.family)]));
        return;
    }
    if (!has_pipe(kind, d.pipe) || !has_space(kind, d.dst) || !has_space(kind, d.src))
        c.fail(Code::unsupported, "does not exist on the core kind '" + std::string(name(kind)) + "' (pipe " + std::string(name(d.pipe)) + ")");
    else if ((d.family == Family::Copy || d.family == Family::Drain) && c.chip.path(path_of(d.op)).rate <= 0)
        c.fail(Code::unsupported, c.chip.name + " has no data path from " + std::string(name(d.src)) + " to " + std::string(name(d.dst)));
    std::visit(
        [&](const auto& family) {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(family)>, Sync>)
                sync(c, kind, family);
            else
                check(c, d, family);
        },
        c.instr.operands);
    objects(c);
}

}  // namespace sfumato::isa::rules
