// SPDX-License-Identifier: Apache-2.0
// Laws that hold for any program: accounts balance, the same run gives the same events whatever the order of processes, watching changes nothing.
#include <catch2/catch.hpp>

#include <random>

#include "tests/support/program_builder.h"
#include "tests/support/test_chip.h"

using namespace sfumato;
using namespace sfumato::isa;
using namespace sfumato::testing;

namespace {

struct Log : sim::EventSink {
    std::vector<sim::Event> events;
    void on_event(const sim::Event& e) override { events.push_back(e); }
};

auto key(const sim::Event& e) {
    return std::make_tuple(e.kind, e.pipe, e.core.ordinal, e.launch, e.instr, e.issued, e.begin, e.end, e.bytes, e.flow, e.flag_id);
}

/// A chip on which everything has some latency and everything is scarce.
Chip busy_chip() {
    Chip c = plain_chip();
    c.flags.latency = 7;
    c.flags.barrier = 5;
    c.cross.latency = 90;
    c.issue.copy = 4;
    c.issue.vector = 2;
    c.issue.sync = c.issue.loop = 1;
    c.issue.depth.fill(4);
    c.paths.fill({60, 13, 5, 1, 3});
    for (auto& widths : c.vector) widths.fill({1.5, 3, 20});
    c.l2.capacity = 256 * 512;
    c.l2.read_latency = 50;
    c.l2.write_latency = 40;
    c.l2.read_rate = c.l2.write_rate = 210;
    c.l2.total_rate = 300;
    c.l2.same_line = 1;
    c.l2.hashed = true;
    c.hbm.latency = 110;
    c.hbm.total_rate = 90;
    c.hbm.read_efficiency = 0.85;
    c.hbm.turnaround = 0.15;
    c.launch.head = 30;
    c.launch.per_block = 3;
    return c;
}

/// load, compute, store in a double-buffered loop whose sizes are drawn at random; every wait has its set.
Program random_program(unsigned seed, int cores) {
    std::mt19937 dice(seed);
    const auto pick = [&](int lo, int hi) { return lo + static_cast<int>(dice() % static_cast<unsigned>(hi - lo + 1)); };
    ProgramBuilder b("random" + std::to_string(seed));
    const int x = b.tensor("x", DType::f32, {1 << 18}), y = b.tensor("y", DType::f32, {1 << 18}, Role::out);
    b.section(CoreKind::aiv, [&] {
        const int in = b.buffer("in", Space::ub, 32768, 2), out = b.buffer("out", Space::ub, 32768, 2);
        for (int i = 0; i < 2; ++i) {
            b.set(Pipe::v, Pipe::mte2, i);
            b.set(Pipe::mte3, Pipe::v, i);
        }
        b.loop(pick(2, 12), [&](Expr i) {
            auto& e = b.p.exprs;
            const Expr s = e.mod(i, b.num(2));
            const int rows = pick(1, 8), cols = 8 * pick(1, 75);
            const Expr at = e.add(e.mul(b.block_id(), b.num(pick(0, 1) * 16384)), e.mul(i, b.num(4 * pick(1, 900))));
            b.wait(Pipe::v, Pipe::mte2, s);
            b.copy(Op::mov_gm_ub, b.at(in, {}, s), b.gm(x, at), rows, cols, DType::f32, 0, cols + pick(0, 40));
            if (pick(0, 2) == 0) b.copy(Op::mov_gm_ub, b.at(in, b.num(24576), s), b.gm(x, b.num(0)), 1, pick(8, 2000), DType::f32);
            b.set(Pipe::mte2, Pipe::v, s);
            b.wait(Pipe::mte2, Pipe::v, s);
            b.wait(Pipe::mte3, Pipe::v, s);
            for (int k = pick(1, 4); k > 0; --k) {
                b.vector(pick(0, 1) ? Op::vabs : Op::vexp, b.at(out, {}, s), b.at(in, {}, s), {}, pick(1, 3000));
                b.barrier(Pipe::v);
            }
            b.set(Pipe::v, Pipe::mte2, s);
            b.set(Pipe::v, Pipe::mte3, s);
            b.wait(Pipe::v, Pipe::mte3, s);
            b.copy(Op::mov_ub_gm, b.gm(y, e.mul(b.block_id(), b.num(32768))), b.at(out, {}, s), 1, pick(8, 4000), DType::f32, 0, 0,
                   pick(0, 3) == 0 ? Cache::bypass : Cache::normal);
            b.set(Pipe::mte3, Pipe::v, s);
            if (pick(0, 3) == 0) b.scalar(pick(1, 400));
        });
        for (int i = 0; i < 2; ++i) {
            b.wait(Pipe::v, Pipe::mte2, i);
            b.wait(Pipe::mte3, Pipe::v, i);
        }
        b.cross_set(Pipe::mte3, 0, 0);
        b.cross_wait(Pipe::v, 0, 0);
    });
    return b.build(cores);
}

sim::RunOptions options(Log* log = nullptr) {
    sim::RunOptions o{.mode = sim::Mode::time, .hazards = false};
    if (log) o.sinks.push_back(log);
    return o;
}

}  // namespace

