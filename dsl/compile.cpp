// SPDX-License-Identifier: Apache-2.0
#include "dsl/compile.h"

#include <algorithm>

#include "dsl/lower.h"
#include "isa/text.h"
#include "isa/verify.h"

namespace sfumato::dsl {

namespace {

void refuse_if_any(std::vector<isa::Diagnostic> found) {
    if (!found.empty()) throw isa::Rejected(std::move(found));
}

/// Until buffers have addresses their sum is for the planner to judge: its report lists them all, with what would fit.
std::vector<isa::Diagnostic> verified(const isa::Program& p, const isa::Chip& chip) {
    std::vector<isa::Diagnostic> found = isa::verify(p, chip);
    const bool placed = std::all_of(p.buffers.begin(), p.buffers.end(), [](const isa::Buffer& b) { return b.base.has_value(); });
    if (!placed) std::erase_if(found, [](const isa::Diagnostic& d) { return d.code == isa::Code::capacity; });
    return found;
}

void ssa(CompileState& s) {
    tile::to_ssa(s.kernel);
    refuse_if_any(tile::verify(s.kernel));
    s.out.requirements = tile::requirements(s.kernel);
}
void lower_kernel(CompileState& s) {
    Lowered l = lower(std::move(s.kernel), s.chip);
    s.out.program = std::move(l.program);
    s.out.decisions = std::move(l.decisions);
    for (tile::Requirement& r : l.requirements) s.out.requirements.push_back(std::move(r));
    s.lowered = true;
}
void plan(CompileState& s) { s.out.capacity = plan_buffers(s.out.program, s.chip); }
void order(CompileState& s) { s.out.sync = insert_sync(s.out.program, s.chip); }
void check_order(CompileState& s) {
    if (!s.options.check) return;
    std::vector<isa::Diagnostic> found = check_sync(s.out.program, s.chip);
    const auto hints = std::stable_partition(found.begin(), found.end(), [](const isa::Diagnostic& d) { return d.code != isa::Code::hint; });
    s.out.hints.assign(hints, found.end());
    found.erase(hints, found.end());
    refuse_if_any(std::move(found));
}

}  // namespace

const std::vector<Pass>& passes() {
    static const std::vector<Pass> list{
        {"ssa", "the author's tile variables become values", ssa},
        {"lower", "tiles become buffers and instructions", lower_kernel},
        {"plan_buffers", "buffers get addresses", plan},
        {"insert_sync", "flags and barriers order the pipes", order},
        {"check_sync", "the order is checked by code that shares nothing with the solver", check_order},
    };
    return list;
}

Compiled run_passes(tile::Kernel kernel, const isa::Chip& chip, const CompileOptions& options) {
    if (options.stages > 0 && !tile::has_tile_ops(kernel.body))
        throw isa::InputError("stages = " + std::to_string(options.stages) + " of " + options.name +
                              ": the kernel is written at the explicit level, where slots(n) in its own text is the number of stages; leave stages out");
    CompileState s{chip, options, std::move(kernel), false, {}};
    const auto keep = [&](std::string_view name) {
        if (options.keep_texts) s.out.texts.push_back({std::string(name), s.lowered ? isa::print_program(s.out.program) : tile::print(s.kernel)});
    };
    keep("trace");
    for (const Pass& p : passes()) {
        p.run(s);
        if (s.lowered) refuse_if_any(verified(s.out.program, chip));
        keep(p.name);
        if (p.name == options.stop_after) break;
    }
    return std::move(s.out);
}

Tensor add_argument(isa::DType type, isa::Role role, const CompileOptions& options) {
    isa::Program& p = Trace::current().frame();
    const std::size_t i = p.tensors.size();
    isa::Tensor t;
    t.name = i < options.tensors.size() ? options.tensors[i] : "t" + std::to_string(i);
    t.dtype = type;
    t.role = role;
    p.tensors.push_back(std::move(t));
    return {static_cast<std::int32_t>(i)};
}

}  // namespace sfumato::dsl
