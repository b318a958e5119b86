// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include "lab/check_values.h"
#include "lab/lab.h"
#include "lab/npy.h"
#include "lab/queue.h"
#include "lab/tensors.h"

namespace sfumato::lab {

namespace {

constexpr std::string_view mode_name(sim::Mode m) { return m == sim::Mode::both ? "both" : m == sim::Mode::time ? "time" : "values"; }

/// "10:20" in microseconds, "100:200cycles" in cycles.
void parse_window(const std::string& text, const traces::TickClock& clock, traces::TraceOptions& out) {
    std::string_view rest = text;
    bool cycles = false;
    for (const std::string_view unit : {"cycles", "us"})
        if (rest.ends_with(unit)) {
            cycles = unit == "cycles";
            rest.remove_suffix(unit.size());
        }
    const std::size_t colon = rest.find(':');
    double ends[2] = {0, -1};
    const auto number = [](std::string_view t, double& v) {
        const auto end = std::from_chars(t.data(), t.data() + t.size(), v);
        return end.ec == std::errc() && end.ptr == t.data() + t.size();
    };
    const bool fine = colon != std::string_view::npos && number(rest.substr(0, colon), ends[0]) && number(rest.substr(colon + 1), ends[1]);
    if (!fine || ends[0] < 0 || ends[1] <= ends[0] || ends[1] > 1e12)
        throw isa::InputError("--trace-window '" + text + "': expected begin:end in us with begin < end, for example 10:20, or 1000:2000cycles");
    out.begin = cycles ? static_cast<sim::Tick>(ends[0]) : clock.ticks(ends[0]);
    out.end = cycles ? static_cast<sim::Tick>(ends[1]) : clock.ticks(ends[1]);
}

double flops(const Prepared& p) { return p.kernel && p.kernel->flops ? p.kernel->flops(p.shape) : 0; }

void add_problem(traces::RunReport& r, const Prepared& p, const Request& q, bool uses_cube) {
    r.kernel = p.name;
    r.dtype = p.kernel ? std::string(name(p.dtype)) : "";
    r.shape.assign(p.shape.begin(), p.shape.end());
    r.tile.assign(p.tile.begin(), p.tile.end());
    r.repeat = q.repeat;
    r.compile_s = p.compile_s;
    r.assumptions.model_version = sim::kModelVersion;
    r.assumptions.l2 = q.warm_l2 ? "warm" : "cold";
    r.assumptions.seed = q.seed;
    if (!p.kernel) return;
    r.flops = flops(p);
    r.peak_tflops = uses_cube ? traces::cube_peak_tflops(p.chip, p.dtype) : traces::vector_peak_tflops(p.chip, p.dtype);
    r.peak_of = std::string(uses_cube ? "cube " : "vector ") + r.dtype;
}

bool uses_cube(const isa::Program& p) {
    bool found = false;
    for (const isa::Section& s : p.sections) isa::for_each_instr(s.body, [&](const isa::Instr& i) { found |= i.op == isa::Op::mmad; });
    return found;
}

/// One run in progress: its tensors, its memory, and what is reported about it.
struct Runner {
    std::span<const Prepared> kernels;
    const Request& q;
    Queue queue;
    sim::Mode mode = sim::Mode::both;
    std::vector<std::string> notes;
    sim::DeviceMemory memory;
    Result result;

    Runner(std::span<const Prepared> prepared, const Request& request) : kernels(prepared), q(request), queue(prepared) {}

    void choose_mode() {
        std::int64_t bytes = 0;
        double work = 0;
        for (const TensorRef& t : queue.owners()) bytes += queue.of(t).bytes();
        for (const Prepared& p : kernels) work += flops(p);
        const bool small = work <= kMostCheckedFlops && bytes <= kMostCheckedBytes;
        mode = q.mode.value_or(small ? sim::Mode::both : sim::Mode::time);
        if (!q.mode && !small)
            notes.push_back("time only: the problem has " + traces::short_number(work / 1e9) + " Gflop and " + isa::with_separators(bytes >> 20) +
                            " MiB of tensors, values are checked up to " + traces::short_number(kMostCheckedFlops / 1e9) + " Gflop and " +
                            std::to_string(kMostCheckedBytes >> 20) + " MiB; --mode both checks them");
        if (mode == sim::Mode::time && !q.dumps.empty()) throw isa::InputError("--dump needs values; give --mode both or --mode values");
        if (mode == sim::Mode::values && !q.trace.empty()) throw isa::InputError("--trace needs time; give --mode both or --mode time");
    }

