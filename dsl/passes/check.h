// SPDX-License-Identifier: Apache-2.0
#pragma once
// The independent checker of order. It shares no code with insert_sync: it executes a program for many small launches (trip counts 0, 1, 2,
// slots, slots + 1 of every loop), keeps vector clocks per pipe and reports every pair of overlapping accesses that nothing orders, and
// every fault of the flag protocol, with both lines and a shape that shows it.
#include <map>
#include <string>
#include <vector>

#include "isa/chip.h"
#include "isa/diagnostic.h"
#include "isa/program.h"

namespace sfumato::dsl {

struct CheckOptions {
    /// Launches to try; empty: derived from the constants and slots of the program.
    std::vector<std::map<std::string, std::int64_t>> launches;
    int max_launches = 100;
    int max_instances = 20000;  ///< instruction instances of one launch; what lies beyond is not looked at
    bool hints = false;         ///< also report flags without which no race appears
};

/// Buffers must be placed. Errors first (each fault once, with the smallest launch that shows it), then hints.
std::vector<isa::Diagnostic> check_sync(const isa::Program&, const isa::Chip&, const CheckOptions& = {});

/// Small launches that give every loop of the program few iterations.
std::vector<std::map<std::string, std::int64_t>> small_launches(const isa::Program&, int limit);

}  // namespace sfumato::dsl
