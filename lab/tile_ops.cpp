// SPDX-License-Identifier: Apache-2.0
// Single tile operations of PTO as instruction sequences. The table of sequences below is what docs/validation.md prints.
#include <algorithm>
#include <cctype>

#include "isa/program_builder.h"
#include "lab/experiment.h"

namespace sfumato::lab {

namespace {

using isa::DType;
using isa::Op;
using isa::Pipe;
using I = std::int64_t;

// Where the tests place their tiles.
constexpr I kSrc1 = 0x4000, kTmp = 0x4000, kDst = 0x8000, kFarDst = 0x20000;
// The vector pipe waits for a mask of lanes that is set before the instruction (S5: 16 cycles).
constexpr I kSetMask = 16;

struct Tile {
    DType type = DType::f32;
    std::vector<I> n;  ///< template arguments that are numbers
    std::string text;
    I rows() const { return n[0]; }
    I cols() const { return n[1]; }
    I row_bytes() const { return cols() * isa::bytes_of(type); }
};

class Sequence {
public:
    explicit Sequence(const Tile& tile) : t(tile), b("tile_op") { ub_ = b.buffer("ub", isa::Space::ub, 196608); }
    const Tile& t;
    isa::ProgramBuilder b;
    isa::Operand at(I address) { return b.at(ub_, b.num(address)); }

