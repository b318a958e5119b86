// SPDX-License-Identifier: Apache-2.0
// The two levels of one kernel at the same tiling: what the compiler makes of three lines costs no more than the text that says everything.
#include <catch2/catch.hpp>

#include "tests/support/kernel_run.h"

using namespace sfumato;

namespace {
struct Order {
    int sets = 0, waits = 0, barriers = 0;
};
Order order_of(const isa::Program& p) {
    Order o;
    for (const isa::Section& s : p.sections)
        isa::for_each_instr(s.body, [&](const isa::Instr& i) {
            o.sets += i.op == isa::Op::set_flag;
            o.waits += i.op == isa::Op::wait_flag;
            o.barriers += i.op == isa::Op::barrier;
        });
    return o;
}
}  // namespace

TEST_CASE("The maths-like matmul has no barrier, seven flags and the cycles of the explicit text within 1 percent") {
    const isa::Chip chip = isa::load_chip("Ascend910B2", {}, "isa/chips");
    for (const kernels::Sizes& tile :
         {kernels::Sizes{{"m", 128}, {"n", 256}, {"k1", 256}, {"k0", 64}}, {{"m", 128}, {"n", 256}, {"k1", 64}, {"k0", 64}}}) {
        testing::RunPlan maths{
            .kernel = "matmul_bias_relu", .chip = "Ascend910B2", .shape = {{"m", 1000}, {"n", 768}, {"k", 1024}}, .level = "maths", .tile = tile};
        testing::RunPlan expert = maths;
        expert.level = "explicit";
        maths.mode = expert.mode = sim::Mode::time;
        const dsl::Compiled m = testing::compile_kernel(maths, chip), e = testing::compile_kernel(expert, chip);
        const Order a = order_of(m.program), b = order_of(e.program);
        CHECK(m.sync.flags.size() == 7);  // l1 full, l1 free, l0 full, l0 free, bias free, accumulator full, accumulator free
        CHECK(a.barriers == 0);
        CHECK(a.sets <= b.sets);
        CHECK(a.waits <= b.waits);
        const auto ma = static_cast<double>(testing::run_kernel(maths).result.makespan),
                   ex = static_cast<double>(testing::run_kernel(expert).result.makespan);
        CHECK(ma <= 1.01 * ex);
        CHECK(ma >= 0.9 * ex);
    }
}
