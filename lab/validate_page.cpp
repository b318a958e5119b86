// SPDX-License-Identifier: Apache-2.0
// docs/validation.md from a validation's results.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lab/experiment.h"
#include "lab/validate.h"

namespace sfumato::lab {

namespace {

std::string number(double v) {
    char text[40];
    std::snprintf(text, sizeof text, std::abs(v) >= 1000 ? "%.0f" : "%.4g", v);
    return text;
}
std::string percent(double v) {
    char text[40];
    std::snprintf(text, sizeof text, "%+.1f %%", 100 * v);
    return text;
}
std::string share(double v) {
    char text[40];
    std::snprintf(text, sizeof text, "%.1f %%", 100 * v);
    return text;
}
/// "|" would end a table cell.
std::string cell(const std::string& s) {
    std::string out;
    for (const char c : s) out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out;
}

void families(const Validation& v, std::string& out) {
    out +=
        "## Families\n\n| family | rows | run | mean abs error | median | largest | core-time rows | their mean abs error | rows beyond 30 % "
        "|\n|---|---|---|---|---|---|---|---|---|\n";
    const auto line = [&](const std::string& name, const FamilyResult& f) {
        out += "| " + name + " | " + std::to_string(f.rows) + " | " + std::to_string(f.expressed) + " | " + share(f.mean_abs_error) + " | " +
               share(f.median_abs_error) + " | " + share(f.max_abs_error) + " | " + std::to_string(f.core_rows) + " | " +
               share(f.core_mean_abs_error) + " | " + std::to_string(f.beyond_30) + " |\n";
    };
    for (const auto& [name, f] : v.families)
        if (f.expressed > 0) line(name, f);
    line("all", v.total);
    const FamilyResult& k = v.known_kernels;
    if (k.core_rows > 0) {
        out += "\nCore time over the families with known kernels (";
        for (const char* f : kKnownKernels) out += std::string(f == kKnownKernels[0] ? "" : ", ") + f;
        out += "): mean absolute error " + share(k.core_mean_abs_error) + " over " + std::to_string(k.core_rows) + " rows. Of all their " +
               std::to_string(k.expressed) + " rows " + std::to_string(k.beyond_30) + " (" +
               share(static_cast<double>(k.beyond_30) / static_cast<double>(k.expressed)) + ") are beyond 30 %.\n";
    }
    if (!v.instruction_score) return;
    const FamilyResult& i = v.families.at("instr_cycles");
    out += "\nInstruction rows: mean of max(0, 1 - |error|) = " + number(*v.instruction_score) + " over the " + std::to_string(i.expressed) +
           " rows that ran; with the " + std::to_string(i.rows - i.expressed) + " that did not run counted as 0 it is " +
           number(*v.instruction_score * static_cast<double>(i.expressed) / static_cast<double>(i.rows)) + ".\n";
}

/// The tuning ladder: order and ratios of neighbours.
void ladder(const Validation& v, std::string& out) {
    std::vector<const RowResult*> steps;
    for (const RowResult& r : v.rows)
        if (r.expressed && r.row.family == "ladder") steps.push_back(&r);
    if (steps.size() < 2) return;
    out +=
        "\n## The 8192-cubed ladder\n\n| step | measured us | predicted us | error | measured / next | predicted / next "
        "|\n|---|---|---|---|---|---|\n";
    bool ordered = true;
    double worst = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const RowResult& r = *steps[i];
        out += "| " + cell(r.row.tiling) + " | " + number(r.row.value) + " | " + number(r.predicted) + " | " + percent(r.error) + " | ";
        if (i + 1 < steps.size()) {
            const double measured = r.row.value / steps[i + 1]->row.value, predicted = r.predicted / steps[i + 1]->predicted;
            ordered = ordered && (measured > 1) == (predicted > 1);
            worst = std::max(worst, std::abs(predicted / measured - 1));
            char text[64];
            std::snprintf(text, sizeof text, "%.4f | %.4f |\n", measured, predicted);
            out += text;
        } else {
            out += " | |\n";
        }
    }
    out += std::string("\nOrder ") + (ordered ? "exact" : "NOT exact") + "; ratios of neighbours within " + share(worst) + ".\n";
}

void hit_curve(const Validation& v, std::string& out) {
    if (v.hit_curve.empty()) return;
    out +=
        "\n## Bandwidth of loads against the hit rate of L2\n\nMatmul 2560 x N x 8192; N is printed for two of the rates, so the model's curve over N is "
        "read at the printed rates.\n\n| hit rate | measured TB/s | predicted | error |\n|---|---|---|---|\n";
    for (const CurvePoint& p : v.hit_curve)
        out += "| " + number(100 * p.hits) + " % | " + number(p.measured) + " | " + number(p.predicted) + " | " + percent(p.predicted / p.measured - 1) +
               " |\n";
}

/// Tile operations by class: the sequence that was run, then its rows.
void tile_operations(const Validation& v, std::string& out) {
    out += "\n## Tile operations as instruction sequences\n\n| operation | sequence | rows: shape measured -> predicted (error) |\n|---|---|---|\n";
    for (const auto& [name, sequence] : tile_op_sequences()) {
        out += "| " + name + " | " + cell(sequence) + " | ";
        for (const RowResult& r : v.rows) {
            if (!r.expressed || r.row.kernel != "PTO " + name) continue;
            out += cell(r.row.shape.substr(0, r.row.shape.find(' '))) + " " + number(r.row.value) + " -> " + number(r.predicted) + " (" +
                   percent(r.error) + ") ";
        }
        out += "|\n";
    }
}

void constants(const Validation& v, std::string& out) {
    if (v.constants.empty()) return;
    out +=
        "\n## Fitted numbers of the chip files\n\nEvery number whose source is 'fit' or 'rows', and the first rows whose prediction moves by more "
        "than 0.1 % when it is made 20 % smaller.\n\n| number | value | rows that feel it |\n|---|---|---|\n";
    for (const ConstantUse& c : v.constants) {
        out += "| `" + c.path + "` | " + c.value + " | ";
        for (const std::string& id : c.rows) out += id + " ";
        out += c.rows.size() < 3 ? "(fewer than three) |\n" : "|\n";
    }
}

void table(const std::vector<const RowResult*>& rows, std::string& out) {
    out += "| row | what ran | metric | measured | predicted | error | why |\n|---|---|---|---|---|---|---|\n";
    for (const RowResult* r : rows) {
        out += "| " + r->row.id + (r->calibration ? " (c)" : "") + " | " + cell(r->note) + ", " + r->chip + " | " + cell(r->row.metric) + " | " +
               number(r->row.value) + " " + r->row.unit + " | " + number(r->predicted) + " | " + percent(r->error) + " | " + cell(r->explanation) +
               " |\n";
    }
}

}  // namespace

