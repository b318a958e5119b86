// SPDX-License-Identifier: Apache-2.0
// Ranges of inputs from the command line, in every spelling of the vendor's options and of those who write about them.
#include <algorithm>
#include <charconv>

#include "fusion/import.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

namespace {

using isa::InputError;

constexpr const char* kForm = "; write name:d0,d1 with each d a size, a range a~b with 0 <= a <= b, or -1 for any size, and ';' between inputs";

std::string_view trimmed(std::string_view s) {
    const auto space = [](char c) { return c == ' ' || c == '\t'; };
    while (!s.empty() && space(s.front())) s.remove_prefix(1);
    while (!s.empty() && space(s.back())) s.remove_suffix(1);
    return s;
}

std::vector<std::string_view> split(std::string_view s, char at) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0;;) {
        const std::size_t end = s.find(at, begin);
        parts.push_back(trimmed(s.substr(begin, end == std::string_view::npos ? end : end - begin)));
        if (end == std::string_view::npos) return parts;
        begin = end + 1;
    }
}

[[noreturn]] void refuse(std::string_view piece, const std::string& why) { throw InputError("shape range '" + std::string(piece) + "': " + why + kForm); }

std::int64_t number(std::string_view text, std::string_view piece) {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) refuse(piece, "'" + std::string(text) + "' is no size");
    return n;
}

Range dimension(std::string_view text, std::string_view piece) {
    const std::size_t tilde = text.find('~');
    if (tilde == std::string_view::npos) {
        const std::int64_t n = number(text, piece);
        if (n == -1) return {};
        if (n < 0) refuse(piece, std::to_string(n) + " is below 0");
        return {n, n};
    }
    const std::int64_t low = number(trimmed(text.substr(0, tilde)), piece), high = number(trimmed(text.substr(tilde + 1)), piece);
    const Range r{low, high == -1 ? Range::kUnbounded : high};
    if (r.low < 0 || r.high < r.low) refuse(piece, "the range " + std::string(text) + " is empty or starts below 0");
    return r;
}

std::string shown(Range r) {
    const std::string high = r.high == Range::kUnbounded ? "-1" : std::to_string(r.high);
    return r.low == r.high ? high : std::to_string(r.low) + "~" + high;
}

/// The symbol that an extent is, or "" for anything else.
std::string symbol_of(Symbols& symbols, const Extent& e) {
    const std::vector<std::string> names = symbols.names_in(e);
    return names.size() == 1 && symbols.named(names[0]) == e ? names[0] : "";
}

void narrow(Symbols& symbols, const Extent& e, Range r, const std::string& where) {
    if (const std::string name = symbol_of(symbols, e); !name.empty()) return symbols.set_range(name, r);
    const Range known = symbols.range(e);
    if (r.low > known.high || r.high < known.low) throw InputError(where + ": the model has " + symbols.to_text(e) + ", the range given is " + shown(r));
}

}  // namespace

std::vector<InputRange> parse_shape_ranges(std::string_view text) {
    std::vector<InputRange> out;
    for (const std::string_view piece : split(text, ';')) {
        if (piece.empty() && !out.empty()) continue;  // a ';' at the end
        const std::size_t colon = piece.rfind(':');   // names hold colons too
        if (colon == std::string_view::npos || colon == 0) refuse(piece, "no input is named");
        InputRange r{std::string(trimmed(piece.substr(0, colon))), {}};
        std::string_view dims = trimmed(piece.substr(colon + 1));
        const bool opened = !dims.empty() && dims.front() == '[', closed = !dims.empty() && dims.back() == ']';
        if (opened != closed) refuse(piece, "a bracket has no partner");
        if (opened) dims = trimmed(dims.substr(1, dims.size() - 2));
        if (!dims.empty())
            for (const std::string_view d : split(dims, ',')) r.dims.push_back(dimension(d, piece));
        for (const InputRange& other : out)
            if (other.input == r.input) refuse(piece, "input " + r.input + " has a range already");
        out.push_back(std::move(r));
    }
    return out;
}

void apply_shape_ranges(Graph& g, const std::vector<InputRange>& ranges) {
    for (const InputRange& r : ranges) {
        const auto at = std::find_if(g.inputs.begin(), g.inputs.end(), [&](ValueId v) { return g.value(v).name == r.input; });
        if (at == g.inputs.end()) {
            std::vector<std::string> names;
            for (const ValueId v : g.inputs) names.push_back(g.value(v).name);
            const std::string near = isa::nearest(r.input, names);
            throw InputError("shape range: the model has no input " + r.input + (near.empty() ? "" : "; the nearest is " + near));
        }
        Value& v = g.value(*at);
        if (!v.shape) {
            v.shape.emplace();
            for (std::size_t i = 0; i < r.dims.size(); ++i) v.shape->push_back(g.symbols().fresh(r.input + "_d" + std::to_string(i)));
        }
        if (v.shape->size() != r.dims.size())
            throw InputError("shape range of " + r.input + ": " + std::to_string(r.dims.size()) + " sizes, the input has " + std::to_string(v.shape->size()));
        for (std::size_t i = 0; i < r.dims.size(); ++i) narrow(g.symbols(), (*v.shape)[i], r.dims[i], "shape range of " + r.input + ", dimension " + std::to_string(i));
    }
}

}  // namespace sfumato::fusion
