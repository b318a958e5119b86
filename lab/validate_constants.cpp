// SPDX-License-Identifier: Apache-2.0
// Which measured rows a fitted number of the chip files serves: the number is moved, and rows whose prediction moves with it are counted. A number
// that fewer than three rows feel would be a row in disguise.
#include <algorithm>
#include <cmath>

#include "isa/chip_fields.h"
#include "lab/experiment.h"

namespace sfumato::lab {

namespace {

constexpr std::size_t kEnough = 3;
constexpr double kMove = 0.8;         ///< factor on the number
constexpr double kFelt = 1e-3;        ///< relative change of a prediction that counts
constexpr double kLargeFlops = 3e11;  ///< runs beyond this take seconds each: asked last, and never on a single core

struct Trial {
    Experiment experiment;
    std::vector<const MeasuredRow*> rows;
    std::optional<Outcome> as_is;  ///< run when first needed
};

/// 0 cheap .. 2 seconds.
int cost_class(const MeasuredRow& r, const Experiment& e) {
    if (e.flops > kLargeFlops) return 2;
    return r.family == "instr_cycles" || r.family == "copy_fill" || r.family == "ub_bank" ? 0 : 1;
}

/// Runs in the order of their cost: single instructions and framework kernels first.
std::vector<Trial> trials_of(const std::vector<MeasuredRow>& rows) {
    std::vector<Trial> out;
    for (const int cost : {0, 1, 2}) {
        for (const MeasuredRow& r : rows) {
            const Expressed x = express(r);
            if (!x.ok || cost_class(r, x.experiment) != cost || (cost == 2 && x.experiment.key.find(" 1 cores") != std::string::npos)) continue;
            const auto same = std::find_if(out.begin(), out.end(), [&](const Trial& t) {
                return t.experiment.key == x.experiment.key && t.experiment.chip == x.experiment.chip;
            });
            if (same != out.end())
                same->rows.push_back(&r);
            else
                out.push_back({x.experiment, {&r}, std::nullopt});
        }
    }
    return out;
}

isa::Chip moved(const isa::Chip& chip, const std::string& path) {
    isa::Chip out = chip;
    for (const isa::ChipField& f : isa::chip_fields(out)) {
        if (f.path != path) continue;
        if (auto* const* d = std::get_if<double*>(&f.member)) **d *= kMove;
        if (auto* const* i = std::get_if<std::int64_t*>(&f.member)) **i = static_cast<std::int64_t>(static_cast<double>(**i) * kMove);
    }
    return out;
}

bool feels(const MeasuredRow& r, const Trial& t, const Outcome& other) {
    double before = 0, after = 0;
    MetricKind kind = MetricKind::other;
    if (!read_metric(r, t.experiment, *t.as_is, before, kind) || !read_metric(r, t.experiment, other, after, kind)) return false;
    return std::abs(after - before) > kFelt * std::abs(before);
}

}  // namespace

std::vector<ConstantUse> fitted_constants(const std::vector<MeasuredRow>& rows, const ValidateOptions& options) {
    std::map<std::string, isa::Chip> chips;
    std::vector<Trial> trials = trials_of(rows);
    for (const Trial& t : trials) {
        const std::string& name = t.experiment.chip;
        if (chips.count(name) == 0) chips.emplace(name, isa::load_chip(name, options.sets, options.chip_dir));
    }
    std::vector<ConstantUse> out;
    if (chips.empty()) return out;
    isa::Chip any = chips.begin()->second;
    for (const isa::ChipField& f : isa::chip_fields(any)) {
        const auto from = any.provenance.find(f.path);
        if (from == any.provenance.end() || (from->second.source != "fit" && from->second.source != "rows")) continue;
        ConstantUse use{f.path, from->second.value + " " + from->second.unit, {}};
        std::map<std::string, isa::Chip> others;
        for (Trial& t : trials) {
            if (use.rows.size() >= kEnough) break;
            const std::string& name = t.experiment.chip;
            if (!t.as_is) t.as_is = run_experiment(t.experiment, chips.at(name));
            if (others.count(name) == 0) others.emplace(name, moved(chips.at(name), f.path));
            const Outcome other = run_experiment(t.experiment, others.at(name));
            for (const MeasuredRow* r : t.rows)
                if (feels(*r, t, other)) use.rows.push_back(r->id);
        }
        out.push_back(std::move(use));
    }
    return out;
}

}  // namespace sfumato::lab
