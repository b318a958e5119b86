// SPDX-License-Identifier: Apache-2.0
// Bandwidth of a matmul's loads against the hit rate of L2. Published for four hit rates of M = 2560, K = 8192 and a rising N that is printed for two of
// them only, so the model's curve over N is read at the printed hit rates: between two sizes the time of a byte is linear in the hit rate.
#include "isa/diagnostic.h"
#include "lab/experiment.h"

namespace sfumato::lab {

std::vector<CurvePoint> hit_rate_curve(const ValidateOptions& options) {
    std::vector<CurvePoint> out{{0.94, 3.87, 0}, {0.89, 3.5, 0}, {0.58, 2.1, 0}, {0.32, 1.6, 0}};  // measured/README.md 2.3
    MeasuredRow row;
    row.soc = "910B1 (dav-c220)";
    row.kernel = "Matmul MTE2 load";
    row.metric = "mte2_bandwidth";
    row.unit = "TB/s";
    struct Point {
        double hits, time;
    };
    std::vector<Point> model;
    for (const char* n : {"8192", "10240", "12288", "16384"}) {
        row.shape = std::string("M=2560 K=8192 N=") + n;
        const Experiment e = express(row).experiment;
        const Outcome o = run_experiment(e, isa::load_chip(e.chip, options.sets, options.chip_dir));
        double bandwidth = 0;
        MetricKind kind = MetricKind::other;
        if (!o.fault.empty() || !read_metric(row, e, o, bandwidth, kind)) throw isa::InternalError("a matmul of the hit-rate curve did not run: " + o.fault);
        model.push_back({o.hit_ratio, 1 / bandwidth});
    }
    for (CurvePoint& p : out) {
        std::size_t i = 0;
        while (i + 2 < model.size() && model[i + 1].hits > p.hits) ++i;
        const Point a = model[i], b = model[i + 1];
        p.predicted = 1 / (a.time + (b.time - a.time) * (p.hits - a.hits) / (b.hits - a.hits));
    }
    return out;
}

}  // namespace sfumato::lab
