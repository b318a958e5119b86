// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds programs by hand, instruction by instruction, for tests of the layers below the language and for kernels of others that are measured:
// loops as lambdas, buffers placed one after the other, every statement with a source line of its own ("built.cpp:<n>").
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "isa/program.h"

namespace sfumato::isa {

/// A number known now, or an expression.
struct Amount {
    Amount(int v) : value(v) {}           // NOLINT: implicit by design
    Amount(std::int64_t v) : value(v) {}  // NOLINT
    Amount(Expr e) : expr(e) {}           // NOLINT
    std::int64_t value = 0;
    Expr expr;
};

class ProgramBuilder {
public:
    explicit ProgramBuilder(std::string name = "built") { p.name = std::move(name); }

    Expr num(std::int64_t v) { return p.constant(v); }
    Expr num(int v) { return p.constant(v); }
    Expr num(const Amount& a) { return a.expr ? a.expr : p.constant(a.value); }
    Expr sym(const std::string& name, SymbolKind kind) {
        const SymbolId found = p.find_symbol(name);
        return p.symbol(found >= 0 ? found : p.add_symbol(name, kind));
    }
    Expr block_id() { return sym("block_id", SymbolKind::block_id); }
    Expr block_num() { return sym("block_num", SymbolKind::block_num); }
    Expr sub_block() { return sym("sub_block", SymbolKind::sub_block); }
    Expr param(const std::string& name) { return sym(name, SymbolKind::param); }

    int tensor(const std::string& name, DType t, std::vector<std::int64_t> dims, Role role = Role::in) {
        Tensor out{name, t, {}, role};
        for (auto d : dims) out.dims.push_back(num(d));
        p.tensors.push_back(out);
        return static_cast<int>(p.tensors.size()) - 1;
    }
    /// Placed behind the buffers of the same space declared before, 512-byte aligned.
    int buffer(const std::string& name, Space space, std::int64_t bytes, int slots = 1) {
        Buffer b;
        b.name = name;
        b.space = space;
        b.slot_bytes = bytes;
        b.slots = slots;
        b.base = round_up(used_[space], 512);
        used_[space] = *b.base + bytes * slots;
        p.buffers.push_back(b);
        return static_cast<int>(p.buffers.size()) - 1;
    }
    Operand at(int buffer, Expr offset = {}, Expr slot = {}) { return {p.buffers[static_cast<std::size_t>(buffer)].space, buffer, slot, offset}; }
    Operand gm(int tensor, Expr offset = {}) { return {Space::gm, tensor, {}, offset}; }

    /// Everything built inside `body` runs on cores of this kind.
    void section(CoreKind kind, const std::function<void()>& body) { p.sections.push_back({kind, nested(body)}); }
    void loop(Expr trips, const std::function<void(Expr)>& body) {
        const SymbolId i = p.add_symbol("i" + std::to_string(loops_++), SymbolKind::loop);
        Block b = nested([&] { body(p.symbol(i)); });
        add(Loop{i, trips, std::move(b), 1, next_source()});
    }
    void loop(std::int64_t trips, const std::function<void(Expr)>& body) { loop(num(trips), body); }
    void when(Expr condition, const std::function<void()>& body) {
        Block b = nested(body);
        add(When{condition, std::move(b), next_source()});
    }
    void bump(std::int64_t counter) { add(Bump{static_cast<SymbolId>(counter)}); }
    /// Advances a running counter (created on first use); sym(name, SymbolKind::counter) reads it.
    void bump(const std::string& name) {
        sym(name, SymbolKind::counter);
        add(Bump{p.find_symbol(name)});
    }
    /// Control load: the integer at `index` of a tensor.
    Expr load(int tensor, Expr index) {
        const SymbolId s = p.add_symbol("load" + std::to_string(loops_++), SymbolKind::load);
        add(Load{s, tensor, index, next_source()});
        return p.symbol(s);
    }

    /// Any instruction; returns the line it got.
    int instr(Op op, Operands operands) {
        const SourceId source = next_source();
        add(Instr{op, std::move(operands), source, -1});
        return p.sources[static_cast<std::size_t>(source)].line;
    }
    int set(Pipe src, Pipe dst, Expr id) { return instr(Op::set_flag, Sync{src, dst, id, 0}); }
    int set(Pipe src, Pipe dst, int id = 0) { return set(src, dst, num(id)); }
    int wait(Pipe src, Pipe dst, Expr id) { return instr(Op::wait_flag, Sync{src, dst, id, 0}); }
    int wait(Pipe src, Pipe dst, int id = 0) { return wait(src, dst, num(id)); }
    int barrier(Pipe p_) { return instr(Op::barrier, Sync{p_, p_, {}, 0}); }
    int cross_set(Pipe src, int id, int mode) { return instr(Op::cross_set, Sync{src, src, num(id), mode}); }
    int cross_wait(Pipe dst, int id, int mode) { return instr(Op::cross_wait, Sync{dst, dst, num(id), mode}); }
    int scalar(std::int64_t cycles) { return instr(Op::scalar_work, Scalar{num(cycles)}); }

    /// Contiguous counter-mode vector instruction over `count` elements.
    int vector(Op op, Operand dst, Operand src0, Operand src1, std::int64_t count, DType t = DType::f32) {
        Vector v;
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
    int copy(Op op, Operand dst, Operand src, Amount rows, Amount cols, DType t = DType::f16, Amount dst_pitch = 0, Amount src_pitch = 0,
             Cache cache = Cache::normal) {
        const Expr to = num(given(dst_pitch) ? dst_pitch : cols), from = num(given(src_pitch) ? src_pitch : cols);
        return instr(
            op, Copy{.dst = dst, .src = src, .dtype = t, .rows = num(rows), .cols = num(cols), .dst_pitch = to, .src_pitch = from, .cache = cache});
    }
    int mmad(Operand dst, Operand a, Operand b, std::int64_t m, std::int64_t k, std::int64_t n, Expr init, bool unit_flag = false,
             DType t = DType::f16) {
        return instr(Op::mmad,
                     Cube{.dst = dst, .a = a, .b = b, .dtype = t, .m = num(m), .k = num(k), .n = num(n), .init = init, .unit_flag = unit_flag});
    }
    int fix(Operand dst, Operand src, std::int64_t rows, std::int64_t cols, std::int64_t dst_pitch, bool unit_flag = false, DType out = DType::f16) {
        Drain d;
        d.dst = dst;
        d.src = src;
        d.dst_dtype = out;
        d.rows = num(rows);
        d.cols = num(cols);
        d.dst_pitch = num(dst_pitch);
        d.src_pitch = num(round_up(rows, 16));
        d.unit_flag = unit_flag;
        return instr(d.dst.space == Space::l1 ? Op::fix_l0c_l1 : Op::fix_l0c_gm, d);
    }

    /// The finished program: instructions numbered, `blocks` wanted.
    Program build(std::int64_t blocks = 1) {
        p.blocks = num(blocks);
        number_instructions(p);
        return p;
    }

    Program p;

private:
    Block nested(const std::function<void()>& body) {
        stack_.emplace_back();
        body();
        Block b = std::move(stack_.back());
        stack_.pop_back();
        return b;
    }
    template <class T>
    void add(T node) {
        stack_.back().emplace_back().node = std::move(node);  // g++ 12 warns about a temporary here
    }
    static bool given(const Amount& a) { return a.expr || a.value != 0; }
    SourceId next_source() { return p.add_source({"built.cpp", ++line_, 1}); }

    std::vector<Block> stack_;
    std::map<Space, std::int64_t> used_;
    int loops_ = 0, line_ = 0;
};

}  // namespace sfumato::isa
