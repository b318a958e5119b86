// SPDX-License-Identifier: Apache-2.0
#pragma once
// SystemC keeps one global simulation context and cannot forget it. Every run gets a fresh one that is deleted afterwards, so that a process may
// simulate any number of times; this rests on globals of the Accellera implementation and therefore lives in one place.
#include <memory>
#include <mutex>
#include <vector>
#include <string>

namespace sfumato::sim::hw {

class Context {
public:
    Context();
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    /// SystemC warnings and errors since construction; a correct model has none.
    std::vector<std::string> reports() const;

private:
    std::unique_lock<std::mutex> lock_;  ///< the globals allow one run at a time
    struct Saved;
    std::unique_ptr<Saved> saved_;
};

}  // namespace sfumato::sim::hw
