// SPDX-License-Identifier: Apache-2.0
#include "traces/chrome_trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "isa/text.h"
#include "traces/bandwidth.h"
#include "traces/json_text.h"
#include "traces/part_file.h"
#include "traces/row_layout.h"

namespace sfumato::traces {

using isa::Pipe;
using sim::Event;
using sim::EventKind;
using sim::Tick;

namespace {

/// How a pipe's row looks: place among the rows of its core and the viewer's colour, as in MindStudio's own traces.
struct RowLook {
    int sort;
    std::string_view colour;
};
constexpr std::array<RowLook, isa::kPipeNames.size()> kLooks{{{10, "startup"},
                                                              {30, "cq_build_failed"},
                                                              {40, "background_memory_dump"},
                                                              {50, "thread_state_running"},
                                                              {60, "thread_state_iowait"},
                                                              {70, "rail_response"},
                                                              {80, "thread_state_unknown"},
                                                              {100, "good"}}};
constexpr int kCoreRows = 3;  // sort places per core: cube, vector 0, vector 1

constexpr std::string_view trace_name(Pipe p) { return isa::kPipeNames[static_cast<std::size_t>(p)].trace; }

/// Counter rows by what moved: MindStudio's names for the paths of a core, and the levels of device memory.
enum Series { gm_to_l1, gm_to_ub, gm_to_total, l1_to_gm, ub_to_gm, l0c_to_gm, total_to_gm, first_track };
constexpr int kSeries = first_track + 6;
constexpr std::array<std::string_view, kSeries> kSeriesNames{"GM_TO_L1",  "GM_TO_UB",    "GM_TO_TOTAL", "L1_TO_GM", "UB_TO_GM",
                                                             "L0C_TO_GM", "TOTAL_TO_GM", "gm_read",     "gm_write", "l2_read",
                                                             "l2_write",  "hbm_read",    "hbm_write"};
constexpr Tick kFirstBin = 64;  // ticks; doubles as the run grows

Series path_series(isa::Op op) {
    const isa::InstrDesc& d = isa::desc(op);
    if (d.src == isa::Space::gm) return d.dst == isa::Space::ub ? gm_to_ub : gm_to_l1;
    if (d.dst != isa::Space::gm) return first_track;
    if (d.src == isa::Space::ub) return ub_to_gm;
    return d.src == isa::Space::l0c ? l0c_to_gm : l1_to_gm;
}

/// What every slice of one instruction has in common, formatted once.
struct InstrText {
    std::string head;  ///< {"name":...,"cname":...,"ph":"X"
    std::string tail;  ///< args that do not change
    Series series = first_track;
};

}  // namespace

std::string core_name(const isa::Chip& chip, const sim::CoreRef& core) {
    if (core.kind == isa::CoreKind::aic) return "core" + std::to_string(core.index) + ".cubecore0";
    if (core.kind == isa::CoreKind::merged) return "core" + std::to_string(core.index);
    const std::int64_t per = chip.cores.aic > 0 ? std::max<std::int64_t>(1, chip.cores.aiv / chip.cores.aic) : 1;
    const std::int64_t first = chip.merged() ? chip.cores.merged : 0;  // vector-only cores stand behind the merged ones
    return "core" + std::to_string(first + core.index / per) + ".veccore" + std::to_string(core.index % per);
}

std::int64_t numbered_cores(const isa::Chip& chip) { return std::max(chip.cores.aic, chip.cores.merged + chip.cores.vector_only); }

std::string microseconds(std::int64_t ns) {
    std::array<char, 32> text;
    char* end = std::to_chars(text.data(), text.data() + text.size(), ns / 1000).ptr;
    if (std::int64_t rest = ns % 1000; rest != 0) {
        *end++ = '.';
        for (std::int64_t unit = 100; rest != 0; unit /= 10) {
            *end++ = static_cast<char>('0' + rest / unit);
            rest %= unit;
        }
    }
    // Readers multiply by 1000 in double and cut: 1.001 would lose its last nanosecond. A ten-thousandth of a nanosecond more survives the cut.
    double read = 0;
    std::from_chars(text.data(), end, read);
    if (static_cast<std::int64_t>(read * 1000.0) >= ns) return {text.data(), end};
    const std::string whole = std::to_string(ns / 1000), rest = std::to_string(1000 + ns % 1000).substr(1);
    return whole + "." + rest + "0001";
}

TickClock::TickClock(const isa::Chip& chip) : khz_(std::max<std::int64_t>(1, std::llround(chip.cores.clock_mhz * 1000))) {}

Tick TickClock::ticks(double us) const { return static_cast<Tick>(std::llround(us * static_cast<double>(khz_) / 1000.0)); }

struct ChromeTrace::Impl {
    /// One end of an arrow.
    struct ArrowEnd {
        int row = -1;
        std::int64_t ns = 0;
        Pipe src = Pipe::s, dst = Pipe::s;
    };
    struct Core {
        std::string name;
        int number = 0;
        bool written = false;
    };
    struct Row {
        std::string ids;  ///< "pid":"...","tid":"..."
    };
    struct PipeRows {
        RowLayout layout;
        std::vector<int> rows;       ///< by lane
        std::vector<Event> pending;  ///< flags that wait for the work around them
    };

