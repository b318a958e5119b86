// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is said to a user: diagnostics are values collected in a list, input errors are exceptions, broken invariants are our bugs.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sfumato::isa {

/// Stable codes, each listed once with what it means (the manual and the JSON reports read this list).
#define SFUMATO_DIAGNOSTICS(X)                                                 \
    X(capacity, "buffers need more bytes than the memory space has")           \
    X(alignment, "an address or extent breaks an alignment rule")              \
    X(race, "two accesses overlap and nothing orders them")                    \
    X(deadlock, "a flag or queue protocol can never proceed")                  \
    X(dtype, "an element type is not allowed here")                            \
    X(shape, "extents do not fit together")                                    \
    X(event_id, "an event id is out of range or used twice")                   \
    X(out_of_bounds, "an access leaves its tensor or memory space")            \
    X(uninitialised, "bytes are read that nothing has written")                \
    X(space, "an operand lies in a memory space the instruction cannot reach") \
    X(range, "a field exceeds what the instruction can encode")                \
    X(flag_balance, "sets and waits of a flag do not balance on every path")   \
    X(unsupported, "the chip or the compiler cannot express this")             \
    X(trace, "the kernel function did something that tracing cannot see")      \
    X(divide_by_zero, "an expression divides by zero")                         \
    X(hint, "something legal that costs time")

enum class Code {
#define X(name, doc) name,
    SFUMATO_DIAGNOSTICS(X)
#undef X
};
std::string_view name(Code);
std::string_view doc(Code);

struct Diagnostic {
    Code code = Code::unsupported;
    std::string message;
    std::string file;
    int line = 0, column = 0;
    std::vector<std::string> notes;
};
/// "file:line:column: error[code]: message" followed by indented notes.
std::string to_text(const Diagnostic&);
std::string to_text(const std::vector<Diagnostic>&);

/// Bad file, option or argument; the message names the thing, the value found and the value allowed. Exit status 2.
struct InputError : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// The program under test was refused; carries every diagnostic. Exit status 1.
struct Rejected : std::runtime_error {
    explicit Rejected(std::vector<Diagnostic> d) : std::runtime_error(to_text(d)), diagnostics(std::move(d)) {}
    std::vector<Diagnostic> diagnostics;
};
/// A broken invariant: our bug. Exit status 3.
struct InternalError : std::logic_error {
    using std::logic_error::logic_error;
};
inline void check(bool ok, const char* what, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {  // clang 14 lacks source_location
    if (!ok) throw InternalError(std::string(what) + " (" + file + ":" + std::to_string(line) + ")");
}

/// "196,608"
std::string with_separators(std::int64_t);

/// The nearest of `names` to `wanted` by edit distance, or "" when none is near.
std::string nearest(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace sfumato::isa
