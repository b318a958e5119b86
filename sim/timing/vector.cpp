// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "sim/timing/cost.h"

namespace sfumato::sim::timing {

namespace {

using I = std::int64_t;
using Vector = isa::VectorT<I>;

inline constexpr I kBlocksPerRepeat = isa::kRepeatBytes / isa::kBlockBytes;

// Blocks of one operand in one repeat: where they are and how far they step.
struct Stream {
    I start, block, repeat, blocks;
    bool operator==(const Stream&) const = default;
};

bool reduces(isa::TimingClass t) { return t == isa::TimingClass::v_cadd || t == isa::TimingClass::v_cmax || t == isa::TimingClass::v_cg; }
bool reads_destination(isa::Op op) { return op == isa::Op::vmla || op == isa::Op::vaxpy; }

// The operands a repeat touches, as block streams; reads first, then the write.
struct Streams {
    std::array<Stream, kBlocksPerRepeat> item;
    int reads = 0, all = 0;
};

Streams streams_of(isa::Op op, const Vector& v, I lanes) {
    const I width = std::max(isa::bytes_of(v.dtype), isa::bytes_of(v.dst_dtype));
    // masked lanes at the end of a repeat are not fetched
    const auto blocks = [&](isa::DType t) { return std::min(kBlocksPerRepeat * isa::bytes_of(t) / width, isa::ceil_div(lanes * isa::bytes_of(t), isa::kBlockBytes)); };
    Streams s;
    const auto add = [&](const isa::BoundOperand& o, I block, I repeat, I count) {
        if (o.space != isa::Space::ub) return;
        const Stream next{o.offset, block * isa::kBlockBytes, repeat * isa::kBlockBytes, block == 0 ? 1 : count};  // one block read once
        for (int k = 0; k < s.reads; ++k)
            if (s.item[static_cast<std::size_t>(k)] == next) return;  // both sources are the same blocks
        s.item[static_cast<std::size_t>(s.all++)] = next;
    };
    add(v.src0, v.src0_block, v.src0_repeat, op == isa::Op::vbrcb ? 1 : blocks(v.dtype));
    s.reads = s.all;
    add(v.src1, v.src1_block, v.src1_repeat, blocks(v.dtype));
    s.reads = s.all;
    if (reads_destination(op)) add(v.dst, v.dst_block, v.dst_repeat, blocks(v.dst_dtype));
    s.reads = s.all;
    const bool one_block = reduces(isa::desc(op).timing) || op == isa::Op::vcmp;  // results of a repeat fit a block
    s.item[static_cast<std::size_t>(s.all++)] = one_block ? Stream{v.dst.offset, isa::kBlockBytes, 0, 1}
                                                          : Stream{v.dst.offset, v.dst_block * isa::kBlockBytes, v.dst_repeat * isa::kBlockBytes, blocks(v.dst_dtype)};
    return s;
}

// What the blocks of one repeat ask of a bank group.
struct GroupUse {
    std::uint8_t reads = 0, writes = 0;
    std::uint32_t read_banks = 0, write_banks = 0;  ///< one bit a bank
};

// Cycles of repeat `r`, whose reads meet the write of the repeat before.
I repeat_cycles(const isa::Banks& banks, const Streams& s, I r) {
    std::array<GroupUse, isa::kRepeatBytes> use;
    const I groups = std::min<I>(banks.groups, isa::kRepeatBytes);
    std::fill(use.begin(), use.begin() + groups, GroupUse{});
    for (int k = 0; k < s.all; ++k) {
        const bool write = k >= s.reads;
        if (write && r == 0) continue;
        const Stream& t = s.item[static_cast<std::size_t>(k)];
        const I first = t.start + (write ? r - 1 : r) * t.repeat;
        const I step = t.block / banks.block_bytes % groups;
        I group = first / banks.block_bytes % groups, quotient = first / banks.bank_stride;
        std::uint32_t bank = std::uint32_t{1} << (quotient % banks.banks_per_group);
        for (I b = 0; b < t.blocks; ++b) {
            const I address = first + b * t.block;
            if (address >= (quotient + 1) * banks.bank_stride) bank = std::uint32_t{1} << ((quotient = address / banks.bank_stride) % banks.banks_per_group);
            GroupUse& g = use[static_cast<std::size_t>(group)];
            (write ? g.writes : g.reads)++;
            (write ? g.write_banks : g.read_banks) |= bank;
            group = group + step < groups ? group + step : group + step - groups;
        }
    }
    I worst = 1;
    for (I i = 0; i < groups; ++i) {
        const GroupUse& g = use[static_cast<std::size_t>(i)];
        const I shared = (g.read_banks & g.write_banks) != 0 ? 1 : 0;
        worst = std::max<I>(worst, std::max(g.reads, g.writes) + shared);
    }
    return worst;
}

}  // namespace

std::int64_t bank_cycles(const isa::Banks& banks, isa::Op op, const Vector& v, std::int64_t repeats) {
    if (banks.groups <= 0 || banks.banks_per_group <= 0 || repeats <= 0) return repeats;
    const Streams s = streams_of(op, v, isa::vector_shape(v).lanes);
    // When every operand moves by the same step the groups shift together and all repeats but the first are alike.
    bool together = true;
    for (int k = 1; k < s.all; ++k) together = together && s.item[static_cast<std::size_t>(k)].repeat == s.item[0].repeat;
    I total = repeat_cycles(banks, s, 0);
    if (together) return repeats == 1 ? total : total + (repeats - 1) * repeat_cycles(banks, s, 1);
    const I sampled = std::min(repeats, banks.groups + 1);  // the pattern of groups recurs after `groups` repeats
    for (I r = 1; r < sampled; ++r) total += repeat_cycles(banks, s, r);
    return total + (repeats > sampled ? (total - 1) * (repeats - sampled) / (sampled - 1) : 0);
}

LocalCost vector_cost(const isa::Chip& chip, isa::Op op, const Vector& v) {
    const isa::VectorShape shape = isa::vector_shape(v);
    const isa::DType wide = isa::bytes_of(v.dst_dtype) > isa::bytes_of(v.dtype) ? v.dst_dtype : v.dtype;
    const isa::VectorTiming& t = chip.vector_timing(isa::desc(op).timing, wide);
    LocalCost out;
    if (shape.repeats <= 0) return out;
    const I cycles = bank_cycles(chip.ub_banks, op, v, shape.repeats);
    // An instruction slower than the banks hides conflicts: a repeat costs the larger of its rate and its turns.
    const double plain = t.per_repeat * static_cast<double>(shape.repeats);
    const double busy = std::max(plain, static_cast<double>(cycles));
    const Tick without = to_ticks(std::max(t.interval, plain));
    out.occupy = cycles > shape.repeats ? to_ticks(std::max(t.interval, busy)) : without;
    out.conflict = out.occupy - without;
    // the interval spaces starts; a short instruction's results are ready before it has passed
    out.latency = std::max<Tick>(0, to_ticks(busy + t.head) - out.occupy);
    out.bytes = shape.elements * isa::bytes_of(v.dst_dtype);
    return out;
}

}  // namespace sfumato::sim::timing
