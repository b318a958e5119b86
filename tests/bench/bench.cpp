// SPDX-License-Identifier: Apache-2.0
// How fast the model and the compiler are on this host. User CPU time counts, since others may be using the machine: run with
// --benchmark_counters_tabular=true and read the CPU column. Not part of the fast suite.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "isa/program_builder.h"
#include "lab/lab.h"

using namespace sfumato;

namespace {

lab::Request matmul(const std::string& shape, sim::Mode mode) {
    lab::Request r;
    r.what = "matmul";
    r.shape = shape;
    r.tile = "m=128,n=256,k1=256,k0=64";
    r.mode = mode;
    return r;
}

void run(benchmark::State& state, const lab::Request& request) {
    const lab::Prepared prepared = lab::prepare(request);
    std::int64_t instances = 0, cycles = 0;
    for (auto _ : state) {
        const traces::RunReport r = lab::run(prepared, request).report;
        if (r.status != "ok") state.SkipWithError("the run failed");
        instances += r.instructions;
        cycles = r.cycles;
    }
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    state.counters["instances/s"] = benchmark::Counter(static_cast<double>(instances), benchmark::Counter::kIsRate);
    state.counters["cycles"] = static_cast<double>(cycles);
    state.counters["peak_MB"] = static_cast<double>(used.ru_maxrss) / 1e3;
}

/// Vector instructions, and flags between two pipes; no transfer: what a step of the model costs.
isa::Program without_transfers(std::int64_t trips) {
    using enum isa::Pipe;
    isa::ProgramBuilder b("steps");
    b.section(isa::CoreKind::aiv, [&] {
        const int x = b.buffer("x", isa::Space::ub, 1024);
        b.loop(trips, [&](isa::Expr) {
            b.vector(isa::Op::vdup, b.at(x), {}, {}, 64);
            b.set(v, mte3);
            b.wait(v, mte3);
            b.set(mte3, v);
            b.wait(mte3, v);
        });
    });
    return b.build(48);
}

void steps(benchmark::State& state) {
    const isa::Chip chip = isa::load_chip("Ascend910B2");
    const isa::Program program = without_transfers(20000);
    std::int64_t instances = 0;
    for (auto _ : state) {
        sim::DeviceMemory memory;
        const sim::Launch launch{&program, {}, {}, 0};
        const sim::RunResult r = sim::run(chip, std::span(&launch, 1), memory, {.mode = sim::Mode::time});
        if (r.status != sim::Status::ok) state.SkipWithError("the run failed");
        instances += r.instructions;
    }
    state.counters["instances/s"] = benchmark::Counter(static_cast<double>(instances), benchmark::Counter::kIsRate);
}

void compile(benchmark::State& state, const kernels::Kernel& kernel) {
    const isa::Chip chip = isa::load_chip("Ascend910B2");
    kernels::Config config{.dtype = kernel.dtypes.front(), .level = kernel.levels.front(), .tile = {}};
    config.tile = kernels::complete_tile(kernel, chip, kernel.default_shape, config.dtype, {});
    for (auto _ : state) benchmark::DoNotOptimize(kernel.compile(chip, config).program.buffers.size());
}

}  // namespace

int main(int argc, char** argv) {
    const auto once = [](benchmark::internal::Benchmark* b) { b->Unit(benchmark::kMillisecond)->Iterations(3); };
    once(benchmark::RegisterBenchmark("time/matmul_4096", run, matmul("m=4096,n=4096,k=4096", sim::Mode::time)));
    once(benchmark::RegisterBenchmark("time/matmul_8192", run, matmul("m=8192,n=8192,k=8192", sim::Mode::time)));
    once(benchmark::RegisterBenchmark("time/matmul_1024", run, matmul("m=1024,n=1024,k=1024", sim::Mode::time)));
    once(benchmark::RegisterBenchmark("both/matmul_1024", run, matmul("m=1024,n=1024,k=1024", sim::Mode::both)));
    once(benchmark::RegisterBenchmark("time/without_transfers", steps));
    for (const kernels::Kernel& k : kernels::table())
        once(benchmark::RegisterBenchmark(("compile/" + k.name).c_str(), [&k](benchmark::State& s) { compile(s, k); }));
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
