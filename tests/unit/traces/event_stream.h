// SPDX-License-Identifier: Apache-2.0
#pragma once
// A stream of events as the model would send it, made by a small model of its own: pipes issue and complete in order, MTE2 has several transfers in
// flight, a set takes effect with the work before it, a wait ends with its set.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "isa/text.h"
#include "sim/event.h"
#include "tests/support/program_builder.h"

namespace sfumato::testing {

/// A load, its flag and a vector instruction: ids 0 copy, 1 set, 2 wait, 3 vadd, 4 set back, 5 wait back.
inline isa::Program load_and_add() {
    ProgramBuilder b("load_and_add");
    const int x = b.tensor("x", isa::DType::f16, {4096});
    const int u = b.buffer("u", isa::Space::ub, 2048, 2);
    b.section(isa::CoreKind::aiv, [&] {
        b.loop(4, [&](isa::Expr i) {
            b.copy(isa::Op::mov_gm_ub, b.at(u, {}, b.p.exprs.mod(i, b.num(2))), b.gm(x), 1, 1024);
            b.set(isa::Pipe::mte2, isa::Pipe::v);
            b.wait(isa::Pipe::mte2, isa::Pipe::v);
            b.vector(isa::Op::vadd, b.at(u), b.at(u), b.at(u), 1024, isa::DType::f16);
            b.set(isa::Pipe::v, isa::Pipe::mte2);
            b.wait(isa::Pipe::v, isa::Pipe::mte2);
        });
    });
    isa::number_instructions(b.p);
    return b.p;
}

/// `tiles` rounds on `cores` vector cores; two transfers overlap. Sorted by end, as the model sends them.
inline std::vector<sim::Event> events_of(int cores, int tiles, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<sim::Event> out;
    std::int64_t flow = 0;
    for (int c = 0; c < cores; ++c) {
        const auto event = [&](sim::EventKind kind, isa::Pipe pipe, int instr, sim::Tick begin, sim::Tick end) -> sim::Event& {
            sim::Event e;
            e.kind = kind;
            e.pipe = pipe;
            e.core = {isa::CoreKind::aiv, static_cast<std::int16_t>(c), static_cast<std::int16_t>(c)};
            e.instr = instr;
            e.begin = begin;
            e.end = end;
            out.push_back(e);
            return out.back();
        };
        sim::Tick copy_begin = 100 + c, copy_end = 0, vector_end = 100, previous_copy_end = 0, freed = 0;
        for (int t = 0; t < tiles; ++t) {
            sim::Tick start = std::max(copy_begin + 20, previous_copy_end);
            if (t > 1) {  // MTE2 waits until the slot of two rounds ago is free
                auto& w = event(sim::EventKind::wait_flag, isa::Pipe::mte2, 5, start, std::max(start, freed));
                w.flow = flow - 3;
                start = w.end;
            }
            copy_begin = start;
            previous_copy_end = copy_end;
            copy_end = std::max(copy_begin + 50 + static_cast<sim::Tick>(random() % 100), copy_end + 1);
            event(sim::EventKind::instr, isa::Pipe::mte2, 0, copy_begin, copy_end).bytes = 2048;
            auto& set = event(sim::EventKind::set_flag, isa::Pipe::mte2, 1, copy_end, copy_end);
            set.flow = flow;
            set.flag_src = isa::Pipe::mte2, set.flag_dst = isa::Pipe::v;
            auto& wait = event(sim::EventKind::wait_flag, isa::Pipe::v, 2, vector_end, std::max(vector_end, copy_end));
            wait.flow = flow++;
            const sim::Tick v = wait.end;
            freed = vector_end;
            vector_end = v + 10 + static_cast<sim::Tick>(random() % 60);
            event(sim::EventKind::instr, isa::Pipe::v, 3, v, vector_end);
            auto& back = event(sim::EventKind::set_flag, isa::Pipe::v, 4, vector_end, vector_end);
            back.flow = flow++;
            back.flag_src = isa::Pipe::v, back.flag_dst = isa::Pipe::mte2;
        }
    }
    std::stable_sort(out.begin(), out.end(), [](const sim::Event& a, const sim::Event& b) { return a.end < b.end; });
    return out;
}

}  // namespace sfumato::testing
