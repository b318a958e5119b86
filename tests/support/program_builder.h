// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds small programs by hand, instruction by instruction, for tests of the layers below the language: loops as lambdas, buffers placed one
// after the other, every statement with a source line of its own ("built.cpp:<n>").
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "isa/program.h"

namespace sfumato::testing {

class ProgramBuilder {
public:
    explicit ProgramBuilder(std::string name = "built") { p.name = std::move(name); }

    isa::Expr num(std::int64_t v) { return p.constant(v); }
    isa::Expr sym(const std::string& name, isa::SymbolKind kind) {
        const isa::SymbolId found = p.find_symbol(name);
        return p.symbol(found >= 0 ? found : p.add_symbol(name, kind));
    }
    isa::Expr block_id() { return sym("block_id", isa::SymbolKind::block_id); }
    isa::Expr block_num() { return sym("block_num", isa::SymbolKind::block_num); }
    isa::Expr sub_block() { return sym("sub_block", isa::SymbolKind::sub_block); }
    isa::Expr param(const std::string& name) { return sym(name, isa::SymbolKind::param); }

    int tensor(const std::string& name, isa::DType t, std::vector<std::int64_t> dims, isa::Role role = isa::Role::in) {
        isa::Tensor out{name, t, {}, role};
        for (auto d : dims) out.dims.push_back(num(d));
        p.tensors.push_back(out);
        return static_cast<int>(p.tensors.size()) - 1;
    }
    /// Placed behind the buffers of the same space declared before, 512-byte aligned.
    int buffer(const std::string& name, isa::Space space, std::int64_t bytes, int slots = 1) {
        isa::Buffer b;
        b.name = name;
        b.space = space;
        b.slot_bytes = bytes;
        b.slots = slots;
        b.base = isa::round_up(used_[space], 512);
        used_[space] = *b.base + bytes * slots;
        p.buffers.push_back(b);
        return static_cast<int>(p.buffers.size()) - 1;
    }
    isa::Operand at(int buffer, isa::Expr offset = {}, isa::Expr slot = {}) {
        return {p.buffers[static_cast<std::size_t>(buffer)].space, buffer, slot, offset};
    }
    isa::Operand gm(int tensor, isa::Expr offset = {}) { return {isa::Space::gm, tensor, {}, offset}; }

    /// Everything built inside `body` runs on cores of this kind.
    void section(isa::CoreKind kind, const std::function<void()>& body) { p.sections.push_back({kind, nested(body)}); }
    void loop(isa::Expr trips, const std::function<void(isa::Expr)>& body) {
        const isa::SymbolId i = p.add_symbol("i" + std::to_string(loops_++), isa::SymbolKind::loop);
        isa::Block b = nested([&] { body(p.symbol(i)); });
        add(isa::Loop{i, trips, std::move(b), 1, next_source()});
    }
    void loop(std::int64_t trips, const std::function<void(isa::Expr)>& body) { loop(num(trips), body); }
    void when(isa::Expr condition, const std::function<void()>& body) {
        isa::Block b = nested(body);
        add(isa::When{condition, std::move(b), next_source()});
    }
    /// Control load: the integer at `index` of a tensor.
    isa::Expr load(int tensor, isa::Expr index) {
        const isa::SymbolId s = p.add_symbol("load" + std::to_string(loops_++), isa::SymbolKind::load);
        add(isa::Load{s, tensor, index, next_source()});
        return p.symbol(s);
    }

