// SPDX-License-Identifier: Apache-2.0
#include "isa/chip_fields.h"

#include <cstdio>

namespace sfumato::isa {

namespace {

constexpr double kHuge = 1e15;
constexpr double kCycleLimit = 1e9;

/// Collects rows; groups share a prefix.
class Rows {
public:
    std::vector<ChipField> list;
    std::string prefix, optional_group;

    void add(const std::string& path, Quantity q, std::variant<double*, std::int64_t*, bool*> m, double least, double most, std::string doc) {
        list.push_back({prefix + path, q, m, least, most, std::move(doc), optional_group});
    }
    void count(const std::string& path, std::int64_t& m, double least, double most, std::string doc) {
        add(path, Quantity::count, &m, least, most, std::move(doc));
    }
    void bytes(const std::string& path, std::int64_t& m, double least, double most, std::string doc) {
        add(path, Quantity::bytes, &m, least, most, std::move(doc));
    }
    void cycles(const std::string& path, double& m, std::string doc) { add(path, Quantity::cycles, &m, 0, kCycleLimit, std::move(doc)); }
    void rate(const std::string& path, double& m, std::string doc) { add(path, Quantity::rate, &m, 1e-3, 1e9, std::move(doc)); }
    void share(const std::string& path, double& m, double least, std::string doc) { add(path, Quantity::share, &m, least, 1, std::move(doc)); }
};

std::string lower(std::string_view s) {
    std::string out(s);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

void structure(Rows& r, Chip& c) {
    r.prefix = "clock.";
    r.add("core", Quantity::frequency, &c.cores.clock_mhz, 1, 100000, "clock of the cores; a cycle everywhere else is one period of it");
    r.prefix = "cores.";
    r.count("aic", c.cores.aic, 0, 4096, "cube cores of a split chip");
    r.count("aiv", c.cores.aiv, 0, 4096, "vector cores of a split chip");
    r.count("merged", c.cores.merged, 0, 4096, "cores that have a cube and a vector unit");
    r.count("vector_only", c.cores.vector_only, 0, 4096, "further vector cores beside merged ones (data only: kernels do not run there yet)");
    for (int s = 1; s < kSpaceCount; ++s) {
        const auto i = static_cast<std::size_t>(s);
        const std::string n(kSpaceNames[i]);
        r.prefix = "spaces." + lower(n) + ".";
        r.bytes("capacity", c.capacity[i], 0, kHuge, "bytes of " + n + (s == 1 ? ", the device memory" : ", of each core"));
        r.bytes("alignment", c.alignment[i], 1, 1 << 20, "addresses in " + n + " are multiples of this");
    }
    const auto banks = [&](const std::string& n, Banks& b) {
        r.prefix = "banks." + n + ".";
        r.count("groups", b.groups, 0, 4096, "bank groups; group = (address / block) mod groups");
        r.count("banks_per_group", b.banks_per_group, 0, 4096, "banks of a group");
        r.bytes("bank_stride", b.bank_stride, 1, kHuge, "bytes between addresses of consecutive banks of a group");
        r.bytes("block", b.block_bytes, 1, 1 << 20, "bytes one bank serves a cycle");
    };
    banks("ub", c.ub_banks);
    banks("l1", c.l1_banks);
    banks("l0c", c.l0c_banks);
}

void order(Rows& r, Chip& c) {
    r.prefix = "flags.";
    r.count("ids", c.flags.ids, 1, 64, "flags per ordered pair of pipes");
    r.cycles("latency", c.flags.latency, "from completion of the work before a set to the start of the waiting pipe");
    r.cycles("barrier", c.flags.barrier, "a pipe barrier adds");
    r.prefix = "cross.";
    r.count("ids", c.cross.ids, 0, 64, "cross-core flags; 0: none");
    r.count("max_count", c.cross.max_count, 0, 1024, "a cross-core flag counts up to");
    r.cycles("latency", c.cross.latency, "from completion of the work before a cross-core set to the start of the waiting core");
    r.prefix = "issue.depth.";
    for (int p = 1; p < kPipeCount; ++p) {
        const auto i = static_cast<std::size_t>(p);
        r.count(lower(name(static_cast<Pipe>(p))), c.issue.depth[i], 1, 4096,
                "instructions the queue of pipe " + std::string(name(static_cast<Pipe>(p))) + " holds before the scalar unit stalls");
    }
    r.prefix = "issue.cost.";
    r.cycles("copy", c.issue.copy, "of the scalar unit to issue a copy");
    r.cycles("drain", c.issue.drain, "of the scalar unit to issue an accumulator drain");
    r.cycles("cube", c.issue.cube, "of the scalar unit to issue a matrix instruction");
    r.cycles("vector", c.issue.vector, "of the scalar unit to issue a vector instruction");
    r.cycles("sync", c.issue.sync, "of the scalar unit to issue a flag or barrier");
    r.cycles("loop", c.issue.loop, "of the scalar unit per loop iteration");
    r.cycles("load", c.issue.load, "of the scalar unit for a control load from GM");
}

void pipes(Rows& r, Chip& c) {
    for (std::size_t p = 0; p < kPathCount; ++p) {
        PathTiming& t = c.paths[p];
        r.prefix = "paths." + std::string(kPathNames[p]) + ".";
        r.optional_group = "paths." + std::string(kPathNames[p]);
        r.rate("rate", t.rate, "bytes the path carries per cycle");
        r.cycles("start", t.start, "from the start of a transfer to its first byte, L2 and HBM latency not counted");
        r.cycles("interval", t.interval, "least time between the starts of two transfers of the pipe");
        r.cycles("row", t.row, "each row (burst) costs beyond its bytes");
        r.count("outstanding", t.outstanding, 1, 4096, "transfers in flight");
    }
    r.optional_group.clear();
    for (const DType t : {DType::f16, DType::bf16, DType::f32, DType::i8}) {
        const auto i = static_cast<std::size_t>(t);
        const std::string n(name(t));
        r.prefix = "cube.";
        r.add("per_fractal." + n, Quantity::cycles, &c.cube.per_fractal[i], 0, kCycleLimit,
              "of one 16 x 16 x k_step step with " + n + " inputs; 0: not supported");
        r.count("k_step." + n, c.cube.k_step[i], 1, 1024, "K elements of " + n + " one such step consumes");
    }
    r.cycles("interval", c.cube.interval, "added to each matrix instruction of a stream");
    r.cycles("head", c.cube.head, "added when the matrix unit was idle");
    for (int k = kFirstVectorClass; k < kTimingClassCount; ++k) {
        for (std::size_t w = 0; w < 2; ++w) {
            VectorTiming& t = c.vector[static_cast<std::size_t>(k - kFirstVectorClass)][w];
            r.prefix = "vector." + std::string(kTimingClassNames[static_cast<std::size_t>(k)]) + (w == 0 ? ".b16." : ".b32.");
            r.cycles("per_repeat", t.per_repeat, "per repeat of 256 bytes without bank conflict");
            r.cycles("interval", t.interval, "least time between the starts of two instructions");
            r.cycles("head", t.head, "a dependent instruction waits beyond the repeats");
        }
    }
}

void memory(Rows& r, Chip& c) {
    r.prefix = "memory.l2.";
    r.bytes("line", c.l2.line, 32, 1 << 20, "of one line");
    r.bytes("capacity", c.l2.capacity, 0, kHuge, "of the whole L2");
    r.count("ways", c.l2.ways, 1, 1024, "lines of a set");
    r.cycles("read_latency", c.l2.read_latency, "of a hit");
    r.cycles("write_latency", c.l2.write_latency, "until a write is done");
    r.rate("read_bandwidth", c.l2.read_rate, "of the whole L2, reads only");
    r.rate("write_bandwidth", c.l2.write_rate, "of the whole L2, writes only");
    r.rate("bandwidth", c.l2.total_rate, "of the whole L2, reads and writes together");
    r.cycles("same_line", c.l2.same_line, "a line is busy for each core that reads it at the same time");
    r.add("hashed", Quantity::yes_no, &c.l2.hashed, 0, 1, "the set index is a hash of the line address instead of its low bits");
    r.prefix = "memory.hbm.";
    r.rate("bandwidth", c.hbm.total_rate, "of the device memory");
    r.share("read_efficiency", c.hbm.read_efficiency, 0.01, "of the bandwidth that a stream of reads reaches");
    r.share("write_efficiency", c.hbm.write_efficiency, 0.01, "of the bandwidth that a stream of writes reaches");
    r.cycles("latency", c.hbm.latency, "of a miss beyond the L2's own");
    r.share("turnaround", c.hbm.turnaround, 0, "of the bandwidth lost while reads and writes mix");
    r.prefix = "memory.gm.";
    r.bytes("request", c.gm.request, 1, 1 << 20, "the smallest request of a core");
    r.bytes("full_burst", c.gm.full_burst, 1, 1 << 20, "the largest request; a row is split into aligned powers of two between both");
    r.count("in_flight", c.gm.in_flight, 1, 1 << 20, "requests a core may have under way in one direction; each costs latency / in_flight at least");
    r.rate("shift", c.gm.shift, "of rows that do not start on a 32-byte block");
    r.prefix = "launch.";
    r.cycles("head", c.launch.head, "from the start of a core to its first instruction");
    r.cycles("per_block", c.launch.per_block, "between the starts of consecutive cores");
    r.add("task", Quantity::microseconds, &c.launch.task_us, 0, 1e6, "of a task beyond its core time");
    r.add("task_per_core", Quantity::microseconds, &c.launch.task_per_core_us, 0, 1e6, "of a task beyond its core time, for each core started");
    r.add("mix", Quantity::microseconds, &c.launch.mix_us, 0, 1e6, "vector cores of a mixed kernel start later by");
    r.prefix.clear();
}

std::string text_of(const ChipField& f) {
    char buffer[40];
    if (const auto* d = std::get_if<double*>(&f.member)) {
        std::snprintf(buffer, sizeof buffer, "%.6g", **d);
    } else if (const auto* i = std::get_if<std::int64_t*>(&f.member)) {
        std::snprintf(buffer, sizeof buffer, "%lld", static_cast<long long>(**i));
    } else {
        return *std::get<bool*>(f.member) ? "true" : "false";
    }
    return buffer;
}

}  // namespace

const std::vector<UnitInfo>& units() {
    static const std::vector<UnitInfo> list{
        {Quantity::count, "1", 1, false},
        {Quantity::bytes, "B", 1, false},
        {Quantity::bytes, "KiB", 1024.0, false},
        {Quantity::bytes, "MiB", 1024.0 * 1024, false},
        {Quantity::bytes, "GiB", 1024.0 * 1024 * 1024, false},
        {Quantity::frequency, "MHz", 1, false},
        {Quantity::frequency, "GHz", 1000, false},
        {Quantity::cycles, "cycles", 1, false},
        {Quantity::cycles, "ns", 1e-9, true},
        {Quantity::cycles, "us", 1e-6, true},
        {Quantity::rate, "B/cycle", 1, false},
        {Quantity::rate, "GB/s", 1e9, true},
        {Quantity::rate, "GiB/s", 1024.0 * 1024 * 1024, true},
        {Quantity::rate, "TB/s", 1e12, true},
        {Quantity::microseconds, "us", 1, false},
        {Quantity::microseconds, "ns", 1e-3, false},
        {Quantity::microseconds, "ms", 1e3, false},
        {Quantity::share, "1", 1, false},
        {Quantity::share, "%", 0.01, false},
        {Quantity::yes_no, "bool", 1, false},
    };
    return list;
}

std::vector<ChipField> chip_fields(Chip& c) {
    Rows r;
    structure(r, c);
    order(r, c);
    pipes(r, c);
    memory(r, c);
    return std::move(r.list);
}

std::vector<FieldValue> describe(const Chip& chip) {
    Chip copy = chip;
    std::vector<FieldValue> out;
    for (const ChipField& f : chip_fields(copy)) {
        const auto from = chip.provenance.find(f.path);
        if (from == chip.provenance.end()) continue;  // a path the chip does not have
        std::string_view unit;
        for (const UnitInfo& u : units()) {
            if (u.quantity != f.quantity) continue;
            unit = u.name;
            break;
        }
        out.push_back({f.path, text_of(f), std::string(unit), f.doc, from->second});
    }
    return out;
}

}  // namespace sfumato::isa
