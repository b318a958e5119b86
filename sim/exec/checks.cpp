// SPDX-License-Identifier: Apache-2.0
#include "sim/exec/checks.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <type_traits>

#include "sim/exec/lanes.h"

namespace sfumato::sim {

namespace {

using I = std::int64_t;

isa::Diagnostic at_instr(const isa::Program& p, const isa::Instr& i, CoreRef core, isa::Code code, std::string message) {
    isa::Diagnostic d{code, std::move(message), {}, 0, 0, {}};
    if (i.source >= 0) {
        const isa::Source& s = p.sources[static_cast<std::size_t>(i.source)];
        d.file = s.file;
        d.line = s.line;
        d.column = s.column;
    }
    d.notes.push_back("on " + std::string(name(core.kind)) + " " + std::to_string(core.index) + ", pipe " + std::string(name(isa::pipe_of(i))));
    return d;
}

std::string object_name(const isa::Program& p, isa::Space space, std::int32_t object) {
    if (space == isa::Space::gm) return "tensor '" + p.tensors[static_cast<std::size_t>(object)].name + "'";
    if (object >= 0 && static_cast<std::size_t>(object) < p.buffers.size())
        return std::string(name(space)) + " (buffer '" + p.buffers[static_cast<std::size_t>(object)].name + "')";
    return std::string(name(space));
}

/// Calls f(name, operand) for the operands of an instance.
template <class T, class F>
void for_each_operand(const T& o, F&& f) {
    std::apply([&](const auto&... field) {
        const auto one = [&](const auto& fd) {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(o.*(fd.member))>, isa::BoundOperand>)
                if ((o.*(fd.member)).space != isa::Space::none) f(fd.name, o.*(fd.member));
        };
        (one(field), ...);
    }, T::fields());
}

// An operand lies inside its space even when there is no work: hardware computes the address before it looks at the mask.
template <class T>
std::optional<isa::Diagnostic> check_operands(const isa::Program& p, const isa::Chip& chip, CoreRef core, const isa::Instr& i, const T& o) {
    std::optional<isa::Diagnostic> out;
    for_each_operand(o, [&](const char* what, const isa::BoundOperand& operand) {
        if (out || operand.space == isa::Space::gm) return;
        const I size = chip.bytes(operand.space);
        if (operand.offset >= 0 && operand.offset < size) return;
        out = at_instr(p, i, core, isa::Code::out_of_bounds,
                       std::string(desc(i.op).name) + ": " + what + " is at byte " + std::to_string(operand.offset) + " of " +
                           object_name(p, operand.space, operand.object) + ", which has " + std::to_string(size) +
                           " bytes; an operand must lie inside even when there is no work");
    });
    return out;
}

/// Mixes the integers that verify_bound looks at; an offset in GM has no rule of its own.
struct Mixer {
    std::uint64_t h = 0xcbf29ce484222325ull;
    void operator()(std::uint64_t v) { h = (h ^ v) * 0x100000001b3ull, h ^= h >> 29; }
    template <class T>
    void field(const T& v) {
        if constexpr (std::is_same_v<T, isa::BoundOperand>) {
            (*this)(static_cast<std::uint64_t>(v.space) * 0x10001u + static_cast<std::uint64_t>(v.object));
            if (v.space != isa::Space::gm) (*this)(static_cast<std::uint64_t>(v.offset));
        } else if constexpr (std::is_same_v<T, double>) {
        } else {
            (*this)(static_cast<std::uint64_t>(v));
        }
    }
};

}  // namespace

bool SeenInstances::first(const isa::BoundInstr& b) {
    Mixer mix;
    mix(static_cast<std::uint64_t>(b.instr->id));
    std::visit([&](const auto& o) { std::apply([&](const auto&... f) { (mix.field(o.*(f.member)), ...); }, o.fields()); }, b.operands);
    return seen_.insert(mix.h).second;
}

std::optional<isa::Diagnostic> check_bound(const isa::Program& p, const isa::Chip& chip, CoreRef core, std::span<const int> tensor_map,
                                           const DeviceMemory& memory, const isa::BoundInstr& b, const isa::AccessList& accesses) {
    if (auto d = std::visit([&](const auto& o) { return check_operands(p, chip, core, *b.instr, o); }, b.operands)) return d;
    for (const isa::Access& a : accesses) {
        const I size = a.space == isa::Space::gm
                           ? memory.tensors[static_cast<std::size_t>(tensor_map[static_cast<std::size_t>(a.object)])].size
                           : chip.bytes(a.space);
        const I begin = std::min(a.start, a.start + (a.rows - 1) * a.pitch), end = std::max(a.end(), a.start + a.row_bytes);
        if (begin >= 0 && end <= size) continue;
        return at_instr(p, *b.instr, core, isa::Code::out_of_bounds,
                        std::string(desc(b.instr->op).name) + (a.write ? " writes" : " reads") + " bytes " + std::to_string(begin) + " to " +
                            std::to_string(end) + " (excluded) of " + object_name(p, a.space, a.object) + ", which has " + std::to_string(size) +
                            " bytes; check the offset and the valid extent of the tail");
    }
    return std::nullopt;
}