    /// `repeats` repeats of `lanes` lanes; strides between repeats in blocks.
    void vector(Op op, I dst, I src0, I src1, I lanes, I repeats, I dst_repeat = 8, I src0_repeat = 8, I src1_repeat = 8, DType to = DType::f32) {
        isa::Vector v;
        v.dst = at(dst);
        v.src0 = at(src0);
        if (src1 >= 0) v.src1 = at(src1);
        v.dtype = t.type;
        v.dst_dtype = op == Op::vconv ? to : t.type;
        v.mode = isa::MaskMode::normal;
        v.mask_lo = lanes >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << lanes) - 1;
        v.mask_hi = lanes >= 128 ? ~std::uint64_t{0} : lanes > 64 ? (std::uint64_t{1} << (lanes - 64)) - 1 : 0;
        v.count = b.num(0);
        v.repeats = b.num(repeats);
        v.dst_block = v.src0_block = v.src1_block = b.num(1);
        v.dst_repeat = b.num(dst_repeat);
        v.src0_repeat = b.num(src0_repeat);
        v.src1_repeat = b.num(src1_repeat);
        b.instr(op, v);
    }
    I lanes() const { return isa::kRepeatBytes / isa::bytes_of(t.type); }

private:
    int ub_;
};

// Two sources: a repeat per 256 bytes; rows shorter than a repeat take one each.
void binary(Sequence& s, Op op) {
    const I row_blocks = s.t.row_bytes() / isa::kBlockBytes;
    if (s.t.row_bytes() >= isa::kRepeatBytes)
        s.vector(op, kDst, 0, kSrc1, s.lanes(), s.t.rows() * s.t.row_bytes() / isa::kRepeatBytes);
    else
        s.vector(op, kDst, 0, kSrc1, s.t.cols(), s.t.rows(), row_blocks, row_blocks, row_blocks);
}
// One source: the tile is contiguous, so rows do not matter.
void unary(Sequence& s, Op op) {
    const I repeats = isa::ceil_div(s.t.rows() * s.t.row_bytes(), isa::kRepeatBytes);
    s.vector(op, s.t.text.find("inplace") != std::string::npos ? 0 : kDst, 0, -1, s.lanes(), repeats);
}
void convert(Sequence& s) { s.vector(Op::vconv, kDst, 0, -1, 64, isa::ceil_div(s.t.rows() * s.t.cols(), 64), 4, 8, 8, DType::f16); }
// Each row takes its mask from memory into the compare register, which waits for the vector unit.
void select(Sequence& s) {
    for (I r = 0; r < s.t.rows(); ++r) {
        s.vector(Op::vsel, r * s.t.row_bytes(), kSrc1 + r * s.t.row_bytes(), kDst + r * s.t.row_bytes(), s.lanes(), 1);
        s.b.barrier(Pipe::v);
    }
}
// A repeat per row when a row is one; else rows are folded to one repeat first.
void row_reduce(Sequence& s, Op fold, Op reduce) {
    const I parts = s.t.row_bytes() / isa::kRepeatBytes, row_blocks = s.t.row_bytes() / isa::kBlockBytes;
    if (parts > 1) {
        s.vector(fold, kTmp, 0, isa::kRepeatBytes, s.lanes(), s.t.rows(), 8, row_blocks, row_blocks);
        for (I p = 2; p < parts; ++p) {
            s.b.barrier(Pipe::v);
            s.vector(fold, kTmp, kTmp, p * isa::kRepeatBytes, s.lanes(), s.t.rows(), 8, 8, row_blocks);
        }
        s.b.barrier(Pipe::v);
        s.vector(reduce, kDst, kTmp, -1, s.lanes(), s.t.rows(), 1, 8);
    } else {
        s.vector(reduce, kDst, 0, -1, s.t.cols(), s.t.rows(), 1, row_blocks);
    }
}
// The first row is copied, every further row is folded into it; the next fold needs the last one's result.
void column_reduce(Sequence& s, Op fold) {
    const I row = s.t.row_bytes(), repeats = isa::ceil_div(row, isa::kRepeatBytes);
    s.b.copy(Op::mov_ub_ub, s.at(kDst), s.at(0), 1, s.t.cols(), s.t.type);
    for (I r = 1; r < s.t.rows(); ++r) {
        s.b.barrier(Pipe::v);
        s.vector(fold, kDst, kDst, r * row, std::min(s.lanes(), s.t.cols()), repeats);
    }
}
// Each row's first element is read by the scalar unit and spread over the row.
void row_expand(Sequence& s) {
    for (I r = 0; r < s.t.rows(); ++r) {
        s.vector(Op::vdup, kDst + r * s.t.row_bytes(), 0, -1, std::min(s.lanes(), s.t.cols()), isa::ceil_div(s.t.row_bytes(), isa::kRepeatBytes));
        s.b.barrier(Pipe::v);
    }
}
// Sub-tiles of 16 rows x 32 bytes, one instruction per column of sub-tiles, then a copy of the temporary.
void transpose(Sequence& s) {
    const I columns = s.t.row_bytes() / isa::kBlockBytes, down = isa::ceil_div(s.t.rows(), isa::kFractalRows);
    for (I c = 0; c < columns; ++c) s.vector(Op::vtrans, kFarDst, c * isa::kBlockBytes, -1, s.lanes(), down);
    s.b.barrier(Pipe::v);
    s.b.copy(Op::mov_ub_ub, s.at(kFarDst), s.at(0), s.t.cols(), s.t.rows(), s.t.type);
}

// One DMA per outer index; the printed values are whole multiples of one DMA's time, so each is waited for.
void load(Sequence& s) {
    const std::vector<I>& n = s.t.n;  // shape0..4, tile rows, tile columns, dynamic, whole shape0..2, (rows,) columns
    const bool columns_first = s.t.text.find("_dn_") != std::string::npos;
    const I outer = n[0] * n[1] * n[2], element = isa::bytes_of(s.t.type);
    const I bursts = columns_first ? n[6] / outer : n[5] / outer;
    const I length = columns_first ? n[11] : n[11], pitch = columns_first ? n[3] : n[4];
    const int gm = s.b.tensor("src", s.t.type, {outer * std::max(n[3], bursts) * std::max(n[4], pitch)});
    for (I o = 0; o < outer; ++o) {
        isa::Copy c;
        c.dst = s.at(0);
        c.src = s.b.gm(gm, s.b.num(o * bursts * pitch * element));
        c.dtype = s.t.type;
        c.rows = s.b.num(bursts);
        c.cols = s.b.num(length);
        c.dst_pitch = s.b.num(isa::round_up(length * element, isa::kBlockBytes) / element);
        c.src_pitch = s.b.num(pitch);
        s.b.instr(Op::mov_gm_ub, c);
        s.b.barrier(Pipe::mte2);
    }
}
void matrix(Sequence& s) {
    isa::Cube c;
    const I m = s.t.n[0], k = s.t.n[1], n = s.t.n[2];
    const I c0 = isa::fractal_cols(s.t.type);
    c.a = s.b.at(s.b.buffer("a", isa::Space::l0a, isa::round_up(m, 16) * isa::round_up(k, c0) * isa::bytes_of(s.t.type)));
    c.b = s.b.at(s.b.buffer("b", isa::Space::l0b, isa::round_up(k, c0) * isa::round_up(n, 16) * isa::bytes_of(s.t.type)));
    c.dst = s.b.at(s.b.buffer("c", isa::Space::l0c, isa::round_up(m, 16) * isa::round_up(n, 16) * 4));
    c.dtype = s.t.type;
    c.m = s.b.num(m);
    c.k = s.b.num(k);
    c.n = s.b.num(n);
    c.init = s.b.num(1);
    s.b.instr(Op::mmad, c);
}

struct TileOp {
    const char* name;
    void (*build)(Sequence&);
    const char* sequence;
};
constexpr TileOp kTileOps[] = {
    {"TAdd", [](Sequence& s) { binary(s, Op::vadd); }, "one vadd, a repeat per 256 bytes or per shorter row, whose mask is set first"},
    {"TSub", [](Sequence& s) { binary(s, Op::vsub); }, "one vsub, a repeat per 256 bytes or per shorter row, whose mask is set first"},
    {"TMul", [](Sequence& s) { binary(s, Op::vmul); }, "one vmul, a repeat per 256 bytes or per shorter row, whose mask is set first"},
    {"TDiv", [](Sequence& s) { binary(s, Op::vdiv); }, "one vdiv, a repeat per 256 bytes or per shorter row, whose mask is set first"},
    {"TAbs", [](Sequence& s) { unary(s, Op::vabs); }, "one vabs over the contiguous tile"},
    {"TExp", [](Sequence& s) { unary(s, Op::vexp); }, "one vexp over the contiguous tile"},
    {"TSqrt", [](Sequence& s) { unary(s, Op::vsqrt); }, "one vsqrt over the contiguous tile"},
    {"TCvt", convert, "one vconv, a repeat per 64 elements"},
    {"TSel", select, "per row: mask to register (waits for V), vsel"},
    {"TRowMax", [](Sequence& s) { row_reduce(s, Op::vmax, Op::vcmax); }, "vmax folds rows to 256 bytes, then vcmax, a repeat per row"},
    {"TRowMin", [](Sequence& s) { row_reduce(s, Op::vmin, Op::vcmin); }, "vmin folds rows to 256 bytes, then vcmin, a repeat per row"},
    {"TRowSum", [](Sequence& s) { row_reduce(s, Op::vadd, Op::vcadd); }, "vadd folds rows to 256 bytes, then vcadd, a repeat per row"},
    {"TColMax", [](Sequence& s) { column_reduce(s, Op::vmax); }, "copy of the first row, then vmax and barrier per row"},
    {"TColSum", [](Sequence& s) { column_reduce(s, Op::vadd); }, "copy of the first row, then vadd and barrier per row"},
    {"TRowExpand", row_expand, "per row: scalar read (waits for V), vdup"},
    {"TTrans", transpose, "vtrans per column of 16 x 32-byte sub-tiles, barrier, copy"},
    {"TLoad", load, "per outer index: one strided GM to UB copy, barrier(MTE2)"},
    {"TMatmul", matrix, "one mmad"},
};

DType type_of(const std::string& word) {
    struct Name {
        const char* text;
        DType type;
    };
    constexpr Name kNames[] = {{"half", DType::f16},    {"float", DType::f32},  {"int16_t", DType::i16},
                               {"int32_t", DType::i32}, {"uint8_t", DType::u8}, {"int8_t", DType::i8}};
    for (const Name& n : kNames)
        if (word == n.text) return n.type;
    return DType::f32;
}

// "half_40x50x60 <float,half,half,40,50,60>": types first, then numbers.
Tile parse_tile(const std::string& shape) {
    Tile t;
    t.text = shape.substr(0, shape.find('<'));
    std::vector<std::string> types;
    const std::size_t open = shape.find('<');
    std::string word;
    for (std::size_t i = open == std::string::npos ? shape.size() : open + 1; i < shape.size(); ++i) {
        const char c = shape[i];
        if (c != ',' && c != '>') {
            word += c;
            continue;
        }
        if (!word.empty() && std::isdigit(static_cast<unsigned char>(word[0])))
            t.n.push_back(numbers_in(word)[0]);
        else if (word.find("::") == std::string::npos && word != "true" && word != "false")
            types.push_back(word);
        word.clear();
    }
    if (!types.empty()) t.type = type_of(types.size() > 1 ? types[1] : types[0]);
    return t;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> tile_op_sequences() {
    std::vector<std::pair<std::string, std::string>> out;
    for (const TileOp& o : kTileOps) out.emplace_back(o.name, o.sequence);
    return out;
}

Expressed express_tile_op(const MeasuredRow& r) {
    const std::string name = r.kernel.substr(4);
    const TileOp* op = nullptr;
    for (const TileOp& o : kTileOps)
        if (name == o.name) op = &o;
    if (op == nullptr) return {false, {}, "the instruction set has no sequence for " + name};
    const Tile tile = parse_tile(r.shape);
    if (tile.n.size() < 2) return {false, {}, "the row prints no shape"};
    const bool vector = name != "TLoad" && name != "TMatmul";
    const I bytes = tile.n[0] * tile.n[1] * isa::bytes_of(tile.type);
    if (vector && r.value * isa::kRepeatBytes < static_cast<double>(bytes)) {
        return {false, {}, "printed below one cycle per 256 bytes of the source, which no sequence that reads it can reach"};
    }
    if (name == "TLoad" && tile.n.size() < 12) return {false, {}, "the row prints no shape"};
    Experiment e;
    e.kind = name == "TMatmul" ? isa::CoreKind::aic : isa::CoreKind::aiv;
    e.warm_share = 1;
    e.calibration = true;
    const bool two_sources = name == "TAdd" || name == "TSub" || name == "TMul" || name == "TDiv";
    if (two_sources && tile.row_bytes() < isa::kRepeatBytes) e.setup_cycles = kSetMask;
    e.key = name + " " + tile.text + ": " + op->sequence;
    e.build = [tile, op, e](const isa::Chip&) {
        Sequence s(tile);
        s.b.section(e.kind, [&] { op->build(s); });
        return s.b.build(1);
    };
    return {true, e, ""};
}

}  // namespace sfumato::lab