    PartFile file;
    const isa::Chip& chip;
    TickClock clock;
    TraceOptions options;
    std::vector<std::vector<InstrText>> texts;  ///< by launch, by instruction id
    std::vector<std::string> names;             ///< of the launches
    std::vector<PipeRows> pipes;                ///< by core ordinal and pipe
    std::vector<Core> cores;                    ///< by ordinal
    std::vector<Row> rows;
    std::unordered_map<std::int64_t, ArrowEnd> open;  ///< arrows with one end written
    std::vector<BandwidthBins> series;
    TraceCounts counts;
    std::int64_t accepted = 0, outside = 0, beyond = 0;
    bool first = true;
    std::string line;

    Impl(const std::string& path, const isa::Chip& c, const std::vector<const isa::Program*>& programs, TraceOptions o)
        : file(path), chip(c), clock(c), options(std::move(o)), series(kSeries, BandwidthBins(kFirstBin)) {
        file.write("{\"schemaVersion\":2,\"displayTimeUnit\":\"ns\",\"profilingType\":\"op\",\"traceEvents\":[");
        for (const isa::Program* p : programs) {
            names.push_back(p->name);
            texts.push_back(describe(*p));
        }
    }

    static std::vector<InstrText> describe(const isa::Program& p) {
        const std::vector<std::string> details = isa::instruction_texts(p);
        std::vector<InstrText> out(details.size());
        for (const isa::Section& s : p.sections)
            isa::for_each_instr(s.body, [&](const isa::Instr& i) {
                if (i.id < 0 || static_cast<std::size_t>(i.id) >= out.size()) return;
                InstrText& t = out[static_cast<std::size_t>(i.id)];
                const RowLook& look = kLooks[static_cast<std::size_t>(isa::pipe_of(i))];
                std::string_view colour = look.colour;
                if (i.op == isa::Op::set_flag) colour = "black";
                if (i.op == isa::Op::wait_flag) colour = "yellow";
                t.head = "{\"name\":" + json_string(isa::desc(i.op).name) + ",\"cname\":\"" + std::string(colour) + "\",\"ph\":\"X\",";
                std::array<char, 16> hex;
                const char* end = std::to_chars(hex.data(), hex.data() + hex.size(), i.id, 16).ptr;
                t.tail = ",\"pc_addr\":\"0x" + std::string(static_cast<const char*>(hex.data()), end) + "\"";
                if (const std::string at = isa::where(p, i.source); !at.empty()) t.tail += ",\"code\":" + json_string(at);
                t.tail += ",\"detail\":" + json_string(details[static_cast<std::size_t>(i.id)]) + "}}";
                t.series = path_series(i.op);
            });
        return out;
    }

    void put(std::string_view event) {
        file.write(first ? "\n" : ",\n");
        first = false;
        file.write(event);
    }

    Core& core(const sim::CoreRef& c) {
        const auto at = static_cast<std::size_t>(c.ordinal);
        if (cores.size() <= at) cores.resize(at + 1);
        Core& core = cores[at];
        if (core.name.empty()) {
            core.name = core_name(chip, c);
            core.number = std::atoi(core.name.c_str() + 4);
        }
        return core;
    }
    PipeRows& pipe_rows(const Event& e) {
        const std::size_t at = static_cast<std::size_t>(e.core.ordinal) * kLooks.size() + static_cast<std::size_t>(e.pipe);
        if (pipes.size() <= at) pipes.resize(at + 1);
        return pipes[at];
    }

    /// The process of a core, announced with its place among the others when it first appears.
    const std::string& process(const sim::CoreRef& c) {
        Core& of = core(c);
        if (!of.written) {
            const int place = c.kind == isa::CoreKind::aiv ? 1 + of.name.back() - '0' : 0;
            put("{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":\"" + of.name +
                "\",\"args\":{\"sort_index\":" + std::to_string(of.number * kCoreRows + place) + "}}");
            of.written = true;
        }
        return of.name;
    }

