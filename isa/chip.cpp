// SPDX-License-Identifier: Apache-2.0
#include "isa/chip.h"

#include "isa/diagnostic.h"

namespace sfumato::isa {

std::int64_t Chip::count(CoreKind kind) const {
    switch (kind) {
        case CoreKind::aic:
            return cores.aic;
        case CoreKind::aiv:
            return cores.aiv;
        case CoreKind::merged:
            return cores.merged;
    }
    return 0;
}

namespace {

/// The paths an instruction can take, by the spaces of its table row.
struct PathRow {
    Space dst, src;
    Path path;
};
constexpr PathRow kPaths[] = {
    {Space::ub, Space::gm, Path::gm_ub},   {Space::l1, Space::gm, Path::gm_l1},   {Space::gm, Space::ub, Path::ub_gm},
    {Space::gm, Space::l1, Path::l1_gm},   {Space::gm, Space::l0c, Path::l0c_gm}, {Space::l1, Space::l0c, Path::l0c_l1},
    {Space::ub, Space::l0c, Path::l0c_ub}, {Space::l0a, Space::l1, Path::l1_l0a}, {Space::l0b, Space::l1, Path::l1_l0b},
    {Space::bt, Space::l1, Path::l1_bt},   {Space::fb, Space::l1, Path::l1_fb},   {Space::ub, Space::l1, Path::l1_ub},
    {Space::l1, Space::ub, Path::ub_l1},   {Space::ub, Space::ub, Path::ub_ub},
};

}  // namespace

Path path_of(Op op) {
    const InstrDesc& d = desc(op);
    if (d.timing == TimingClass::dma_nz) return Path::gm_l1_nz;
    for (const PathRow& row : kPaths)
        if (row.dst == d.dst && row.src == d.src) return row.path;
    throw InternalError("instruction " + std::string(d.name) + " takes no data path");
}

}  // namespace sfumato::isa