std::string validation_page(const Validation& v) {
    std::string out =
        "# Validation on silicon\n\nGenerated by `sfumato validate tests/validation/rows.csv --page`. Published measurements, predicted by running "
        "the same kernel and shape on the model. Errors are\n"
        "(predicted - measured) / measured; of ratios (pipe ratios, hit rates) they are differences. A row counts only if its own kernel and shape "
        "ran.\n"
        "Rows marked (c) were looked at while the mechanisms were calibrated ([decision](decisions/calibration.md)): they are a check of form, not "
        "evidence.\n\n"
        "Rows from traces of whole networks were taken while other streams ran: their element-wise times are upper bounds.\n\n";
    for (const auto& [chip, text] : v.assumptions) out += "- " + chip + ": " + text + "\n";
    out += "- rows: hash " + v.rows_hash + "\n";
    out += "\n";
    families(v, out);
    ladder(v, out);
    hit_curve(v, out);
    std::vector<const RowResult*> run;
    std::map<std::string, std::int64_t> skipped;
    for (const RowResult& r : v.rows) {
        if (!r.expressed)
            ++skipped[r.row.family + ": " + r.note];
        else
            run.push_back(&r);
    }
    std::stable_sort(run.begin(), run.end(), [](const RowResult* a, const RowResult* b) { return std::abs(a->error) > std::abs(b->error); });
    out += "\n## Rows, worst first\n\n";
    table(run, out);
    tile_operations(v, out);
    constants(v, out);
    out += "\n## Rows that were not run\n\n| reason | rows |\n|---|---|\n";
    for (const auto& [reason, count] : skipped) out += "| " + cell(reason) + " | " + std::to_string(count) + " |\n";
    return out;
}

}  // namespace sfumato::lab