    int row(const Event& e, PipeRows& of, int lane) {
        while (static_cast<int>(of.rows.size()) <= lane) of.rows.push_back(-1);
        int& index = of.rows[static_cast<std::size_t>(lane)];
        if (index < 0) {
            const std::string tid = std::string(trace_name(e.pipe)) + (lane > 0 ? "#" + std::to_string(lane) : "");
            index = static_cast<int>(rows.size());
            rows.push_back({"\"pid\":\"" + process(e.core) + "\",\"tid\":\"" + tid + "\""});
            put("{\"name\":\"thread_sort_index\",\"ph\":\"M\"," + rows.back().ids +
                ",\"args\":{\"sort_index\":" + std::to_string(kLooks[static_cast<std::size_t>(e.pipe)].sort + std::min(lane, 9)) + "}}");
            ++counts.rows;
        }
        return index;
    }

    const InstrText* text(const Event& e) const {
        if (e.launch < 0 || static_cast<std::size_t>(e.launch) >= texts.size()) return nullptr;
        const auto& of = texts[static_cast<std::size_t>(e.launch)];
        return e.instr >= 0 && static_cast<std::size_t>(e.instr) < of.size() ? &of[static_cast<std::size_t>(e.instr)] : nullptr;
    }

    int write_slice(const Event& e, PipeRows& of, const Placement& at) {
        const int r = row(e, of, at.lane);
        const InstrText* t = text(e);
        if (e.kind == EventKind::launch) {
            const bool known = e.launch >= 0 && static_cast<std::size_t>(e.launch) < names.size();
            line = "{\"name\":" + json_string(known ? names[static_cast<std::size_t>(e.launch)] : "launch") + ",\"cname\":\"good\",\"ph\":\"X\",";
        } else {
            line = t ? t->head : "{\"name\":\"?\",\"ph\":\"X\",";
        }
        line += "\"ts\":" + microseconds(at.span.begin) + ",\"dur\":" + microseconds(at.span.end - at.span.begin) + ",";
        line += rows[static_cast<std::size_t>(r)].ids;
        line += ",\"args\":{\"begin\":" + std::to_string(e.begin) + ",\"cycles\":" + std::to_string(e.end - e.begin);
        if (e.bytes > 0) line += ",\"process_bytes\":" + std::to_string(e.bytes);
        if (e.kind == EventKind::set_flag || e.kind == EventKind::wait_flag) line += ",\"flag\":" + std::to_string(e.flag_id);
        line += t && e.kind != EventKind::launch ? std::string_view(t->tail) : std::string_view("}}");
        put(line);
        ++counts.slices;
        return r;
    }

    void write_arrow(std::int64_t id, const ArrowEnd& from, const ArrowEnd& to) {
        const std::string head = "{\"name\":\"flow\",\"cat\":\"" + std::string(trace_name(from.src)) + "To" + std::string(trace_name(from.dst)) +
                                 "\",\"id\":" + std::to_string(id) + ",\"ph\":\"";
        const auto end = [&](char ph, const ArrowEnd& at) {
            put(head + ph + "\",\"ts\":" + microseconds(at.ns) + "," + rows[static_cast<std::size_t>(at.row)].ids + "}");
        };
        end('s', from);
        end('t', to);
        ++counts.arrows;
    }

    void write_flag(const Event& e, PipeRows& of, const Placement& at) {
        const int r = write_slice(e, of, at);
        if (e.flow < 0) return;
        // Inside the slice, not at its end: there viewers would take what begins next.
        const ArrowEnd here{r, std::max(at.span.begin, at.span.end - 1), e.flag_src, e.flag_dst};
        const auto it = open.find(e.flow);
        if (it == open.end()) {
            open.emplace(e.flow, here);
            return;
        }
        const bool set_here = e.kind == EventKind::set_flag;
        write_arrow(e.flow, set_here ? here : it->second, set_here ? it->second : here);
        open.erase(it);
    }

    Span span(const Event& e) const { return {clock.ns(e.begin), clock.ns(e.end)}; }