std::optional<isa::Diagnostic> check_load(const isa::Program& p, CoreRef core, std::span<const int> tensor_map, const DeviceMemory& memory,
                                          const isa::Load& load, std::int64_t index) {
    const isa::Tensor& t = p.tensors[static_cast<std::size_t>(load.tensor)];
    const DeviceTensor& device = memory.tensors[static_cast<std::size_t>(tensor_map[static_cast<std::size_t>(load.tensor)])];
    const I bytes = isa::bytes_of(t.dtype), count = device.size / bytes;
    const isa::Instr where{isa::Op::scalar_work, isa::Scalar{}, load.source, -1};
    if (index < 0 || index >= count)
        return at_instr(p, where, core, isa::Code::out_of_bounds,
                        "control load of element " + std::to_string(index) + " of tensor '" + t.name + "', which has " + std::to_string(count) +
                            " elements; clamp the index or guard the load");
    if (static_cast<I>(device.bytes.size()) < (index + 1) * bytes)
        return at_instr(p, where, core, isa::Code::uninitialised,
                        "control load of tensor '" + t.name + "' which has no bytes; control tensors need their contents in every mode");
    return std::nullopt;
}

std::int64_t Shadow::Bits::first_clear(std::int64_t begin, std::int64_t end) const {
    if (whole) return end;
    for (I i = begin; i < end;) {
        const I word = i / 64, bit = i % 64, n = std::min<I>(64 - bit, end - i);
        const std::uint64_t mask = (n == 64 ? ~0ull : ((1ull << n) - 1)) << bit;
        const std::uint64_t clear = ~words[static_cast<std::size_t>(word)] & mask;
        if (clear) return word * 64 + std::countr_zero(clear);
        i += n;
    }
    return end;
}

void Shadow::Bits::set(std::int64_t begin, std::int64_t end) {
    if (whole) return;
    for (I i = begin; i < end;) {
        const I word = i / 64, bit = i % 64, n = std::min<I>(64 - bit, end - i);
        words[static_cast<std::size_t>(word)] |= (n == 64 ? ~0ull : ((1ull << n) - 1)) << bit;
        i += n;
    }
}

Shadow::Shadow(const isa::Chip& chip, std::span<const CoreRef> cores, const DeviceMemory& memory)
    : cores_(cores.size()), tensors_(memory.tensors.size()), capacity_(chip.capacity) {
    for (const DeviceTensor& t : memory.tensors) sizes_.push_back(t.size);
}

void Shadow::begin_launch(const isa::Program& p, std::span<const int> tensor_map) {
    for (std::size_t i = 0; i < p.tensors.size(); ++i) {
        const isa::Role role = p.tensors[i].role;
        Bits& bits = tensors_[static_cast<std::size_t>(tensor_map[i])];
        // an input that an earlier launch of this run produced keeps its own record
        if ((role == isa::Role::in || role == isa::Role::inout) && bits.words.empty()) bits.whole = true;
    }
}

Shadow::Bits& Shadow::bits(int core, std::span<const int> tensor_map, const isa::Access& a) {
    const auto sized = [](Bits& b, I bytes) -> Bits& {
        if (!b.whole && b.words.empty()) b.words.assign(static_cast<std::size_t>(isa::ceil_div(bytes, 64)), 0);
        return b;
    };
    if (a.space != isa::Space::gm)
        return sized(cores_[static_cast<std::size_t>(core)][static_cast<std::size_t>(a.space)], capacity_[static_cast<std::size_t>(a.space)]);
    const auto t = static_cast<std::size_t>(tensor_map[static_cast<std::size_t>(a.object)]);
    return sized(tensors_[t], sizes_[t]);
}

