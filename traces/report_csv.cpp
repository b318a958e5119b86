// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "traces/report.h"

namespace sfumato::traces {

namespace {

/// Rows of comma-separated cells; a cell with a comma, a quote or a line break is quoted.
class Csv {
public:
    explicit Csv(const char* head) : text_(head) { text_ += '\n'; }
    Csv& cell(std::string_view s) {
        if (s.find_first_of(",\"\r\n") == std::string_view::npos) return raw(s);
        std::string quoted = "\"";
        for (char c : s) quoted += c == '"' ? "\"\"" : std::string(1, c);
        return raw(quoted + "\"");
    }
    Csv& cell(std::int64_t v) { return raw(std::to_string(v)); }
    Csv& cell(double v) {
        char digits[32];
        return raw({digits, std::to_chars(digits, digits + sizeof digits, v).ptr});
    }
    void end_row() {
        text_ += '\n';
        first_ = true;
    }
    std::string take() { return std::move(text_); }

private:
    Csv& raw(std::string_view s) {
        if (!first_) text_ += ',';
        text_ += s;
        first_ = false;
        return *this;
    }
    std::string text_;
    bool first_ = true;
};

template <class Row>
void each_launch(const RunReport& r, Row row) {
    if (r.launches.empty()) return row(1, r);
    for (std::size_t i = 0; i < r.launches.size(); ++i) row(static_cast<std::int64_t>(i + 1), r.launches[i]);
}

}  // namespace

std::string pipes_csv(const RunReport& r) {
    Csv out("launch,kernel,core,cores,pipe,busy_ratio,stalled_ratio,idle_ratio,bank_conflict_ratio,instructions,bytes");
    each_launch(r, [&](std::int64_t launch, const RunReport& one) {
        for (const CoreGroup& g : one.groups)
            for (const PipeShare& s : g.pipes) {
                out.cell(launch).cell(one.kernel).cell(isa::name(g.kind)).cell(g.cores).cell(isa::kPipeNames[static_cast<std::size_t>(s.pipe)].profiler);
                out.cell(s.busy).cell(s.stalled).cell(s.idle).cell(s.conflict).cell(s.instructions).cell(s.bytes).end_row();
            }
    });
    return out.take();
}

std::string lines_csv(const RunReport& r) {
    Csv out("launch,kernel,code,instructions,call_count,running_time(us),stalled_time(us),bytes");
    each_launch(r, [&](std::int64_t launch, const RunReport& one) {
        for (const HotLine& h : one.hot)
            out.cell(launch).cell(one.kernel).cell(h.where).cell(h.what).cell(h.count).cell(h.busy_us).cell(h.stalled_us).cell(h.bytes).end_row();
    });
    return out.take();
}

}  // namespace sfumato::traces