    void flush(PipeRows& of, std::int64_t up_to) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < of.pending.size(); ++i) {
            const Event e = of.pending[i];
            if (clock.ns(e.end) <= up_to)
                write_flag(e, of, of.layout.place_flag(span(e)));
            else
                of.pending[kept++] = e;
        }
        of.pending.resize(kept);
    }

    bool wanted(const Event& e) {
        const bool core_in = options.cores.empty() || options.cores.contains(core(e.core).number);
        if (!core_in || e.begin >= options.end || (e.end <= options.begin && options.begin > 0)) {
            ++outside;
            return false;
        }
        if (accepted >= options.max_slices) {
            ++beyond;
            return false;
        }
        ++accepted;
        return true;
    }

    void add_bytes(Series s, const Event& e) {
        const Tick b = std::max(e.begin, options.begin), n = std::min(std::max(e.end, e.begin + 1), options.end);
        if (b >= n) return;
        const std::int64_t inside = static_cast<std::int64_t>(static_cast<__int128>(e.bytes) * (n - b) / std::max<Tick>(1, e.end - e.begin));
        series[static_cast<std::size_t>(s)].add(b, n, inside);
    }

    void on_event(const Event& e) {
        if (e.kind == EventKind::counter) {
            add_bytes(static_cast<Series>(first_track + static_cast<int>(e.track)), e);
            return;
        }
        if (const InstrText* t = text(e); e.kind == EventKind::instr && t && t->series != first_track && e.bytes > 0) {
            add_bytes(t->series, e);
            add_bytes(t->series <= gm_to_ub ? gm_to_total : total_to_gm, e);
        }
        if (!wanted(e)) return;
        Event placed = e;
        if (e.kind == EventKind::launch) placed.pipe = Pipe::all;
        PipeRows& of = pipe_rows(placed);
        if (e.kind == EventKind::instr || e.kind == EventKind::launch) {
            const Span s = span(placed);
            flush(of, s.begin);
            write_slice(placed, of, of.layout.place_work(s));
            return;
        }
        if (e.kind == EventKind::set_flag) {
            if (const auto at = of.layout.place_with_work(clock.ns(e.end))) {
                write_flag(placed, of, *at);
                return;
            }
        }
        of.pending.push_back(placed);
    }

    void write_counters() {
        for (int s = 0; s < kSeries; ++s) {
            const BandwidthBins& b = series[static_cast<std::size_t>(s)];
            if (b.total() == 0) continue;
            ++counts.series;
            std::int64_t last = 0;
            const auto sample = [&](Tick at, std::int64_t value) {
                if (value == last) return;
                last = value;
                put("{\"name\":\"" + std::string(kSeriesNames[static_cast<std::size_t>(s)]) + "\",\"ph\":\"C\",\"pid\":\"device\",\"ts\":" +
                    microseconds(clock.ns(at)) + ",\"args\":{\"MB/s\":" + std::to_string(value) + "}}");
                ++counts.samples;
            };
            for (std::size_t i = 0; i < b.bins().size(); ++i) {
                const Tick at = static_cast<Tick>(i) * b.width();
                const std::int64_t ns = std::max<std::int64_t>(1, clock.ns(at + b.width()) - clock.ns(at));
                sample(at, b.bins()[i] * 1000 / ns);  // bytes per microsecond
            }
            sample(static_cast<Tick>(b.bins().size()) * b.width(), 0);
        }
    }

    void write_note() {
        counts.left_out = outside + beyond;
        if (beyond > 0) {
            counts.note = std::to_string(beyond) + " slices beyond the limit of " + std::to_string(options.max_slices) +
                          " are left out; choose a part with --trace-window or --trace-cores";
        } else if (outside > 0) {
            counts.note = std::to_string(outside) + " slices outside the chosen window and cores are left out";
        }
        file.write("\n],\"otherData\":{\"chip\":" + json_string(chip.name) + ",\"slices\":" + std::to_string(counts.slices) +
                   ",\"arrows\":" + std::to_string(counts.arrows) + ",\"left_out_slices\":" + std::to_string(counts.left_out) +
                   ",\"note\":" + json_string(counts.note) + "}}\n");
    }
};

ChromeTrace::ChromeTrace(const std::string& path, const isa::Chip& chip, std::vector<const isa::Program*> programs, TraceOptions options)
    : impl_(std::make_unique<Impl>(path, chip, programs, std::move(options))) {}
ChromeTrace::~ChromeTrace() = default;

void ChromeTrace::on_event(const Event& e) { impl_->on_event(e); }

TraceCounts ChromeTrace::finish() {
    for (auto& of : impl_->pipes) impl_->flush(of, std::numeric_limits<std::int64_t>::max());
    impl_->write_counters();
    impl_->write_note();
    impl_->file.commit();
    return impl_->counts;
}

}  // namespace sfumato::traces
