// SPDX-License-Identifier: Apache-2.0
#include "lab/author.h"

#include <algorithm>
#include <cmath>

#include "isa/diagnostic.h"
#include "lab/shape_text.h"
#include "lab/tensors.h"
#include "sim/exec/element.h"
#include "sim/simulator.h"

namespace sfumato::lab {

std::vector<double> values(const Array& a) { return to_doubles(a.dtype, a.bytes); }

void set_values(Array& a, const std::vector<double>& v) {
    const auto have = a.bytes.size() / static_cast<std::size_t>(isa::bytes_of(a.dtype));
    if (v.size() != have)
        throw isa::InputError("set_values gives " + std::to_string(v.size()) + " values to a tensor of shape " + shape_text(a.shape) + ", which has " + std::to_string(have));
    const std::vector<float> floats(v.begin(), v.end());
    sim::store_elements(a.dtype, floats.data(), static_cast<std::int64_t>(floats.size()), a.bytes.data());
}

void randomise(Array& a, std::uint64_t seed) {
    HostTensor t{"", a.dtype, isa::Role::in, a.shape, static_cast<std::int64_t>(a.bytes.size()) / isa::bytes_of(a.dtype)};
    a.bytes = random_bytes(t, seed);
}

/// What a later check or trace needs to know about the call.
struct Run::State {
    std::shared_ptr<const std::pair<isa::Chip, dsl::Compiled>> code;
    std::map<std::string, std::int64_t> params;
    std::vector<Array> before;
    std::vector<std::vector<double>> after;

    sim::RunResult simulate(sim::DeviceMemory& memory, sim::Mode mode, sim::EventSink* sink) const {
        sim::Launch launch{&code->second.program, params, {}, 0};
        for (std::size_t i = 0; i < memory.tensors.size(); ++i) launch.tensors.push_back(static_cast<int>(i));
        sim::RunOptions options;
        options.mode = mode;
        if (sink) options.sinks.push_back(sink);
        return sim::run(code->first, {&launch, 1}, memory, options);
    }
    sim::DeviceMemory memory() const {
        sim::DeviceMemory out;
        for (std::size_t i = 0; i < before.size(); ++i)
            out.tensors.push_back({code->second.program.tensors[i].name, static_cast<std::int64_t>(before[i].bytes.size()), before[i].bytes, -1});
        return out;
    }
};

Compiled::Compiled(isa::Chip chip, dsl::Compiled compiled)
    : code_(std::make_shared<const std::pair<isa::Chip, dsl::Compiled>>(std::move(chip), std::move(compiled))) {}

const isa::Program& Compiled::program() const { return code_->second.program; }

std::string Compiled::explain() const {
    const dsl::Compiled& c = code_->second;
    return dsl::to_text(c.capacity, c.program) + dsl::to_text(c.sync, c.program, true);
}

Run Compiled::launch(std::vector<Array*> tensors) const {
    const isa::Program& p = program();
    if (tensors.size() != p.tensors.size())
        throw isa::InputError(p.name + " takes " + std::to_string(p.tensors.size()) + " tensors, the call gives " + std::to_string(tensors.size()));
    auto state = std::make_shared<Run::State>();
    state->code = code_;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const isa::Tensor& t = p.tensors[i];
        if (tensors[i]->dtype != t.dtype || tensors[i]->shape.size() != t.dims.size())
            throw isa::InputError("tensor " + t.name + " of " + p.name + " is " + std::string(name(t.dtype)) + " with " + std::to_string(t.dims.size()) +
                                  " extents, the call gives " + std::string(name(tensors[i]->dtype)) + " " + shape_text(tensors[i]->shape));
        for (std::size_t d = 0; d < t.dims.size(); ++d) state->params[t.name + "." + std::to_string(d)] = tensors[i]->shape[d];
        state->before.push_back(*tensors[i]);
    }
    if (auto faults = dsl::tile::unmet(p, code_->second.requirements, state->params); !faults.empty()) throw isa::Rejected(std::move(faults));
    host_tensors(p, state->params, code_->first);  // refuses empty and oversized tensors

    sim::DeviceMemory memory = state->memory();
    const sim::RunResult result = state->simulate(memory, sim::Mode::both, nullptr);
    Run run;
    run.report_ = traces::measure(code_->first, p, result);
    run.report_.assumptions.mode = "both";
    run.report_.assumptions.l2 = "cold";
    run.report_.assumptions.model_version = sim::kModelVersion;
    if (result.status != sim::Status::ok) throw isa::Rejected(result.diagnostics);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        tensors[i]->bytes = std::move(memory.tensors[i].bytes);
        state->after.push_back(values(*tensors[i]));
    }
    run.state_ = std::move(state);
    return run;
}

const Run& Run::check(const Reference& reference, double relative, double absolute) {
    const isa::Program& p = state_->code->second.program;
    std::vector<std::vector<double>> expected;
    for (const Array& a : state_->before) expected.push_back(values(a));
    reference(expected);
    traces::ValueCheck& v = report_.values;
    v.checked = v.equal = true;
    v.tolerance = absolute;
    v.tolerance_rule = traces::short_number(relative) + " of the value beside it, as the author says";
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (p.tensors[i].role == isa::Role::in) continue;
        for (std::size_t e = 0; e < expected[i].size(); ++e) {
            const double want = expected[i][e], got = state_->after[i][e], error = got == want ? 0 : std::fabs(got - want);
            v.max_abs_error = std::max(v.max_abs_error, error);
            if (want != 0) v.max_rel_error = std::max(v.max_rel_error, error / std::fabs(want));
            if (error <= relative * std::fabs(want) + absolute) continue;  // false for NaN, which is a mismatch
            if (v.equal)
                v.first_mismatch = p.tensors[i].name + shape_text(coordinates(state_->before[i].shape, static_cast<std::int64_t>(e))) + ": got " +
                                   traces::short_number(got) + ", expected " + traces::short_number(want);
            v.equal = false;
        }
    }
    if (!v.equal) throw isa::InputError("values of " + p.name + " are wrong: " + v.first_mismatch);
    return *this;
}

traces::TraceCounts Run::trace(const std::string& file) const {
    const auto& [chip, compiled] = *state_->code;
    traces::ChromeTrace trace(file, chip, {&compiled.program});
    sim::DeviceMemory memory = state_->memory();
    state_->simulate(memory, sim::Mode::time, &trace);
    return trace.finish();
}

}  // namespace sfumato::lab