    /// Any instruction; returns the line it got.
    int instr(isa::Op op, isa::Operands operands) {
        const isa::SourceId source = next_source();
        add(isa::Instr{op, std::move(operands), source, -1});
        return p.sources[static_cast<std::size_t>(source)].line;
    }
    int set(isa::Pipe src, isa::Pipe dst, isa::Expr id) { return instr(isa::Op::set_flag, isa::Sync{src, dst, id, 0}); }
    int set(isa::Pipe src, isa::Pipe dst, int id = 0) { return set(src, dst, num(id)); }
    int wait(isa::Pipe src, isa::Pipe dst, isa::Expr id) { return instr(isa::Op::wait_flag, isa::Sync{src, dst, id, 0}); }
    int wait(isa::Pipe src, isa::Pipe dst, int id = 0) { return wait(src, dst, num(id)); }
    int barrier(isa::Pipe p_) { return instr(isa::Op::barrier, isa::Sync{p_, p_, {}, 0}); }
    int cross_set(isa::Pipe src, int id, int mode) { return instr(isa::Op::cross_set, isa::Sync{src, src, num(id), mode}); }
    int cross_wait(isa::Pipe dst, int id, int mode) { return instr(isa::Op::cross_wait, isa::Sync{dst, dst, num(id), mode}); }
    int scalar(std::int64_t cycles) { return instr(isa::Op::scalar_work, isa::Scalar{num(cycles)}); }

    /// Contiguous counter-mode vector instruction over `count` elements.
    int vector(isa::Op op, isa::Operand dst, isa::Operand src0, isa::Operand src1, std::int64_t count, isa::DType t = isa::DType::f32) {
        isa::Vector v;
        v.dst = dst;
        v.src0 = src0;
        v.src1 = src1;
        v.dtype = v.dst_dtype = t;
        v.count = num(count);
        v.repeats = num(0);
        v.dst_block = v.src0_block = v.src1_block = num(1);
        v.dst_repeat = v.src0_repeat = v.src1_repeat = num(8);
        return instr(op, v);
    }
    /// rows x cols elements; pitches in elements (0: cols).
    int copy(isa::Op op, isa::Operand dst, isa::Operand src, std::int64_t rows, std::int64_t cols, isa::DType t = isa::DType::f16,
             std::int64_t dst_pitch = 0, std::int64_t src_pitch = 0, isa::Cache cache = isa::Cache::normal) {
        isa::Copy c;
        c.dst = dst;
        c.src = src;
        c.dtype = t;
        c.rows = num(rows);
        c.cols = num(cols);
        c.dst_pitch = num(dst_pitch ? dst_pitch : cols);
        c.src_pitch = num(src_pitch ? src_pitch : cols);
        c.cache = cache;
        return instr(op, c);
    }
    int mmad(isa::Operand dst, isa::Operand a, isa::Operand b, std::int64_t m, std::int64_t k, std::int64_t n, isa::Expr init, bool unit_flag = false,
             isa::DType t = isa::DType::f16) {
        isa::Cube c;
        c.dst = dst;
        c.a = a;
        c.b = b;
        c.dtype = t;
        c.m = num(m);
        c.k = num(k);
        c.n = num(n);
        c.init = init;
        c.unit_flag = unit_flag;
        return instr(isa::Op::mmad, c);
    }
    int fix(isa::Operand dst, isa::Operand src, std::int64_t rows, std::int64_t cols, std::int64_t dst_pitch, bool unit_flag = false,
            isa::DType out = isa::DType::f16) {
        isa::Drain d;
        d.dst = dst;
        d.src = src;
        d.dst_dtype = out;
        d.rows = num(rows);
        d.cols = num(cols);
        d.dst_pitch = num(dst_pitch);
        d.src_pitch = num(isa::round_up(rows, 16));
        d.unit_flag = unit_flag;
        return instr(d.dst.space == isa::Space::l1 ? isa::Op::fix_l0c_l1 : isa::Op::fix_l0c_gm, d);
    }

    /// The finished program: instructions numbered, `blocks` wanted.
    isa::Program build(std::int64_t blocks = 1) {
        p.blocks = num(blocks);
        isa::number_instructions(p);
        return p;
    }

    isa::Program p;

private:
    isa::Block nested(const std::function<void()>& body) {
        stack_.emplace_back();
        body();
        isa::Block b = std::move(stack_.back());
        stack_.pop_back();
        return b;
    }
    template <class T>
    void add(T node) {
        stack_.back().push_back(isa::Stmt{std::move(node)});
    }
    isa::SourceId next_source() { return p.add_source({"built.cpp", ++line_, 1}); }

    std::vector<isa::Block> stack_;
    std::map<isa::Space, std::int64_t> used_;
    int loops_ = 0, line_ = 0;
};

}  // namespace sfumato::testing
