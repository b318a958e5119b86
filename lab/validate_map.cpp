// SPDX-License-Identifier: Apache-2.0
// Which rows can be run: one entry per kind of kernel, reading shape and tiling from the row's own words.
#include <algorithm>
#include <cctype>

#include "lab/experiment.h"
#include "lab/silicon.h"

namespace sfumato::lab {

namespace {

using silicon::I;
using Row = MeasuredRow;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
Expressed no(std::string why) { return {false, {}, std::move(why)}; }

struct Soc {
    const char* part;
    const char* chip;
};
/// The first match counts. Rows that name only the class get the 24-core or 20-core part with the clock the data sheet gives.
constexpr Soc kSocs[] = {{"910B1 (", "Ascend910B1"},    {"910B1/A3", "Ascend910B1"}, {"910B4 (", "Ascend910B4"},  {"910B2 or 910C", ""},
                         {"910B2", "Ascend910B2"},      {"910B3", "Ascend910B3"},    {"A2 (20", "Ascend910B3"},   {"A2 (24", "Ascend910B1"},
                         {"910B-class", "Ascend910B1"}, {"A2/A3", "Ascend910B1"},    {"dav-2201", "Ascend910B1"}, {"dav-c220", "Ascend910B1"}};

I element_bytes(const std::string& dtype) {
    for (const char* four : {"FLOAT", "float", "FP32", "INT32"})
        if (has(dtype, four) && !has(dtype, "FLOAT16")) return 4;
    return 2;
}
I product(const std::vector<I>& v) {
    I out = 1;
    for (const I x : v) out *= x;
    return out;
}
std::string after(const std::string& text, const std::string& word) {
    const std::size_t at = text.find(word);
    return at == std::string::npos ? "" : text.substr(at + word.size());
}
I first_number(const std::string& text, I otherwise) {
    const std::vector<I> n = numbers_in(text);
    return n.empty() ? otherwise : n[0];
}

// "48 AIV, tile 64x1024 ..." -> cores, rows, columns
Expressed read(const Row& r, silicon::ReadPlan p) {
    const std::vector<I> shape = numbers_in(r.shape), tile = numbers_in(after(r.tiling, "tile "));
    if (shape.size() < 2 || (tile.size() < 2 && p.tile_n == 1)) return no("the row prints no tile");
    p.m = shape[0];
    p.n = shape[1];
    if (tile.size() >= 2) p.tile_m = tile[0], p.tile_n = tile[1];
    p.cores = first_number(r.tiling, p.to_l1 ? 24 : 48);
    p.everyone_all = has(r.shape, "every core");
    p.stagger = has(r.kernel, "stagger");
    Experiment e;
    e.kind = p.to_l1 ? isa::CoreKind::aic : isa::CoreKind::aiv;
    e.bytes = static_cast<double>(p.m * p.n * 2 * p.repeat * (p.everyone_all ? p.cores : 1));
    e.key = "read " + std::to_string(p.m) + "x" + std::to_string(p.n) + " f16 to " + (p.to_l1 ? "L1 (ND to NZ)" : "UB") + ", tile " +
            std::to_string(p.tile_m) + "x" + std::to_string(p.tile_n) + ", " + std::to_string(p.cores) + " cores" +
            (p.repeat > 1 ? ", " + std::to_string(p.repeat) + " times" : "") +
            (p.splits > 1 ? " in " + std::to_string(p.splits) + " column splits" : "") + (p.everyone_all ? ", every core reads all, past L2" : "") + (p.everyone_all && !p.stagger ? ", in the same order" : "");
    e.build = [p](const isa::Chip&) { return silicon::read_kernel(p); };
    return {true, e, ""};
}
Expressed read_ub(const Row& r) { return read(r, {}); }
Expressed read_l1(const Row& r) {
    silicon::ReadPlan p;
    p.to_l1 = true;
    return read(r, p);
}
/// The source of the repeated reads uses tiles of 64 x 1024.
Expressed reread(const Row& r) {
    silicon::ReadPlan p;
    p.to_l1 = has(r.kernel, "L1");
    p.repeat = 4;
    p.tile_m = 64;
    p.tile_n = 1024;
    if (has(r.kernel, "blocked")) p.splits = 4;
    return read(r, p);
}

Expressed add(const Row& r) {
    const std::vector<I> shape = numbers_in(r.shape);
    const I step = first_number(after(r.tiling, "case "), -1);
    if (shape.size() < 2 || step < 1) return no("the row names no step of the ladder");
    silicon::AddPlan p;
    p.m = shape[0];
    p.n = shape[1];
    p.cores = step == 1 ? 1 : 48;
    p.chunk = step <= 2 ? 4096 : step == 6 ? 16256 : 16384;
    p.double_buffer = step >= 4;
    p.bypass = step >= 5;
    p.spread_banks = step == 6;
    Experiment e;
    e.bytes = static_cast<double>(p.m * p.n * 2 * (r.metric == "read_bandwidth" ? 2 : 3));
    e.key = "add " + r.shape + " f16, " + std::to_string(p.cores) + " cores, chunk " + std::to_string(p.chunk) +
            (p.double_buffer ? ", double buffer" : "") + (p.bypass ? ", reads past L2" : "") +
            (p.spread_banks ? ", sources in different bank groups" : "");
    e.build = [p](const isa::Chip&) { return silicon::add_kernel(p); };
    return {true, e, ""};
}

/// Before its first transfer a framework kernel spends `kArguments` scalar cycles on its arguments. One that takes any shape also fetches its tiling
/// data, the same lines for all cores, which costs each core `kTilingPerCore` cycles a core (S8: the first load comes 32.7 cycles a core later; in
/// the traces the scalar time of such kernels grows from 490 cycles on one core to 1534 and 1800 on 40). One that was compiled for its shape (tensors
/// of four dimensions, format NCHW) fetches none, but all its pipes rest for 2.7 to 4.2 us first: 115 cycles a core in Cast, TensorMove, ZerosLike on
/// 40 cores of one trace, 137 in Mul, TensorMove, DropOutDoMask on 48 of another.
constexpr I kArguments = 490, kTilingPerCore = 33, kRestPerCore = 115, kFixedShapeDims = 4;

/// Traces of whole networks: operands come from the kernel before, so they are in L2 as far as they fit.
Expressed move(const Row& r, bool reads) {
    const std::size_t arrow = r.shape.find("->");
    const std::vector<I> out = numbers_in(arrow == std::string::npos ? r.shape : r.shape.substr(arrow));
    if (out.empty() || has(r.shape, "workspace")) return no("the row prints no size");
    silicon::MovePlan p;
    const I element = element_bytes(r.dtype);
    p.bytes = product(out) * element;
    p.cores = first_number(after(r.tiling, "blockDim "), 48);
    p.read = reads;
    const bool fixed_shape = static_cast<I>(out.size()) == kFixedShapeDims;
    p.setup = kArguments + (fixed_shape ? 0 : kTilingPerCore * (p.cores - 1));
    p.value = r.kernel == "Fill";
    if (r.kernel == "BroadcastTo") p.broadcast_bytes = numbers_in(r.shape.substr(0, r.shape.find(';'))).back() * element;
    Experiment e;
    e.warm_share = 0.6;
    e.entry_cycles = fixed_shape ? kRestPerCore * p.cores : 0;
    e.bytes = static_cast<double>(p.bytes * (reads ? 2 : 1));
    e.key = std::string(reads                   ? "move "
                        : p.broadcast_bytes > 0 ? "broadcast to "
                                                : "fill ") +
            std::to_string(p.bytes) + " bytes, " + std::to_string(p.cores) + " cores, chunks of 64 KiB";
    if (p.broadcast_bytes > 0) p.chunk_bytes = p.broadcast_bytes;
    e.build = [p](const isa::Chip&) { return silicon::move_kernel(p); };
    return {true, e, ""};
}
Expressed copy(const Row& r) { return move(r, true); }
Expressed fill(const Row& r) { return move(r, false); }

/// Scenarios of the bank test: where x, y and z lie. 16 KiB apart is the same bank and group; 64 KiB another bank; 256 B the other half of the
/// groups.
Expressed banks(const Row& r) {
    constexpr I kBank = 65536, kHalf = 256, kBuffer = 16384;
    const I scenario = first_number(after(r.shape, "scenario "), 0);
    silicon::BankPlan p;
    switch (scenario) {
        case 1:
            p.y = kBank + kHalf, p.z = 2 * kBank;
            break;
        case 2:
            p.y = kBuffer, p.z = 2 * kBank;
            break;
        case 3:
            p.y = kBank + kHalf, p.z = kBuffer + kHalf;
            break;
        case 4:
            p.y = kBank + kHalf, p.z = kBuffer;
            break;
        case 7:
            p.y = kBank + kHalf, p.z = 2 * kBank, p.src0_block = 0, p.src0_repeat = 1;
            break;
        case 8:
            p.y = kBank + kHalf, p.z = 2 * kBank, p.src0_block = 0, p.src0_repeat = 8;
            break;
        default:
            return no("the row prints no buffer addresses");
    }
    Experiment e;
    e.ticks_per_unit = 37;  // the system counter runs at 50 MHz, the core at 1850
    e.key = "1000 f32 Adds of 64 repeats, bank scenario " + std::to_string(scenario);
    e.build = [p](const isa::Chip&) { return silicon::bank_kernel(p); };
    return {true, e, ""};
}

Expressed nd2nz(const Row& r) {
    const std::vector<I> shape = numbers_in(r.shape), tile = numbers_in(after(r.tiling, "tile "));
    if (shape.size() < 2 || tile.size() < 3) return no("the row prints no tile");
    silicon::Nd2NzPlan p;
    p.m = shape[0];
    p.n = shape[1];
    p.tile_m = tile[0];
    p.tile_n = tile[1];
    p.stride = tile[2];
    Experiment e;
    e.key = "ND to NZ through UB, " + r.shape + " f16, " + r.tiling;
    e.build = [p](const isa::Chip&) { return silicon::nd2nz_kernel(p); };
    return {true, e, ""};
}

/// Bookkeeping of the vendor's Matmul API on the scalar unit, by template: cycles before the first load, per base block and per K step, from its own
/// scalar times.
struct Template {
    I setup, per_tile, per_step;
};
constexpr Template kNorm{6400, 200, 440}, kMdl{6400, 2500, 275}, kConstant{2500, 600, 160};

I named(const std::string& text, const char* name) { return first_number(after(text, std::string(name) + "="), 0); }

Experiment matmul(silicon::MatmulPlan p, const std::string& how) {
    Experiment e;
    e.kind = isa::CoreKind::aic;
    e.flops = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
    e.key = "matmul " + std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k) + (p.f32_out ? " f16 to f32, " : " f16, ") +
            std::to_string(p.cores) + " cores, " + how;
    e.unit_flag = p.unit_flag;
    e.build = [p](const isa::Chip&) { return silicon::matmul_kernel(p); };
    return e;
}
void use(silicon::MatmulPlan& p, const Template& t) { p.setup = t.setup, p.per_tile = t.per_tile, p.per_step = t.per_step; }
/// The order of the API's own tiling: A's block of rows stays in L1 and the columns pass by when all of its K fits beside the buffers of B; otherwise
/// the rows pass by first.
void order(silicon::MatmulPlan& p) {
    constexpr I kL1 = 524288, kBytes = 2;
    p.a_stays = p.base_m * p.k * kBytes + p.base_n * p.base_k * p.step_b * p.buffers * kBytes <= kL1;
    p.rows_first = !p.a_stays;
}

/// The tuning ladder of asc-devkit at 8192 cubed: "case 6: + L2 split on M".
Expressed ladder(const Row& r) {
    silicon::MatmulPlan p;
    p.m = p.n = p.k = first_number(r.shape, 0);
    const I step = first_number(after(r.tiling, "case "), -1);
    if (step < 0) return no("the row names no step of the ladder");
    p.cores = step <= 1 ? 1 : 24;
    if (step == 0) p.base_m = p.base_n = 64;
    use(p, step <= 3 ? kNorm : step <= 6 ? kMdl : kConstant);
    p.single_m = step <= 1 ? p.m : step == 2 ? 4096 : step <= 5 ? 2048 : 1024;
    p.single_n = step <= 1 ? p.n : step == 2 ? 683 : 1536;
    p.buffers = step <= 3 ? 1 : 2;
    if (step == 4) p.step_a = p.step_b = 2;
    if (step >= 5) p.step_a = 8, p.step_b = 4;
    p.passes = step >= 6 ? 2 : 1;
    p.unit_flag = step <= 3 || step == 8;  // on by default in the Norm template, off in MDL
    order(p);
    return {true, matmul(p, "ladder step " + std::to_string(step)), ""};
}

/// "MIX mode, 24 cores base 128x256x64", "MDL template, 24 cores", "constant tiling, 24 cores", "L2 split, 24 cores"
Expressed api_matmul(const Row& r) {
    silicon::MatmulPlan p;
    p.m = named(r.shape, "M");
    p.n = named(r.shape, "N");
    p.k = named(r.shape, "K");
    if (p.m == 0 || p.n == 0 || p.k == 0) return no("the row prints no shape");
    if (has(r.kernel, "MIX") || has(r.tiling, "MIX")) return no("a MIX kernel: the vector cores' part of the API is not expressed");
    for (const char* word : {"NBuffer33", "IBShare", "preload", "ND2NZ on AIV", "old base block", "large packet"})
        if (has(r.tiling, word)) return no("the row names a template whose base block and buffers it does not print");
    if (has(r.kernel, "bias")) return no("the row does not print how the bias is loaded");
    if (r.notes.find("before base-block") != std::string::npos) return no("the row does not print the base block");
    const std::size_t cores_at = r.tiling.find(" cores");
    if (cores_at == std::string::npos) return no("the row prints neither tile nor cores");
    const std::vector<I> before = numbers_in(r.tiling.substr(0, cores_at));
    p.cores = before.empty() ? 24 : before.back();
    const std::vector<I> base = numbers_in(after(r.tiling, "base "));
    if (base.size() >= 3) p.base_m = base[0], p.base_n = base[1], p.base_k = base[2];
    const bool constant = has(r.tiling, "constant"), mdl = has(r.tiling, "MDL") || has(r.tiling, "L2 split");
    if (base.size() < 3 && !constant && !mdl && !has(r.tiling, "Norm")) return no("the row names neither a tile nor a template");
    use(p, constant ? kConstant : mdl ? kMdl : kNorm);
    if (mdl) p.step_a = p.step_b = 4;
    // A grid of cores as square as the shape allows; few rows: all cores side by side.
    I down = 1;
    for (I d = 1; d * d <= p.cores * 2; ++d)
        if (p.cores % d == 0 && p.m % (d * p.base_m) == 0 && p.n % (p.cores / d * p.base_n) == 0) down = d;
    p.passes = has(r.tiling, "L2 split") && p.m % (2 * down * p.base_m) == 0 ? 2 : 1;
    p.single_m = isa::round_up(isa::ceil_div(p.m / p.passes, down), p.base_m);
    p.single_n = isa::ceil_div(isa::ceil_div(p.n, p.base_n), p.cores / down) * p.base_n;
    order(p);
    return {true, matmul(p, r.tiling), ""};
}

/// PTO's GEMM: 128 x 256 x 64, four K steps a load, 4 x 6 cores.
Expressed pto_matmul(const Row& r) {
    silicon::MatmulPlan p;
    p.m = p.n = p.k = first_number(r.shape, 0);
    p.step_a = p.step_b = 4;
    p.single_m = p.m / 4;
    p.single_n = p.n / 6;
    p.f32_out = true;
    p.out_bytes = 4;
    if (p.m % 512 != 0 || p.n % 1536 != 0) return no("the shape does not divide into the kernel's 4 x 6 cores");
    return {true, matmul(p, "PTO 128x256x64, 4 K steps a load, 4x6 cores"), ""};
}

/// Matmuls whose L2 hit rate was printed: the columns dealt to the cores, each core all rows. At N = 16384 a third hits: A, which all cores share,
/// while B is read again for each row of blocks and never found, so no two cores share columns.
Expressed hit_rate_matmul(const Row& r) {
    silicon::MatmulPlan p;
    p.m = named(r.shape, "M");
    p.n = named(r.shape, "N");
    p.k = named(r.shape, "K");
    p.step_a = p.step_b = 4;
    p.single_m = p.m;
    p.single_n = isa::round_up(isa::ceil_div(p.n, p.cores), 16);
    return {true, matmul(p, "128x256x64 tiles, columns dealt to the cores"), ""};
}

struct Entry {
    const char* kernel;  ///< the row's kernel begins with this; the first match counts
    Expressed (*express)(const Row&);
    bool calibration;  ///< a number of the chip file was chosen with rows of this kernel in view
};
constexpr Entry kEntries[] = {
    {"GM->UB read", read_ub, true},
    {"GM->L1 ND2NZ", read_l1, true},
    {"GM->L1 4x reread", reread, true},
    {"GM->UB 4x reread", reread, true},
    {"Matmul MTE2 load", hit_rate_matmul, true},
    {"Add z=x+y", add, true},
    {"TensorMove", copy, true},
    {"ZerosLike", fill, true},
    {"OnesLike", fill, true},
    {"Fill", fill, true},
    {"MemSet", fill, false},
    {"BroadcastTo", fill, false},
    {"Vector Add", banks, true},
    {"ND2NZ on AIV", nd2nz, true},
    {"Matmul high-level API", ladder, true},
    {"PTO GEMM", pto_matmul, true},
    {"Matmul", api_matmul, false},
    {"PTO T", express_tile_op, true},
};

}  // namespace

std::vector<std::int64_t> numbers_in(const std::string& text) {
    std::vector<I> out;
    for (std::size_t i = 0; i < text.size();) {
        if (!std::isdigit(static_cast<unsigned char>(text[i]))) {
            ++i;
            continue;
        }
        I v = 0;
        for (; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])); ++i) v = std::min<I>(v * 10 + (text[i] - '0'), I{1} << 50);
        out.push_back(v);
    }
    return out;
}

Expressed express(const MeasuredRow& r) {
    std::string chip;
    const auto soc = std::find_if(std::begin(kSocs), std::end(kSocs), [&](const Soc& s) { return has(r.soc, s.part); });
    if (soc == std::end(kSocs)) return no("no chip file for '" + r.soc + "'");
    chip = soc->chip;
    if (chip.empty()) return no("24 + 48 cores at 1.80 GHz are a 910B2 and a die of 910C alike, whose HBM differs: not decidable");
    for (const Entry& e : kEntries) {
        if (r.kernel.rfind(e.kernel, 0) != 0) continue;
        Expressed out = e.express(r);
        out.experiment.chip = chip;
        out.experiment.calibration = e.calibration;
        return out;
    }
    return no("a kernel whose tiling is not printed");
}

}  // namespace sfumato::lab
