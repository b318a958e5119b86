// SPDX-License-Identifier: Apache-2.0
// Any program that can be written is judged on two kinds of chip; what the verifier lets pass runs. The model ends (a hang or a crash is a
// finding), and a run of which it has nothing to say has the same values as the program in program order.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "isa/diagnostic.h"
#include "isa/text.h"
#include "isa/verify.h"
#include "sim/simulator.h"

namespace {

using namespace sfumato;
constexpr std::int64_t kParameter = 20, kBlocks = 2;
constexpr std::int64_t kLargestTensor = 1 << 20;  // bytes
constexpr int kMostSteps = 2000;                // per section: what a fuzzer can run a thousand times a minute

isa::WalkContext context_of(const isa::Program& p) {
    isa::WalkContext c;
    for (const isa::Symbol& s : p.symbols)
        if (s.kind == isa::SymbolKind::param) c.params[s.name] = kParameter;
    c.block_num = kBlocks;
    return c;
}

/// Whether the sections end soon; loaded values count as 0, as in memory that holds zeros.
bool is_short(const isa::Program& p, const isa::WalkContext& context) {
    for (const isa::Section& section : p.sections) {
        isa::Walker walker(p, section, context);
        int steps = 0;
        for (isa::Step s = walker.next(); s.kind != isa::StepKind::end; s = walker.next()) {
            if (++steps > kMostSteps) return false;
            if (s.kind == isa::StepKind::load) walker.give(0);
        }
    }
    return true;
}

/// Zeros for every tensor; false when one is empty or large.
bool allocate(const isa::Program& p, const isa::WalkContext& context, sim::DeviceMemory& memory) {
    const auto symbols = isa::bind_symbols(p, context);
    for (const isa::Tensor& t : p.tensors) {
        std::int64_t bytes = isa::bytes_of(t.dtype);
        for (const isa::Expr& d : t.dims) {
            const std::int64_t extent = p.exprs.eval(d, symbols);
            if (extent <= 0 || extent > kLargestTensor || (bytes *= extent) > kLargestTensor) return false;
        }
        memory.tensors.push_back({t.name, bytes, std::vector<std::byte>(static_cast<std::size_t>(bytes))});
    }
    return true;
}

sim::RunResult run(const isa::Chip& chip, const isa::Program& p, const isa::WalkContext& context, sim::DeviceMemory& memory, sim::Mode mode) {
    sim::Launch launch{&p, context.params, {}, kBlocks};
    for (int t = 0; t < static_cast<int>(p.tensors.size()); ++t) launch.tensors.push_back(t);
    sim::RunOptions options;
    options.mode = mode;
    return sim::run(chip, std::span(&launch, 1), memory, options);
}

void judge_and_run(isa::Program& p, const isa::Chip& chip) {
    if (!isa::verify(p, chip).empty()) return;
    const isa::WalkContext context = context_of(p);
    sim::DeviceMemory memory;
    if (!is_short(p, context) || !allocate(p, context, memory)) return;
    sim::DeviceMemory ordered = memory;
    const sim::RunResult timed = run(chip, p, context, memory, sim::Mode::both);
    const sim::RunResult in_order = run(chip, p, context, ordered, sim::Mode::values);
    if (timed.status != sim::Status::ok || !timed.diagnostics.empty()) return;
    if (in_order.status != sim::Status::ok) std::abort();
    for (std::size_t t = 0; t < memory.tensors.size(); ++t)
        if (memory.tensors[t].bytes != ordered.tensors[t].bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const isa::Chip split = isa::load_chip("Ascend910B2", {}, "isa/chips"), merged = isa::load_chip("Ascend910A", {}, "isa/chips");
    try {
        isa::Program p = isa::parse_program({reinterpret_cast<const char*>(data), size}, "fuzz.sfa");
        judge_and_run(p, split);
        judge_and_run(p, merged);
    } catch (const isa::InputError&) {
    }
    return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

/// Half of the mutations respect the text: a number becomes another one, or a line is taken out or doubled. So programs stay programs.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
    const auto draw = [&](std::size_t n) { return static_cast<std::size_t>((seed = seed * 1664525u + 1013904223u) >> 8) % std::max<std::size_t>(n, 1); };
    if (draw(2) == 0) return LLVMFuzzerMutate(data, size, most);
    std::string text(reinterpret_cast<const char*>(data), size);
    if (draw(3) == 0) {
        const std::size_t begin = text.rfind('\n', draw(size)) + 1, end = std::min(text.find('\n', begin), size - 1) + 1;
        if (begin < end && end <= size) draw(2) == 0 ? text.erase(begin, end - begin) : text.insert(begin, text.substr(begin, end - begin));
    } else {
        static constexpr const char* digits = "0123456789";
        const std::size_t begin = text.find_first_of(digits, draw(size));
        if (begin != std::string::npos) {
            const std::size_t end = std::min(text.find_first_not_of(digits, begin), text.size());
            static constexpr std::int64_t values[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 63, 64, 127, 128, 255, 256, 511, 512, 1024, 4096, 65535, 65536, std::numeric_limits<std::int64_t>::max()};
            text.replace(begin, end - begin, std::to_string(values[draw(std::size(values))]));
        }
    }
    const std::size_t kept = std::min(text.size(), most);
    std::memcpy(data, text.data(), kept);
    return kept;
}
