// SPDX-License-Identifier: Apache-2.0
#include "lab/check_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sfumato::lab {

namespace {

/// The line of the instruction that stores into a tensor.
std::string storing_line(const isa::Program& p, std::size_t tensor) {
    std::string out;
    for (const isa::Section& s : p.sections)
        isa::for_each_instr(s.body, [&](const isa::Instr& i) {
            std::visit(
                [&](const auto& family) {
                    if constexpr (requires { family.dst.object; }) {
                        if (family.dst.space != isa::Space::gm || family.dst.object != static_cast<std::int32_t>(tensor)) return;
                        if (out.empty()) out = isa::where(p, i.source);
                    }
                },
                i.operands);
        });
    return out;
}

/// "C[17, 300]: got 1.5, expected 2.25 (tile 0, 1; stored at matmul.cpp:20)".
std::string mismatch(const Prepared& p, const std::vector<HostTensor>& tensors, std::size_t tensor, std::int64_t element, const std::string& got,
                     const std::string& expected) {
    const HostTensor& t = tensors[tensor];
    const auto at = coordinates(t.shape, element);
    std::string out = t.name + shape_text(at) + ": got " + got + ", expected " + expected;
    std::string where;
    const auto rows = p.tile.find("m"), cols = p.tile.find("n");
    if (at.size() == 2 && rows != p.tile.end() && cols != p.tile.end())
        where = "tile " + std::to_string(at[0] / rows->second) + ", " + std::to_string(at[1] / cols->second);
    if (const std::string line = storing_line(p.program(), tensor); !line.empty()) where += (where.empty() ? "" : "; ") + ("stored at " + line);
    return where.empty() ? out : out + " (" + where + ")";
}

double root_mean_square(const std::vector<double>& v) {
    double sum = 0;
    for (double x : v) sum += x * x;
    return v.empty() ? 0 : std::sqrt(sum / static_cast<double>(v.size()));
}

/// Typical magnitude of the terms that one result sums: by Cauchy and Schwarz at most length times the root mean squares, doubled for rows above average.
double magnitude(const Prepared& p, const kernels::Values& values, std::int64_t length) {
    double scale = 2.0 * static_cast<double>(length);
    int factors = 0;
    for (std::size_t i = 0; i < values.size() && factors < 2; ++i) {
        if (p.kernel->tensors[i].role != isa::Role::in) continue;
        scale *= root_mean_square(values[i]);
        ++factors;
    }
    return std::max(scale, 1.0);
}

}  // namespace

traces::ValueCheck check_against_reference(const Prepared& p, const std::vector<HostTensor>& tensors, const sim::DeviceMemory& before,
                                           const sim::DeviceMemory& after) {
    kernels::Values values;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        values.push_back(to_doubles(tensors[i].dtype, before.tensors[i].bytes));
    }
    p.kernel->reference(p.shape, values);
    const auto reduced = p.shape.find(p.kernel->reduced_size);
    const std::int64_t length = reduced == p.shape.end() ? 1 : reduced->second;
    const double scale = magnitude(p, values, length);

    traces::ValueCheck out;
    out.checked = out.equal = true;
    out.tolerance_rule = "one step of the result type plus (" + std::to_string(length) + " + 2) roundings of 2^-24 of the terms summed";
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].role != isa::Role::out && tensors[i].role != isa::Role::inout) continue;
        const auto got = to_doubles(tensors[i].dtype, after.tensors[i].bytes);
        for (std::size_t e = 0; e < got.size(); ++e) {
            const double want = values[i][e], allowed = kernels::tolerance(tensors[i].dtype, length, want, scale);
            const bool same = got[e] == want || (std::isnan(got[e]) && std::isnan(want));
            const double error = same ? 0 : std::isnan(got[e] - want) ? std::numeric_limits<double>::infinity() : std::fabs(got[e] - want);
            out.tolerance = std::max(out.tolerance, allowed);
            out.max_abs_error = std::max(out.max_abs_error, error);
            if (want != 0) out.max_rel_error = std::max(out.max_rel_error, error / std::fabs(want));
            if (error <= allowed) continue;
            if (out.equal) out.first_mismatch = mismatch(p, tensors, i, static_cast<std::int64_t>(e), traces::short_number(got[e]), traces::short_number(want));
            out.equal = false;
        }
    }
    return out;
}

traces::ValueCheck check_equal(const Prepared& p, const std::vector<HostTensor>& tensors, const sim::DeviceMemory& expected, const sim::DeviceMemory& after,
                               const std::string& rule) {
    traces::ValueCheck out;
    out.checked = out.equal = true;
    out.tolerance_rule = rule;
    for (std::size_t i = 0; i < tensors.size() && out.equal; ++i) {
        const auto &want = expected.tensors[i].bytes, &got = after.tensors[i].bytes;
        const auto [w, g] = std::mismatch(want.begin(), want.end(), got.begin(), got.end());
        if (w == want.end()) continue;
        const auto size = static_cast<std::size_t>(isa::bytes_of(tensors[i].dtype));
        const std::size_t e = static_cast<std::size_t>(w - want.begin()) / size;
        const double is = to_doubles(tensors[i].dtype, {got.data() + e * size, size})[0], was = to_doubles(tensors[i].dtype, {want.data() + e * size, size})[0];
        out.equal = false;
        out.max_abs_error = std::fabs(is - was);
        out.first_mismatch = mismatch(p, tensors, i, static_cast<std::int64_t>(e), traces::short_number(is), traces::short_number(was));
    }
    return out;
}

}  // namespace sfumato::lab
