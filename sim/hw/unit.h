// SPDX-License-Identifier: Apache-2.0
#pragma once
// One pipe of a core. It takes instructions from its queue in order, starts them when flags, barriers and resources allow, and completes them in
// order. Everything that decides when an instruction may start is in Unit::step. Its core calls it when the agenda says so.
#include <vector>

#include "sim/hw/core_if.h"
#include "sim/hw/interfaces.h"
#include "sim/timing/cost.h"

namespace sfumato::sim::hw {

/// A queued instruction: operands are needed only where values are computed, its cost was known at issue.
struct Entry {
    enum class Kind : std::uint8_t { work, transfer, set, wait, barrier, cross_set, cross_wait };
    Kind kind = Kind::work;
    isa::Pipe src = isa::Pipe::s, dst = isa::Pipe::s;
    std::uint8_t mode = 0;
    bool unit_flag = false;
    std::int32_t id = 0;
    const isa::Instr* instr = nullptr;
    Tick issued = 0, begin = 0, end = 0;
    timing::LocalCost local;           ///< of a transfer: its bytes only
    std::int32_t outstanding = INT32_MAX;  ///< instructions of the pipe in flight, this one included
    std::int32_t after = 0;                ///< unit flag: this many of the other pipe's flagged instructions must have completed
};
/// What only transfers have; kept beside the queue, so that its entries stay small.
struct Order {
    Transfer transfer;
    Tick start = 0, interval = 0;
};

/// A ring that grows when full; entries keep their storage.
template <class T>
class Ring {
public:
    explicit Ring(std::size_t size = 8) : items_(size) {}
    bool empty() const { return count_ == 0; }
    std::size_t size() const { return count_; }
    T& front() { return items_[head_]; }
    const T& operator[](std::size_t i) const { return items_[(head_ + i) % items_.size()]; }
    T& push() {
        if (count_ == items_.size()) {
            std::vector<T> bigger(2 * items_.size());
            for (std::size_t i = 0; i < count_; ++i) bigger[i] = std::move(items_[(head_ + i) % items_.size()]);
            items_ = std::move(bigger);
            head_ = 0;
        }
        const std::size_t at = head_ + count_++;
        return items_[at < items_.size() ? at : at - items_.size()];
    }
    void pop() {
        if (++head_ == items_.size()) head_ = 0;
        --count_;
    }

private:
    std::vector<T> items_;
    std::size_t head_ = 0, count_ = 0;
};

class Unit : public sc_core::sc_module, public TransferClient, public Sleeper {
public:
    Unit(sc_core::sc_module_name, isa::Pipe, CoreState&);
    sc_core::sc_port<MemoryIf> memory;
    sc_core::sc_port<CrossIf> cross;

    bool full() const { return queue_.size() >= depth_; }
    /// A place in the queue for the next instruction; fill it in, then call pushed(). `bound` is copied where effects need operands.
    Entry& push() { return queue_.push() = Entry{}; }
    /// For an entry of kind transfer, before pushed().
    Order& push_order() { return orders_.push(); }
    void pushed(const Entry&, const isa::BoundInstr* bound);
    bool idle() const { return queue_.empty() && flying_.empty(); }
    /// The instruction that has waited longest, for deadlock reports; null when idle.
    const Entry* oldest() const { return !flying_.empty() ? &flying_[0] : queue_.empty() ? nullptr : &queue_[0]; }
    const Entry* next() const { return queue_.empty() ? nullptr : &queue_[0]; }

    void begin_launch(Tick);
    void end_launch(Tick end);
    const PipeStats& stats() const { return stats_; }
    isa::Pipe pipe() const { return pipe_; }

    /// Completes what has finished and starts what may start at this tick.
    void step(Tick);
    /// Transfers are in flight: from outside the pipe is not woken before this tick.
    Tick soonest() const { return transfers_ == 0 ? kNever : done_ > 0 ? now() : memory->soonest(port_); }

    void transfer_done() override;
    void wake_at(Tick t) override { core_.wake(pipe_, t); }

private:
    bool retire(Tick);
    bool start_next(Tick);
    bool start_work(const Entry&, Tick);
    void begin_work(const Entry&, Tick);
    bool take_flag(const Entry&, Tick);
    bool take_cross(const Entry&, Tick);
    bool pass_barrier(const Entry&, Tick);
    void fire(const Entry&, Tick);
    void complete(const Entry&, Tick end);
    Tick account(Tick until, const Entry*);
    std::int64_t arrow(const Entry&) const;
    bool ends_matter() const;
    void say(EventKind, const Entry&, Tick begin, Tick end, std::int64_t flow = -1, std::int64_t bytes = 0);
    LineStats& line(const Entry&);

    isa::Pipe pipe_;
    int port_;
    CoreState& core_;
    std::size_t depth_;
    Ring<Entry> queue_, flying_;
    Ring<Order> orders_;             ///< of queued transfers
    Ring<isa::BoundInstr> bound_;    ///< operands of queued and flying work, where effects need them
    std::size_t working_ = 0;        ///< work in flight (flying_ also holds flags on their way)
    std::size_t transfers_ = 0;      ///< of it, transfers
    std::size_t done_ = 0;           ///< transfers the memory has completed and retire() has not seen
    std::size_t markers_ = 0;        ///< flags on their way
    Tick free_ = 0;                  ///< the pipe may start its next instruction
    Tick last_end_ = 0;
    Tick ready_ = kNever;            ///< next tick at which something can happen without help from outside
    Tick accounted_ = 0;
    bool counted_ = false, stepping_ = false;
    PipeStats stats_;
};

}  // namespace sfumato::sim::hw
