// SPDX-License-Identifier: Apache-2.0
#pragma once
// A chip as data: every number a model or a compiler needs, each with unit, source and confidence kept beside it. Formulas live in code,
// numbers live in isa/chips/*.json; `for_each_field` is the one list of what a chip file holds.
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "isa/instruction_table.h"

namespace sfumato::isa {

/// Data paths between memory spaces; each has an entry `paths.<name>` in a chip file.
enum class Path : std::uint8_t { gm_ub, gm_l1, gm_l1_nz, ub_gm, l1_gm, l0c_gm, l0c_l1, l0c_ub, l1_l0a, l1_l0b, l1_bt, l1_fb, l1_ub, ub_l1, ub_ub };
inline constexpr int kPathCount = 15;
inline constexpr std::array<std::string_view, kPathCount> kPathNames{"gm_ub",  "gm_l1",  "gm_l1_nz", "ub_gm", "l1_gm", "l0c_gm", "l0c_l1", "l0c_ub",
                                                                     "l1_l0a", "l1_l0b", "l1_bt",    "l1_fb", "l1_ub", "ub_l1",  "ub_ub"};

/// Timing of one path. All zero: the chip does not have the path.
struct PathTiming {
    double rate = 0;               ///< bytes per cycle the path can carry
    double start = 0;              ///< cycles from start of the instruction to the first byte, without L2 or HBM latency
    double interval = 0;           ///< cycles before the next instruction of the pipe may start its own transfer
    double row = 0;                ///< cycles each row (burst) costs beyond its bytes
    std::int64_t outstanding = 1;  ///< transfers of the pipe that may be in flight
};

/// Timing of a vector timing class for one element width.
struct VectorTiming {
    double per_repeat = 0;  ///< cycles per 256-byte repeat without bank conflict
    double interval = 0;    ///< least cycles between the starts of two instructions
    double head = 0;        ///< cycles a dependent instruction waits beyond the repeats
};

struct Banks {
    std::int64_t groups = 0;           ///< bank groups; group = (address / block_bytes) % groups
    std::int64_t banks_per_group = 0;  ///< bank within the group = (address / bank_stride) % banks_per_group
    std::int64_t bank_stride = 0;      ///< bytes between addresses of consecutive banks of one group
    std::int64_t block_bytes = 0;      ///< bytes one bank serves a cycle
};

/// A number as it stands in a file.
struct Provenance {
    std::string value;  ///< as written
    std::string unit, source, confidence, note;
    std::string origin;  ///< file it came from, or "--set"
};

struct Chip {
    std::string name;  ///< "Ascend910B2"
    std::string arch;  ///< "dav-c220"
    std::string hash;  ///< of all resolved values, hexadecimal

    struct {
        std::int64_t aic = 0, aiv = 0, merged = 0, vector_only = 0;
        double clock_mhz = 0;
    } cores;
    std::array<std::int64_t, kSpaceCount> capacity{};   ///< bytes, by Space; GM: bytes of device memory
    std::array<std::int64_t, kSpaceCount> alignment{};  ///< bytes, by Space
    Banks ub_banks, l1_banks, l0c_banks;

    struct {
        std::int64_t ids = 0;  ///< ids per ordered pipe pair
        double latency = 0;    ///< cycles from completion of the source pipe's work to the waiting pipe's start
        double barrier = 0;    ///< cycles a pipe barrier adds
    } flags;
    struct {
        std::int64_t ids = 0, max_count = 0;  ///< 0 ids: no cross-core flags
        double latency = 0;
    } cross;
    struct {
        std::array<std::int64_t, kPipeCount> depth{};                ///< instructions a pipe's queue holds
        double copy = 0, drain = 0, cube = 0, vector = 0, sync = 0;  ///< cycles of the scalar unit to issue one instruction of a family
        double loop = 0;                                             ///< cycles of the scalar unit per loop iteration
        double load = 0;                                             ///< cycles of a control load
    } issue;