TEST_CASE("busy, stalled and idle fill the window of every pipe of every core of random programs") {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        const sim::RunResult r = time_of(busy_chip(), random_program(seed, 6), options());
        REQUIRE(r.status == sim::Status::ok);
        REQUIRE(r.cores.size() == 6);
        for (const sim::CoreStats& c : r.cores)
            for (const sim::PipeStats& p : c.pipes) {
                REQUIRE(p.busy + p.stalled + p.idle == c.end - c.begin);
                REQUIRE(std::min({p.busy, p.stalled, p.idle}) >= 0);
            }
    }
}

TEST_CASE("results and events do not depend on the order of processes of the same tick") {
    for (unsigned seed = 1; seed <= 8; ++seed) {
        const Program p = random_program(seed, 8);
        Log straight;
        const sim::RunResult r = time_of(busy_chip(), p, options(&straight));
        REQUIRE(straight.events.size() > 100);
        for (std::uint64_t s : {1u, 2u, 3u}) {
            Log shuffled;
            sim::RunOptions o = options(&shuffled);
            o.shuffle = true;
            o.seed = s;
            const sim::RunResult q = time_of(busy_chip(), p, o);
            REQUIRE(q.makespan == r.makespan);
            REQUIRE(shuffled.events.size() == straight.events.size());
            for (std::size_t i = 0; i < straight.events.size(); ++i) REQUIRE(key(shuffled.events[i]) == key(straight.events[i]));
        }
    }
}

TEST_CASE("events arrive in the order of their ends, ties by core and pipe") {
    Log log;
    time_of(busy_chip(), random_program(3, 8), options(&log));
    for (std::size_t i = 1; i < log.events.size(); ++i) {
        const sim::Event &a = log.events[i - 1], &b = log.events[i];
        REQUIRE(std::make_tuple(a.end, a.core.ordinal, a.pipe) <= std::make_tuple(b.end, b.core.ordinal, b.pipe));
    }
}

TEST_CASE("watching, computing values and looking for hazards change no cycle") {
    for (unsigned seed = 1; seed <= 6; ++seed) {
        const Program p = random_program(seed, 4);
        const sim::RunResult plain = time_of(busy_chip(), p, options());
        Log log;
        CHECK(time_of(busy_chip(), p, options(&log)).makespan == plain.makespan);
        CHECK(time_of(busy_chip(), p, {.mode = sim::Mode::time, .hazards = true}).makespan == plain.makespan);
        const sim::RunResult both = time_of(busy_chip(), p, {.mode = sim::Mode::both, .hazards = true});
        for (const Diagnostic& d : both.diagnostics) {  // sizes are drawn at random: some bytes computed on were never loaded
            INFO(to_text(d));
            CHECK(d.code == Code::uninitialised);
        }
        CHECK(both.makespan == plain.makespan);
        for (std::size_t c = 0; c < plain.cores.size(); ++c)
            for (std::size_t k = 0; k < plain.cores[c].pipes.size(); ++k) {
                CHECK(both.cores[c].pipes[k].busy == plain.cores[c].pipes[k].busy);
                CHECK(both.cores[c].pipes[k].stalled == plain.cores[c].pipes[k].stalled);
            }
    }
}

