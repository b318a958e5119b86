// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the scalar unit gets its instructions from. The walker of a Program is one source; a kernel written in another language can be another
// without a change to the pipes.
#include <optional>

#include "isa/walker.h"

namespace sfumato::sim::hw {

/// What the scalar unit has to do next.
struct Work {
    enum class Kind : std::uint8_t {
        issue,      ///< send `instr` to its pipe
        load,       ///< read an integer from GM and pass it to the next call
        wait,       ///< nothing to issue: the overhead of one loop iteration passes
        end,
    };
    Kind kind = Kind::end;
    const isa::BoundInstr* instr = nullptr;  ///< valid until the next call
    const isa::Load* load = nullptr;
    std::int64_t index = 0;
};

class InstrSource {
public:
    virtual ~InstrSource() = default;
    /// `loaded`: the answer to the load returned before.
    virtual Work next(std::optional<std::int64_t> loaded) = 0;
};

/// The instruction instances of one section.
class ProgramSource : public InstrSource {
public:
    ProgramSource(const isa::Program& p, const isa::Section& s, const isa::WalkContext& c) : walker_(p, s, c) {}
    Work next(std::optional<std::int64_t> loaded) override {
        if (loaded) walker_.give(*loaded);
        const isa::Step s = walker_.next();
        switch (s.kind) {
            case isa::StepKind::instr: return {Work::Kind::issue, s.instr, nullptr, 0};
            case isa::StepKind::load: return {Work::Kind::load, nullptr, s.load, s.index};
            case isa::StepKind::loop_iteration: return {Work::Kind::wait, nullptr, nullptr, 0};
            case isa::StepKind::end: break;
        }
        return {};
    }

private:
    isa::Walker walker_;
};

}  // namespace sfumato::sim::hw
