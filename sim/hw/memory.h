// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory system: per-core ports, the shared L2 and HBM. A transfer is a flow, not a rain of line events: its lines are looked up once, which
// splits it into at most a few segments (hits, misses), and at any time it moves bytes through one shared server at a max-min fair rate.
#include <array>
#include <vector>

#include "sim/hw/interfaces.h"
#include "sim/hw/l2.h"
#include "sim/hw/recorder.h"
#include "sim/hw/sharing.h"

namespace sfumato::sim::hw {

class Memory : public sc_core::sc_module, public MemoryIf {
public:
    Memory(sc_core::sc_module_name, const isa::Chip&, Recorder&, std::vector<std::vector<std::int64_t>> bases);
    sc_core::sc_export<MemoryIf> access;

    void connect(int port, CoreRef, TransferClient*);
    /// Puts lines of [address, address + bytes) into L2, clean, while there is room.
    void warm(std::int64_t address, std::int64_t bytes);

    void submit(int port, const Transfer&) override;
    Tick soonest(int port) const override;
    std::int64_t base_of(int launch, int tensor) const override { return bases_[static_cast<std::size_t>(launch)][static_cast<std::size_t>(tensor)]; }
    const MemoryStats& stats() const { return stats_; }

private:
    enum Server : std::uint8_t { l2_read, l2_write, hbm, server_count };
    struct Segment {
        Server server = l2_read;
        Track track = Track::l2_read;
        std::int64_t bytes = 0;
        Fixed cap = 0, weight = kOne;
        Tick ready = 0;
    };
    enum class State : std::uint8_t { waiting, moving, filling };
    struct Flow {
        Serial serial = 0;
        State state = State::waiting;
        std::uint8_t segment = 0, segments = 0;
        std::array<Segment, 2> part;
        std::vector<Serial> fills;  ///< transfers whose data this one's hits wait for
        Transfer what;
        Fixed remaining = 0, rate = 0;
        Tick updated = 0, begun = 0;
        const Segment& current() const { return part[segment]; }
    };
    struct Port {
        TransferClient* client = nullptr;
        CoreRef core;
        int number = 0;
        std::vector<Flow> ring;  ///< transfers accepted and not yet complete, oldest at `head`
        std::size_t head = 0, count = 0;
        Tick due = kNever;
        bool engaged = false;
        Flow& front() { return ring[head]; }
        Flow& push();
        void pop();
    };
    /// Lines of one kind that a transfer met.
    struct Kind {
        std::int64_t bytes = 0;     ///< asked for by the core
        std::int64_t moved = 0;     ///< through the server
        std::int64_t requests = 0;  ///< of the core
        Fixed turns = 0;            ///< port ticks spent waiting for other readers of the same lines
        void add(const Kind& k) {
            bytes += k.bytes;
            moved += k.moved;
            requests += k.requests;
        }
    };
    struct Looked {
        Kind hit, miss, replaced;
        std::int64_t lines = 0, present = 0, victims = 0, evicted = 0;
        bool miss_first = false;
    };

    /// The part of a line that a transfer asks for.
    struct Piece {
        std::int64_t first = 0, last = 0;
        Kind asked;
    };
    /// Who reads: what is the same for all lines of a transfer.
    struct Reader {
        int port = 0;
        Serial serial = 0;
        std::uint32_t most_sharers = 1;
        Fixed per_byte = 0;  ///< of port time
    };

    void on_timer();
    void on_end_of_tick();
    void look_up(Flow&, Port&);
    Looked look_up_lines(Flow&, const Port&);
    Piece piece(std::int64_t first, std::int64_t last) const;
    Fixed use_line(L2::Line&, bool missing, Flow&, const Reader&, const Kind& asked);
    L2::Line* miss_line(std::int64_t line, const Piece&, const Flow&, Looked&);
    void write_line(std::int64_t line, const Piece&, const Flow&, Looked&);
    void add_segment(Flow&, Server, Track, const Kind&, Fixed weight, Tick latency);
    std::int64_t requests(std::int64_t first, std::int64_t last) const;
    void advance(Port&, Tick);
    void finish_segment(Port&, Tick);
    void complete(Port&, Tick);
    void retry_fills(Tick);
    void settle(Server, Fixed capacity);
    void settle_all(Tick);
    void move_until(Server, Tick);
    void arm();
    void arm_tail();
    bool live(Serial s) const { return s != 0 && live_[s & live_mask_].first == s; }

    const isa::Chip& chip_;
    Recorder& recorder_;
    std::vector<std::vector<std::int64_t>> bases_;
    L2 l2_;
    std::vector<Port> ports_;
    std::vector<Port*> engaged_, filling_;
    std::array<std::vector<Port*>, server_count> moving_;
    std::array<bool, server_count> changed_{};
    std::vector<Demand> demands_;
    std::vector<std::pair<int, Transfer>> submitted_;
    std::vector<std::pair<Serial, int>> live_;  ///< (serial, port) of transfers in flight, by serial modulo size
    std::size_t live_mask_ = 0;
    Serial next_serial_ = 1;
    MemoryStats stats_;
    sc_core::sc_event timer_, tail_;
    Tick armed_ = kNever;
    bool tail_armed_ = false;
    Fixed read_rate_, write_rate_, total_rate_, hbm_rate_, mixed_rate_, same_line_;
    Fixed read_weight_, write_weight_;
    Tick read_latency_, write_latency_, hbm_latency_;
    std::int64_t in_flight_;
};

}  // namespace sfumato::sim::hw
