// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sync insertion. Conflicts between instructions carry an iteration distance; flags are inserted for those that no path of flags covers
// within their distance, and every flag that the others make redundant is dropped again. The report is a certificate: for each conflict the
// chain of flags that orders it. check.h replays the result without sharing code with this pass.
#include <string>
#include <vector>

#include "isa/chip.h"
#include "isa/program.h"

namespace sfumato::dsl {

enum class ConflictKind : std::uint8_t { raw, war, waw };

/// A flag (or barrier: `src == dst`, or both `all`) as inserted.
struct FlagInfo {
    isa::Pipe src = isa::Pipe::s, dst = isa::Pipe::s;
    bool barrier = false;
    int distance = 0;       ///< iterations of the owning loop between set and wait
    int ids = 1, base = 0;  ///< event ids base .. base + ids - 1
    int section = 0;
    isa::SourceId set_after = -1, wait_before = -1;
    isa::SourceId loop = -1;  ///< source of the owning loop, -1: straight-line code
    bool guarded = false;     ///< set and wait share one guard
    std::string reason;       ///< the conflict it was inserted for, e.g. "add reads x after load wrote it"
};
/// `b` may not start before `a` has ended; `distance` iterations lie between them.
struct Conflict {
    ConflictKind kind = ConflictKind::raw;
    int buffer = -1;  ///< or -1: GM tensor `tensor`
    int tensor = -1;
    isa::Pipe a_pipe = isa::Pipe::s, b_pipe = isa::Pipe::s;
    isa::SourceId a = -1, b = -1;
    int distance = 0;
    std::vector<int> chain;  ///< flags in order, indices into SyncReport::flags
};
struct SyncReport {
    int pairs = 0;  ///< all conflicting ordered pairs of instructions, including those implied by others
    std::vector<Conflict> conflicts;
    std::vector<FlagInfo> flags;
    std::vector<std::string> notes;  ///< each step of the id ladder that was taken, with the reason
    int barriers() const;
    int ids(isa::Pipe src, isa::Pipe dst) const;  ///< ids in use on an ordered pair, largest over the sections
};

struct SyncOptions {
    int reserved_ids = 0;       ///< highest ids of each pair that are left to the author
    std::int64_t only_ids = 0;  ///< 0: as the chip says; otherwise ids per ordered pair
};

/// Adds set_flag, wait_flag, barriers, primes and drains to every section. Buffers should be placed first: buffers that share bytes
/// conflict. Instructions marked `hand` are the author's: nothing is added between them. Instructions are renumbered.
SyncReport insert_sync(isa::Program&, const isa::Chip&, const SyncOptions& = {});

/// Flags with pair, ids, lines and reason; with `explain` also every conflict and its chain.
std::string to_text(const SyncReport&, const isa::Program&, bool explain = false);

}  // namespace sfumato::dsl
