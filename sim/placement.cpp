// SPDX-License-Identifier: Apache-2.0
#include "sim/placement.h"

#include <algorithm>

#include "isa/diagnostic.h"

namespace sfumato::sim {

namespace {

CoreRef core_ref(isa::CoreKind kind, std::int64_t index, std::int64_t ordinal) {
    return {kind, static_cast<std::int16_t>(index), static_cast<std::int16_t>(ordinal)};
}

const isa::Section* section_of(const isa::Program& p, isa::CoreKind kind) {
    const auto it = std::find_if(p.sections.begin(), p.sections.end(), [&](const isa::Section& s) { return s.kind == kind; });
    return it == p.sections.end() ? nullptr : &*it;
}

void check_launch(const isa::Chip& chip, const Launch& launch, const DeviceMemory& memory) {
    isa::check(launch.program != nullptr, "a launch needs a program");
    const isa::Program& p = *launch.program;
    if (launch.tensors.size() != p.tensors.size())
        throw isa::InputError("launch of " + p.name + " gives " + std::to_string(launch.tensors.size()) + " tensors, the program has " +
                              std::to_string(p.tensors.size()));
    for (std::size_t i = 0; i < launch.tensors.size(); ++i)
        if (launch.tensors[i] < 0 || static_cast<std::size_t>(launch.tensors[i]) >= memory.tensors.size())
            throw isa::InputError("launch of " + p.name + " maps tensor '" + p.tensors[i].name + "' to device tensor " +
                                  std::to_string(launch.tensors[i]) + ", the device has 0 to " + std::to_string(memory.tensors.size()) + " (excluded)");
    for (const isa::Section& s : p.sections)
        if (chip.count(s.kind) == 0)
            throw isa::InputError("program " + p.name + " has code for " + std::string(name(s.kind)) + " cores, chip " + chip.name + " has none");
}

}  // namespace

std::vector<CoreRef> hardware_cores(const isa::Chip& chip) {
    std::vector<CoreRef> out;
    const auto add = [&](isa::CoreKind kind, std::int64_t index) { out.push_back(core_ref(kind, index, static_cast<std::int64_t>(out.size()))); };
    for (std::int64_t i = 0; i < chip.cores.merged; ++i) add(isa::CoreKind::merged, i);
    const std::int64_t groups = std::max<std::int64_t>(chip.cores.aic, 1), per_group = chip.cores.aiv / groups;
    for (std::int64_t g = 0; g < groups; ++g) {
        if (g < chip.cores.aic) add(isa::CoreKind::aic, g);
        for (std::int64_t v = 0; v < per_group; ++v) add(isa::CoreKind::aiv, g * per_group + v);
    }
    return out;
}

std::vector<PlacedCore> place(const isa::Chip& chip, const Launch& launch, const DeviceMemory& memory) {
    check_launch(chip, launch, memory);
    const isa::Program& p = *launch.program;
    const isa::Section *cube = section_of(p, isa::CoreKind::aic), *vector = section_of(p, isa::CoreKind::aiv);
    const isa::Section* only = cube && vector ? nullptr : cube ? cube : vector ? vector : section_of(p, isa::CoreKind::merged);
    if (p.sections.empty()) return {};
    const std::int64_t per_group = chip.cores.aic > 0 ? chip.cores.aiv / chip.cores.aic : 1;
    const std::int64_t most = only ? chip.count(only->kind) : chip.cores.aic;
    const auto symbols = isa::bind_symbols(p, {launch.params, 0, 1, 0});
    const std::int64_t wanted = p.blocks ? p.exprs.eval(p.blocks, symbols) : 1;
    if (launch.blocks > most)
        throw isa::InputError("launch of " + p.name + " asks for " + std::to_string(launch.blocks) + " blocks, chip " + chip.name + " has " +
                              std::to_string(most) + " cores for it; blocks beyond that are folded by the program, pass 0");
    const std::int64_t blocks = launch.blocks > 0 ? launch.blocks : std::clamp<std::int64_t>(wanted, 0, most);

    std::vector<PlacedCore> out;
    for (const CoreRef& core : hardware_cores(chip)) {
        const isa::Section* section = only ? (core.kind == only->kind ? only : nullptr) : core.kind == isa::CoreKind::aic ? cube : vector;
        const bool of_pair = core.kind == isa::CoreKind::aiv && !only;
        const std::int64_t group = core.kind == isa::CoreKind::aiv ? core.index / per_group : core.index;
        const std::int64_t block = of_pair ? group : core.index;
        if (!section || block >= blocks) continue;
        out.push_back({core, static_cast<int>(group), section, {launch.params, block, blocks, of_pair ? core.index % per_group : 0}});
    }
    return out;
}

}  // namespace sfumato::sim
