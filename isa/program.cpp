// SPDX-License-Identifier: Apache-2.0
#include "isa/program.h"

namespace sfumato::isa {

namespace {
template <class Table>
std::optional<std::size_t> find_name(const Table& table, std::string_view wanted) {
    for (std::size_t i = 0; i < std::size(table); ++i)
        if (std::string_view(table[i]) == wanted) return i;
    return std::nullopt;
}
template <class E>
std::optional<E> as_enum(std::optional<std::size_t> i) {
    if (!i) return std::nullopt;
    return static_cast<E>(*i);
}
}  // namespace

std::optional<Pipe> parse_pipe(std::string_view s) {
    for (std::size_t i = 0; i < kPipeNames.size(); ++i)
        if (kPipeNames[i].isa == s) return static_cast<Pipe>(i);
    return std::nullopt;
}
std::optional<Space> parse_space(std::string_view s) { return as_enum<Space>(find_name(kSpaceNames, s)); }
std::optional<CoreKind> parse_core_kind(std::string_view s) { return as_enum<CoreKind>(find_name(kCoreKindNames, s)); }
std::optional<DType> parse_dtype(std::string_view s) {
    for (std::size_t i = 0; i < kDTypes.size(); ++i)
        if (kDTypes[i].name == s) return static_cast<DType>(i);
    return std::nullopt;
}
std::optional<Op> parse_op(std::string_view s) {
    for (const InstrDesc& d : kInstructions)
        if (d.name == s) return d.op;
    return std::nullopt;
}

SymbolId Program::add_symbol(std::string name, SymbolKind kind) {
    symbols.push_back({std::move(name), kind});
    return static_cast<SymbolId>(symbols.size() - 1);
}

SymbolId Program::find_symbol(std::string_view name) const {
    for (std::size_t i = 0; i < symbols.size(); ++i)
        if (symbols[i].name == name) return static_cast<SymbolId>(i);
    return -1;
}

SourceId Program::add_source(Source s) {
    for (std::size_t i = sources.size(); i-- > 0;)
        if (sources[i] == s) return static_cast<SourceId>(i);
    sources.push_back(std::move(s));
    return static_cast<SourceId>(sources.size() - 1);
}

int number_instructions(Program& p) {
    int next = 0;
    for (Section& s : p.sections) for_each_instr(s.body, [&](Instr& i) { i.id = next++; });
    return next;
}

Pipe pipe_of(const Instr& i) {
    if (const Sync* s = std::get_if<Sync>(&i.operands)) return i.op == Op::wait_flag || i.op == Op::cross_wait ? s->dst : s->src;
    return desc(i.op).pipe;
}

std::string where(const Program& p, SourceId id) {
    if (id < 0 || static_cast<std::size_t>(id) >= p.sources.size()) return "";
    const Source& s = p.sources[static_cast<std::size_t>(id)];
    return s.file + ":" + std::to_string(s.line);
}

}  // namespace sfumato::isa
