// SPDX-License-Identifier: Apache-2.0
#include "sim/exec/machine.h"

#include <array>
#include <cstring>

#include "sim/exec/element.h"
#include "sim/exec/ops.h"

namespace sfumato::sim {

namespace {

using Effect = void (*)(const ops::Site&, const isa::BoundOperands&);

// Built from the rows: a row without its function does not compile and link.
constexpr Effect kEffects[] = {
#define SFUMATO_INSTR(name, pipe, family, ...) \
    [](const ops::Site& s, const isa::BoundOperands& o) { ops::name(s, std::get<isa::family##T<std::int64_t>>(o)); },
#include "isa/instructions.def"
#undef SFUMATO_INSTR
};
static_assert(std::size(kEffects) == isa::kOpCount);

}  // namespace

namespace ops {
// Order and scalar work have no effect on memory.
void scalar_work(const Site&, const ScalarI&) {}
void set_flag(const Site&, const SyncI&) {}
void wait_flag(const Site&, const SyncI&) {}
void barrier(const Site&, const SyncI&) {}
void cross_set(const Site&, const SyncI&) {}
void cross_wait(const Site&, const SyncI&) {}
}  // namespace ops

Machine::Machine(const isa::Chip& chip, std::size_t cores, DeviceMemory& memory) : chip_(chip), memory_(memory), cores_(cores) {
    for (DeviceTensor& t : memory_.tensors)
        if (t.bytes.size() < static_cast<std::size_t>(t.size)) t.bytes.resize(static_cast<std::size_t>(t.size));
}

std::byte* Machine::space(int core, isa::Space s) {
    auto& bytes = cores_[static_cast<std::size_t>(core)].spaces[static_cast<std::size_t>(s)];
    if (bytes.empty()) bytes.resize(static_cast<std::size_t>(chip_.bytes(s)));
    return bytes.data();
}

void Machine::apply(int core, std::span<const int> tensor_map, const isa::BoundInstr& b) {
    kEffects[static_cast<std::size_t>(b.instr->op)]({*this, core, tensor_map}, b.operands);
}

void Machine::poison(int core, const isa::Access& a) {
    std::byte* base = a.space == isa::Space::gm ? memory_.tensors[static_cast<std::size_t>(a.object)].bytes.data() : space(core, a.space);
    for (std::int64_t r = 0; r < a.rows; ++r) std::memset(base + a.start + r * a.pitch, 0xff, static_cast<std::size_t>(a.row_bytes));
}

std::int64_t read_control(const DeviceTensor& t, isa::DType type, std::int64_t index) {
    const std::byte* at = t.bytes.data() + index * isa::bytes_of(type);
    if (is_float(type)) {
        float value = 0;
        load_elements(type, at, 1, &value);
        return static_cast<std::int64_t>(value);
    }
    std::int64_t value = 0;
    load_elements(type, at, 1, &value);
    return value;
}

}  // namespace sfumato::sim
