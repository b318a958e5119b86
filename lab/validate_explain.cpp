// SPDX-License-Identifier: Apache-2.0
// Errors that are understood but not modelled, by kind of row. Everything else beyond 30 % is said to be unexplained.
#include <cmath>

#include "lab/experiment.h"

namespace sfumato::lab {

namespace {

constexpr double kLimit = 0.3;

struct Reason {
    const char* family;
    const char* kernel;  ///< the row's kernel begins with this
    const char* part;    ///< of the row's metric, shape or notes; "" any
    const char* why;
};
constexpr Reason kReasons[] = {
    {"copy_fill", "ZerosLike", "4096,1,8,128",
     "the profile has 2.5 us of vector work where filling 210 KB a core at 256 bytes a cycle takes 0.5: this kernel fills in shorter pieces, and its "
     "text is not printed"},
    {"copy_fill", "", "4096,1,8,128",
     "a kernel compiled for this shape, first touched between other kernels: its first access to memory costs about 2 us more than a later one"},
    {"eltwise", "", "mte3",
     "writes into L2 queue behind the reads of other cores on silicon; the model lets them pass, so the store pipe is busy for less of the same "
     "total"},
    {"ub_bank", "ND2NZ", "mte3",
     "writes into L2 queue behind the reads of other cores on silicon; the model lets them pass, so the store pipe is busy for less of the same "
     "total"},
    {"eltwise", "", "scalar_time",
     "a few microseconds of the C++ loop around the transfers (address arithmetic, buffer selection) that the program text does not hold"},
    {"instr_cycles", "PTO TColMax", "",
     "390 cycles for one row: one cycle per 32 bytes, which neither a vector copy nor a vmax of 48 repeats needs; the sequence that was measured is "
     "not known"},
    {"instr_cycles", "PTO TColSum", "",
     "the library's text is a copy and 15 dependent vadd with a barrier after each; 101 cycles leave 6 for a step, less than the head of one vadd"},
    {"instr_cycles", "PTO TAbs", "", "printed 4 cycles above one per repeat; the float row of the same table has the usual drain"},
    {"instr_cycles", "PTO TLoad", "_dn_", "the test passes a stride shorter than the rows; what the DMA did with it is not known"},
};

}  // namespace

std::string explain(const MeasuredRow& r, MetricKind, double error) {
    if (std::abs(error) <= kLimit) return "";
    for (const Reason& e : kReasons) {
        const std::string part = e.part;
        const bool named = part.empty() || r.metric.find(part) != std::string::npos || r.shape.find(part) != std::string::npos ||
                           r.notes.find(part) != std::string::npos;
        if (r.family == e.family && r.kernel.rfind(e.kernel, 0) == 0 && named) return e.why;
    }
    return "not explained";
}

}  // namespace sfumato::lab