TEST_CASE("every wait event carries the arrow of a set event that ended before it") {
    Log log;
    time_of(busy_chip(), random_program(5, 3), options(&log));
    std::map<std::int64_t, sim::Tick> sets;
    int waits = 0;
    for (const sim::Event& e : log.events) {
        if (e.flow < 0) continue;
        if (e.kind == sim::EventKind::set_flag) {
            CHECK(sets.emplace(e.flow, e.end).second);
        } else if (e.kind == sim::EventKind::wait_flag) {
            REQUIRE(sets.count(e.flow) == 1);
            CHECK(sets[e.flow] + 7 <= e.end);  // the latency of a flag
            ++waits;
        }
    }
    CHECK(waits > 20);
}

TEST_CASE("the bytes of instruction events, of pipes and of the memory agree") {
    Log log;
    const sim::RunResult r = time_of(busy_chip(), random_program(7, 5), options(&log));
    std::int64_t events = 0, pipes = 0, counted = 0;
    for (const sim::Event& e : log.events) {
        if (e.kind == sim::EventKind::instr && (e.pipe == Pipe::mte2 || e.pipe == Pipe::mte3)) events += e.bytes;
        if (e.kind == sim::EventKind::counter && (e.track == sim::Track::gm_read || e.track == sim::Track::gm_write)) counted += e.bytes;
    }
    for (const sim::CoreStats& c : r.cores)
        for (Pipe p : {Pipe::mte2, Pipe::mte3}) pipes += c.pipes[static_cast<std::size_t>(p)].bytes;
    CHECK(events == r.memory.gm_read_bytes + r.memory.gm_write_bytes);
    CHECK(pipes == events);
    CHECK(counted == events);
}

TEST_CASE("no server moves more than its rate in any window between two events") {
    Log log;
    const Chip chip = busy_chip();
    time_of(chip, random_program(9, 8), options(&log));
    // bytes of segments that lie wholly inside a window can not exceed the rate times the window
    std::vector<sim::Event> hbm, l2;
    for (const sim::Event& e : log.events) {
        if (e.kind != sim::EventKind::counter) continue;
        if (e.track == sim::Track::hbm_read || e.track == sim::Track::hbm_write) hbm.push_back(e);
        if (e.track == sim::Track::l2_read || e.track == sim::Track::l2_write) l2.push_back(e);
    }
    const auto within = [](const std::vector<sim::Event>& list, double rate) {
        for (const sim::Event& from : list)
            for (const sim::Event& to : list) {
                if (to.end <= from.begin) continue;
                std::int64_t bytes = 0;
                for (const sim::Event& e : list) bytes += e.begin >= from.begin && e.end <= to.end ? e.bytes : 0;
                REQUIRE(static_cast<double>(bytes) <= rate * static_cast<double>(to.end - from.begin) + 1);
            }
    };
    REQUIRE(hbm.size() > 10);
    hbm.resize(std::min<std::size_t>(hbm.size(), 120));
    within(hbm, chip.hbm.total_rate);
    l2.resize(std::min<std::size_t>(l2.size(), 120));
    within(l2, chip.l2.total_rate);
}

TEST_CASE("with ports that are never the limit a faster instruction never makes a run slower") {
    // in-order pipes with flags are a max-plus system
    for (unsigned seed = 1; seed <= 10; ++seed) {
        const Program p = random_program(seed, 1);
        Chip chip = plain_chip();
        chip.flags.latency = 6;
        for (auto& w : chip.vector) w.fill({3, 5, 20});
        chip.paths.fill({16, 40, 8, 2, 2});
        const sim::Tick slow = time_of(chip, p, options()).makespan;
        const auto faster = [&](auto change) {
            Chip c = chip;
            change(c);
            CHECK(time_of(c, p, options()).makespan <= slow);
        };
        faster([](Chip& c) {
            for (auto& w : c.vector) w.fill({2, 5, 20});
        });
        faster([](Chip& c) {
            for (auto& w : c.vector) w.fill({3, 5, 3});
        });
        faster([](Chip& c) { c.paths.fill({32, 40, 8, 2, 2}); });
        faster([](Chip& c) { c.paths.fill({16, 0, 8, 2, 2}); });
        faster([](Chip& c) { c.flags.latency = 0; });
    }
}

TEST_CASE("a hundred runs in one process give the same result and leave nothing behind") {
    const Program p = random_program(11, 2);
    const sim::RunResult first = time_of(busy_chip(), p, options());
    for (int i = 0; i < 100; ++i) REQUIRE(time_of(busy_chip(), p, options()).makespan == first.makespan);
}