    std::array<PathTiming, kPathCount> paths{};
    struct {
        std::array<double, kDTypeCount> per_fractal{};   ///< cycles per 16 x 16 x C0-fractal step by input type; 0: type not supported
        std::array<std::int64_t, kDTypeCount> k_step{};  ///< K elements one such step consumes
        double interval = 0, head = 0;
    } cube;
    /// [timing class - kFirstVectorClass][0: 1- and 2-byte types, 1: 4-byte types]
    std::array<std::array<VectorTiming, 2>, kTimingClassCount - kFirstVectorClass> vector{};

    struct {
        std::int64_t line = 0, capacity = 0, ways = 0;
        double read_latency = 0, write_latency = 0;            ///< cycles
        double read_rate = 0, write_rate = 0, total_rate = 0;  ///< bytes per cycle of the whole L2 (chip files give TB/s)
        double same_line = 0;                                  ///< cycles a line is busy for each core that reads it at the same time
        bool hashed = false;                                   ///< the set index is a hash of the line address instead of its low bits
    } l2;
    struct {
        double total_rate = 0;                             ///< bytes per cycle of the whole device (chip files give TB/s)
        double read_efficiency = 0, write_efficiency = 0;  ///< share of total_rate that a stream of only reads or only writes reaches
        double latency = 0;                                ///< cycles beyond the L2
        double turnaround = 0;                             ///< share of bandwidth lost while reads and writes mix
        double read_rate() const { return total_rate * read_efficiency; }
        double write_rate() const { return total_rate * write_efficiency; }
    } hbm;
    struct {
        std::int64_t request = 0, full_burst = 0;  ///< bytes of the smallest and of the largest GM request; rows are split into aligned powers of two
        std::int64_t in_flight = 0;                ///< requests a core may have under way in one direction: each costs latency / in_flight at least
        double shift = 0;                          ///< bytes per cycle of rows that do not start on a 32-byte block
    } gm;
    struct {
        double head = 0;                           ///< cycles from start of a core to its first instruction
        double per_block = 0;                      ///< cycles between the starts of consecutive cores
        double task_us = 0, task_per_core_us = 0;  ///< task time beyond core time: fixed, and per core started
        double mix_us = 0;                         ///< extra start of vector cores in a mixed kernel
    } launch;

    std::map<std::string, Provenance> provenance;  ///< by dotted path
    std::map<std::string, std::string> sources;    ///< what the short names of sources stand for

    bool merged() const { return cores.merged > 0; }
    std::int64_t count(CoreKind) const;
    std::int64_t bytes(Space s) const { return capacity[static_cast<std::size_t>(s)]; }
    std::int64_t align(Space s) const { return alignment[static_cast<std::size_t>(s)]; }
    const PathTiming& path(Path p) const { return paths[static_cast<std::size_t>(p)]; }
    const VectorTiming& vector_timing(TimingClass c, DType t) const {
        return vector[static_cast<std::size_t>(static_cast<int>(c) - kFirstVectorClass)][bytes_of(t) == 4 ? 1 : 0];
    }
};

/// Reads a chip by name (searched in the chip folders) or from a path ending in .json; `sets` are "path=value" overrides with or without a
/// unit. Throws InputError naming file and JSON pointer (unknown or missing key, wrong unit, value out of range, unknown name with the nearest).
Chip load_chip(const std::string& name_or_file, const std::vector<std::string>& sets = {}, const std::string& chip_dir = "");
/// Parses chip text; `origin` names it in messages.
Chip parse_chip(std::string_view json, const std::string& origin, const std::vector<std::string>& sets = {});
/// Names of the chips in the chip folders, sorted.
std::vector<std::string> chip_names(const std::string& chip_dir = "");

/// Path an instruction's data takes, by its table row.
Path path_of(Op);

}  // namespace sfumato::isa