    void fill_memory() {
        constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15u;  // the golden ratio: seeds of neighbours far apart
        for (std::size_t i = 0; i < queue.owners().size(); ++i) {
            const TensorRef t = queue.owners()[i];
            const bool fill = mode != sim::Mode::time || control_tensors(kernels[t.launch].program()).contains(t.tensor);
            memory.tensors.push_back(device_tensor(queue.of(t), q.seed + i * kStep, fill));
        }
        for (const auto& [name, file] : q.dumps) queue.find("--dump", name);  // known before the run, not after it
        for (const auto& [name, file] : q.inputs) {
            const TensorRef t = queue.find("--input", name);
            const HostTensor& host = queue.of(t);
            if (host.role == isa::Role::out || host.role == isa::Role::workspace || kernels[t.launch].bound.contains(t.tensor))
                throw isa::InputError("--input " + name + ": the run writes this tensor; own data goes into tensors that are only read");
            memory.tensors[static_cast<std::size_t>(queue.device(t))].bytes = read_npy(file, host.dtype, host.shape).bytes;
        }
    }

    /// The kernels in order, as often as the run repeats them.
    std::vector<sim::Launch> launches() const {
        std::vector<sim::Launch> out;
        for (std::int64_t round = 0; round < q.repeat; ++round)
            for (std::size_t l = 0; l < kernels.size(); ++l) out.push_back({&kernels[l].program(), kernels[l].params, queue.device(l), 0});
        return out;
    }

    struct Progress {
        const std::function<void(double)>* tell;
        double expected = 0;  ///< ticks
    };
    static void on_progress(void* user, sim::Tick now) {
        const auto* p = static_cast<const Progress*>(user);
        (*p->tell)(p->expected > 0 ? std::min(1.0, static_cast<double>(now) / p->expected) : 0);
    }

    sim::RunResult simulate() {
        sim::RunOptions options;
        options.mode = mode;
        options.warm_l2 = q.warm_l2;
        options.seed = q.seed;
        const isa::Chip& chip = kernels.front().chip;
        Progress progress{&q.progress};
        for (const Prepared& p : kernels) progress.expected += p.choice ? p.choice->cycles * static_cast<double>(q.repeat) : 0;
        if (q.progress) {
            options.progress = &on_progress;
            options.progress_user = &progress;
        }
        const auto list = launches();
        std::optional<traces::ChromeTrace> trace;
        if (!q.trace.empty()) {
            traces::TraceOptions t;
            t.max_slices = q.trace_slices;
            for (const int core : q.trace_cores)
                if (core >= traces::numbered_cores(chip))
                    throw isa::InputError("--trace-cores " + std::to_string(core) + ": " + chip.name + " has cores 0 to " +
                                          std::to_string(traces::numbered_cores(chip) - 1));
            t.cores.insert(q.trace_cores.begin(), q.trace_cores.end());
            if (!q.trace_window.empty()) parse_window(q.trace_window, traces::TickClock(chip), t);
            std::vector<const isa::Program*> programs;
            for (const sim::Launch& l : list) programs.push_back(l.program);
            trace.emplace(q.trace, chip, programs, std::move(t));
            options.sinks.push_back(&*trace);
        }
        sim::RunResult out = sim::run(chip, list, memory, options);
        if (trace) result.trace = trace->finish();
        return out;
    }

    /// The tensors of one kernel in its own order: `from`, and those that earlier kernels wrote as they are now.
    sim::DeviceMemory seen_by(std::size_t launch, const sim::DeviceMemory& from) const {
        sim::DeviceMemory out;
        for (std::size_t t = 0; t < queue.tensors(launch).size(); ++t) {
            const auto& source = kernels[launch].bound.contains(t) ? memory : from;
            out.tensors.push_back(source.tensors[static_cast<std::size_t>(queue.device({launch, t}))]);
        }
        return out;
    }

