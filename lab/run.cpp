// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include "lab/check_values.h"
#include "lab/lab.h"
#include "lab/npy.h"
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

std::size_t tensor_index(const std::vector<HostTensor>& tensors, const std::string& option, const std::string& name) {
    std::vector<std::string> names;
    for (const HostTensor& t : tensors) names.push_back(t.name);
    require_known(option + " tensor", name, names);
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
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
    const Prepared& p;
    const Request& q;
    std::vector<HostTensor> tensors;
    sim::Mode mode = sim::Mode::both;
    std::vector<std::string> notes;
    sim::DeviceMemory memory;
    Result result;

    Runner(const Prepared& prepared, const Request& request) : p(prepared), q(request), tensors(host_tensors(p.program(), p.params, p.chip)) {}

    void choose_mode() {
        std::int64_t bytes = 0;
        for (const HostTensor& t : tensors) bytes += t.bytes();
        const double work = flops(p);
        const bool small = work <= kMostCheckedFlops && bytes <= kMostCheckedBytes;
        mode = q.mode.value_or(small ? sim::Mode::both : sim::Mode::time);
        if (!q.mode && !small)
            notes.push_back("time only: the problem has " + traces::short_number(work / 1e9) + " Gflop and " + isa::with_separators(bytes >> 20) +
                            " MiB of tensors, values are checked up to " + traces::short_number(kMostCheckedFlops / 1e9) + " Gflop and " +
                            std::to_string(kMostCheckedBytes >> 20) + " MiB; --mode both checks them");
        if (mode == sim::Mode::time && !q.dumps.empty()) throw isa::InputError("--dump needs values; give --mode both or --mode values");
    }

    void fill_memory() {
        memory = device_memory(p.program(), tensors, q.seed, mode != sim::Mode::time);
        for (const auto& [name, file] : q.inputs) {
            const std::size_t i = tensor_index(tensors, "--input", name);
            memory.tensors[i].bytes = read_npy(file, tensors[i].dtype, tensors[i].shape).bytes;
        }
    }

    std::vector<sim::Launch> launches(std::int64_t count) const {
        sim::Launch one{&p.program(), p.params, {}, 0};
        for (std::size_t i = 0; i < tensors.size(); ++i) one.tensors.push_back(static_cast<int>(i));
        return std::vector<sim::Launch>(static_cast<std::size_t>(count), one);
    }

    struct Progress {
        const std::function<void(double)>* tell;
        double expected;  ///< ticks
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
        Progress progress{&q.progress, p.choice ? p.choice->cycles * static_cast<double>(q.repeat) : 0};
        if (q.progress) {
            options.progress = &on_progress;
            options.progress_user = &progress;
        }
        const auto list = launches(q.repeat);
        std::optional<traces::ChromeTrace> trace;
        if (!q.trace.empty()) {
            traces::TraceOptions t;
            t.max_slices = q.trace_slices;
            t.cores.insert(q.trace_cores.begin(), q.trace_cores.end());
            if (!q.trace_window.empty()) parse_window(q.trace_window, traces::TickClock(p.chip), t);
            trace.emplace(q.trace, p.chip, std::vector<const isa::Program*>(list.size(), &p.program()), std::move(t));
            options.sinks.push_back(&*trace);
        }
        sim::RunResult out = sim::run(p.chip, list, memory, options);
        if (trace) result.trace = trace->finish();
        return out;
    }

    traces::ValueCheck check(const sim::DeviceMemory& before) {
        if (p.kernel && p.kernel->reference) return check_against_reference(p, tensors, before, memory);
        sim::DeviceMemory expected = before;
        sim::RunOptions options;
        options.mode = sim::Mode::values;
        if (sim::run(p.chip, launches(q.repeat), expected, options).status != sim::Status::ok) return {};
        return check_equal(p, tensors, expected, memory, "bit for bit as in program order");
    }

    Result run() {
        if (q.repeat < 1) throw isa::InputError("--repeat " + std::to_string(q.repeat) + ": must be at least 1");
        choose_mode();
        fill_memory();
        const bool values = mode != sim::Mode::time;
        const sim::DeviceMemory before = values ? memory : sim::DeviceMemory{};
        const sim::RunResult sim = simulate();
        traces::RunReport& r = result.report;
        r = traces::measure(p.chip, p.program(), sim);
        add_problem(r, p, q, uses_cube(p.program()));
        r.timed = mode != sim::Mode::values;
        r.assumptions.mode = mode_name(mode);
        r.assumptions.notes = notes;
        if (values && sim.status == sim::Status::ok) r.values = check(before);
        for (const auto& [name, file] : q.dumps) {
            const std::size_t i = tensor_index(tensors, "--dump", name);
            write_npy(file, {tensors[i].dtype, tensors[i].shape, memory.tensors[i].bytes});
        }
        return std::move(result);
    }
};

}  // namespace

Result run(const Prepared& p, const Request& q) { return Runner(p, q).run(); }
Result run(const Request& q) { return run(prepare(q), q); }
Result run(const kernels::Kernel& own, const Request& q) { return run(prepare(own, q), q); }

}  // namespace sfumato::lab
