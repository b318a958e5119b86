// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the lowering must know about a kernel before it writes anything: who defines and uses a value, what is live, which values are one and
// the same accumulator, and which loops decide about its first step.
#include <map>
#include <optional>
#include <vector>

#include "dsl/tile_ir.h"

namespace sfumato::dsl {

using tile::OpKind;
using tile::Region;
using tile::ValueId;

/// One place that adds a product to an accumulator.
struct DotSite {
    const tile::Op* add = nullptr;  ///< the addition, or the product itself when nothing is added
    const tile::Op* dot = nullptr;
    const Region* region = nullptr;
};
/// Values that live in one L0C buffer: an accumulator before, inside and after its loops.
struct Accumulator {
    std::vector<DotSite> sites;    ///< in program order
    const Region* home = nullptr;  ///< where it starts from zero
    tile::Shape shape;
    isa::DType dtype = isa::DType::f32;
    isa::SourceId source = -1;
    const tile::Op* bias_add = nullptr;  ///< the addition of a row that the first step folds
    const tile::Op* bias = nullptr;      ///< the load of that row
};

class Analysis {
public:
    explicit Analysis(const tile::Kernel&);

    const tile::Kernel& kernel;
    std::vector<Accumulator> accumulators;

    const tile::Op* definition(ValueId v) const { return definitions_[static_cast<std::size_t>(v)]; }
    const Region* home(ValueId v) const { return homes_[static_cast<std::size_t>(v)]; }
    const Region* parent(const Region* r) const { return parents_.at(r); }
    int accumulator(ValueId v) const { return accumulator_of_[static_cast<std::size_t>(v)]; }  ///< -1: none
    /// The accumulator site whose product (or sum) this operation is, or null.
    const DotSite* site(const tile::Op*) const;
    bool reads_accumulator(ValueId) const;
    /// Uses by live operations; a carried value counts as one.
    int uses(ValueId v) const { return uses_[static_cast<std::size_t>(v)]; }
    /// A live use lies in a region inside the one that defines the value.
    bool used_deeper(ValueId v) const { return deeper_[static_cast<std::size_t>(v)]; }
    bool has_dot() const { return !accumulators.empty(); }
    const std::vector<const tile::Op*>& users(ValueId v) const { return users_[static_cast<std::size_t>(v)]; }
    std::optional<isa::Diagnostic> fault;  ///< an accumulator the compiler cannot keep in place

    const tile::Value& value(ValueId v) const { return kernel.values[static_cast<std::size_t>(v)]; }
    /// The load behind a value that may be transposed; null when it is anything else.
    const tile::Op* load_behind(ValueId v, bool& transposed) const;
    bool is_inside(const Region* inner, const Region* outer) const;

private:
    void index(const Region&);
    void count(const Region&);
    void find_accumulators();
    void unify_carried(const Region&, bool& changed);
    void collect_sites(const Region&);
    void check_linear();
    int find(int v) const;
    void unify(ValueId a, ValueId b);
    void use(ValueId v, const Region*, const tile::Op*);
    void refuse(isa::SourceId, std::string message);

    std::vector<const tile::Op*> definitions_;
    std::vector<const Region*> homes_;
    std::map<const Region*, const Region*> parents_;
    std::vector<int> uses_, root_, accumulator_of_;
    std::vector<bool> deeper_, marked_;
    std::vector<std::vector<const tile::Op*>> users_;
    std::map<const tile::Op*, int> order_;
    std::map<const tile::Op*, const Region*> where_;
    std::map<const tile::Op*, std::pair<int, int>> site_of_;
};

}  // namespace sfumato::dsl