    traces::ValueCheck check(std::size_t launch, const sim::DeviceMemory& before) {
        const Prepared& p = kernels[launch];
        if (p.kernel && p.kernel->reference) return check_against_reference(p, queue.tensors(launch), seen_by(launch, before), seen_by(launch, memory));
        sim::DeviceMemory expected = before;
        sim::RunOptions options;
        options.mode = sim::Mode::values;
        const auto list = launches();
        if (sim::run(p.chip, list, expected, options).status != sim::Status::ok) return {};
        sim::DeviceMemory wanted;
        for (int t : queue.device(launch)) wanted.tensors.push_back(expected.tensors[static_cast<std::size_t>(t)]);
        return check_equal(p, queue.tensors(launch), wanted, seen_by(launch, memory), "bit for bit as in program order");
    }

    traces::RunReport report(std::size_t l, const sim::RunResult& sim) const {
        const std::size_t round = static_cast<std::size_t>(q.repeat - 1) * kernels.size();  // the last one is reported
        const Prepared& p = kernels[l];
        traces::RunReport r = traces::measure(p.chip, p.program(), sim, round + l);
        add_problem(r, p, q, uses_cube(p.program()));
        r.timed = mode != sim::Mode::values;
        r.assumptions.mode = mode_name(mode);
        r.assumptions.notes = notes;
        r.l2_before = l > 0 ? "as launch " + std::to_string(l) + " left it" : q.repeat > 1 ? "as the round before left it" : r.assumptions.l2;
        for (const auto& [tensor, source] : p.bound) r.reads.emplace_back(queue.tensors(l)[tensor].name, queue.name({source.first, source.second}));
        return r;
    }

    /// Core time of each round of a repeated run.
    std::vector<double> rounds(const sim::RunResult& sim) const {
        std::vector<double> out;
        if (q.repeat < 2 || sim.ticks_per_us <= 0) return out;
        for (std::size_t i = 0; i < sim.launches.size(); ++i) {
            if (i % kernels.size() == 0) out.push_back(0);
            sim::Tick slowest = 0;
            for (const sim::CoreStats& c : sim.launches[i].core_stats) slowest = std::max(slowest, c.end - c.begin);
            out.back() += static_cast<double>(slowest) / sim.ticks_per_us;
        }
        return out;
    }

    Result run() {
        if (q.repeat < 1 || q.repeat > kMostRounds)
            throw isa::InputError("--repeat " + std::to_string(q.repeat) + ": must be at least 1 and at most " + std::to_string(kMostRounds));
        choose_mode();
        fill_memory();
        const bool values = mode != sim::Mode::time;
        const sim::DeviceMemory before = values ? memory : sim::DeviceMemory{};
        const sim::RunResult sim = simulate();
        std::vector<traces::RunReport> reports;
        for (std::size_t l = 0; l < kernels.size(); ++l) {
            reports.push_back(report(l, sim));
            if (values && sim.status == sim::Status::ok) reports.back().values = check(l, before);
        }
        result.report = traces::combine(std::move(reports));
        result.report.instructions = sim.instructions;
        result.report.rounds_us = rounds(sim);
        for (const auto& [name, file] : q.dumps) {
            const TensorRef t = queue.find("--dump", name);
            write_npy(file, {queue.of(t).dtype, queue.of(t).shape, memory.tensors[static_cast<std::size_t>(queue.device(t))].bytes});
        }
        return std::move(result);
    }
};

}  // namespace

Result run(std::span<const Prepared> kernels, const Request& q) { return Runner(kernels, q).run(); }
Result run(const Prepared& p, const Request& q) { return run(std::span(&p, 1), q); }
Result run(const Request& q) { return run(prepare_all(q), q); }
Result run(const kernels::Kernel& own, const Request& q) { return run(prepare(own, q), q); }

}  // namespace sfumato::lab
