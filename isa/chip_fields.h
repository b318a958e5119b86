// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one list of what a chip file holds. Reading, units, ranges, missing and unknown keys, --set, the hash, `sfumato chips` and docs/chips.md
// all walk this list, so a new number is one row here and one line in the chip files.
#include <string>
#include <variant>
#include <vector>

#include "isa/chip.h"

namespace sfumato::isa {

/// What a number measures; decides which units a file may use and in which unit the model keeps it.
enum class Quantity : std::uint8_t { count, bytes, frequency, cycles, rate, microseconds, share, yes_no };

struct UnitInfo {
    Quantity quantity;
    std::string_view name;  ///< as written in files
    double factor;          ///< to the model's unit; for times and rates in seconds: before the clock enters
    bool by_clock;          ///< the conversion needs the core clock (ns -> cycles, TB/s -> bytes per cycle)
};
/// Every unit a chip file may use; the first of a quantity is the one the model keeps.
const std::vector<UnitInfo>& units();

struct ChipField {
    std::string path;  ///< dotted, as in --set
    Quantity quantity;
    std::variant<double*, std::int64_t*, bool*> member;
    double least, most;  ///< allowed range in the model's unit
    std::string doc;
    std::string group;  ///< not empty: this whole group of a file may be missing (the chip does not have the path)
};
/// The fields of one chip, in the order of the manual.
std::vector<ChipField> chip_fields(Chip&);

/// A field as people read it.
struct FieldValue {
    std::string path, value, unit, doc;  ///< value in the model's unit
    Provenance from;
};
std::vector<FieldValue> describe(const Chip&);

}  // namespace sfumato::isa