namespace {

/// An access as runs of bytes: f(begin, end). Vector operands with lane gaps are split by lanes, all else is a rectangle.
template <class F>
void for_each_run(const isa::Access& a, F&& f) {
    for (I r = 0; r < a.rows; ++r) f(a.start + r * a.pitch, a.start + r * a.pitch + a.row_bytes);
}
template <class F>
void for_each_lane_run(const Lanes& lanes, I start, const LaneStrides& s, F&& f) {
    for (I r = 0; r < lanes.repeats(); ++r)
        Lanes::runs(s, r, lanes.active(r), [&](I offset, I first, I count) {
            if (!lanes.holes()) return f(start + offset, start + offset + count * s.size);
            for (I l = 0; l < count; ++l)
                if (lanes.enabled(first + l)) f(start + offset + l * s.size, start + offset + (l + 1) * s.size);
        });
}

/// The strides of the operand an access of a vector instruction came from; nullopt: the access is exact as a rectangle.
std::optional<LaneStrides> lane_strides(const isa::BoundInstr& b, const isa::VectorT<I>& v, const isa::Access& a, const Lanes& lanes) {
    const isa::Op op = b.instr->op;
    const isa::TimingClass t = desc(op).timing;
    if (op == isa::Op::vbrcb || op == isa::Op::vtrans) return std::nullopt;
    const bool dense = t == isa::TimingClass::v_cadd || t == isa::TimingClass::v_cmax || t == isa::TimingClass::v_cg || op == isa::Op::vcmp;
    const I size = isa::bytes_of(v.dtype);
    const auto pick = [&](I block, I repeat, I bytes) -> std::optional<LaneStrides> {
        if (block == 1 && !lanes.holes()) return std::nullopt;
        return LaneStrides{block, repeat, bytes};
    };
    if (a.write && dense) return std::nullopt;
    if (a.write && a.start == v.dst.offset) return pick(v.dst_block, v.dst_repeat, isa::bytes_of(v.dst_dtype));
    if (!a.write && a.start == v.src0.offset) return pick(v.src0_block, v.src0_repeat, size);
    if (!a.write && v.src1.space != isa::Space::none && a.start == v.src1.offset) return pick(v.src1_block, v.src1_repeat, size);
    if (a.start == v.dst.offset) return pick(v.dst_block, v.dst_repeat, isa::bytes_of(v.dst_dtype));
    if (pick(v.dst_block, v.dst_repeat, 1) || pick(v.src0_block, v.src0_repeat, 1) || pick(v.src1_block, v.src1_repeat, 1))
        return LaneStrides{1, 0, 0};  // tail rectangle of an operand handled whole with its first one
    return std::nullopt;
}

}  // namespace

std::optional<isa::Diagnostic> Shadow::step(const isa::Program& p, CoreRef core, std::span<const int> tensor_map, const isa::BoundInstr& b,
                                            const isa::AccessList& accesses) {
    std::optional<isa::Diagnostic> out;
    const auto* v = std::get_if<isa::VectorT<I>>(&b.operands);
    std::optional<Lanes> lanes;
    if (v) lanes.emplace(*v);
    // an atomic store reads what it adds to
    const auto* copy = std::get_if<isa::CopyT<I>>(&b.operands);
    const auto* drain = std::get_if<isa::DrainT<I>>(&b.operands);
    const bool atomic = (copy && copy->atomic == isa::Atomic::add) || (drain && drain->atomic == isa::Atomic::add);
    const auto runs = [&](const isa::Access& a, auto&& f) {
        std::optional<LaneStrides> strides;
        if (v) strides = lane_strides(b, *v, a, *lanes);
        if (!strides) for_each_run(a, f);
        else if (strides->size > 0) for_each_lane_run(*lanes, a.start, *strides, f);
    };
    for (const isa::Access& a : accesses) {
        if (a.write && !atomic) continue;
        const Bits& shadow = bits(core.ordinal, tensor_map, a);
        runs(a, [&](I begin, I end) {
            if (out) return;
            const I first = shadow.first_clear(begin, end);
            if (first < end)
                out = at_instr(p, *b.instr, core, isa::Code::uninitialised,
                               std::string(desc(b.instr->op).name) + " reads byte " + std::to_string(first) + " of " +
                                   object_name(p, a.space, a.object) + ", which nothing has written (it reads bytes " + std::to_string(a.start) +
                                   " to " + std::to_string(a.end()) + "); fill it first or shrink the valid extent");
        });
    }
    for (const isa::Access& a : accesses) {
        if (!a.write) continue;
        Bits& shadow = bits(core.ordinal, tensor_map, a);
        runs(a, [&](I begin, I end) { shadow.set(begin, end); });
    }
    return out;
}

}  // namespace sfumato::sim
