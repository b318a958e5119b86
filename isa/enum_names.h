// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of every enumeration that appears in programs, so that printer, parser, encoder and manual read one list.
#include <array>
#include <string_view>

#include "isa/program.h"

namespace sfumato::isa {

template <class E>
struct EnumNames;  ///< `list`: names in enumerator order; `what`: the noun with its article, for messages

#define SFUMATO_ENUM_NAMES(Type, noun, ...)                                        \
    template <>                                                                    \
    struct EnumNames<Type> {                                                       \
        static constexpr std::string_view what = noun;                             \
        static constexpr auto list = std::to_array<std::string_view>(__VA_ARGS__); \
    };
SFUMATO_ENUM_NAMES(Cache, "a cache mode", {"normal", "bypass"})
SFUMATO_ENUM_NAMES(Atomic, "an atomic mode", {"none", "add"})
SFUMATO_ENUM_NAMES(MaskMode, "a mask mode", {"normal", "counter"})
SFUMATO_ENUM_NAMES(Role, "a tensor role", {"in", "out", "inout", "workspace"})
SFUMATO_ENUM_NAMES(SymbolKind, "a symbol kind", {"param", "block_id", "block_num", "sub_block", "loop", "counter", "load"})
#undef SFUMATO_ENUM_NAMES

template <>
struct EnumNames<CoreKind> {
    static constexpr std::string_view what = "a core kind";
    static constexpr auto list = kCoreKindNames;
};
template <>
struct EnumNames<Space> {
    static constexpr std::string_view what = "a memory space";
    static constexpr auto list = kSpaceNames;
};
template <>
struct EnumNames<DType> {
    static constexpr std::string_view what = "an element type";
    static constexpr auto list = [] {
        std::array<std::string_view, kDTypeCount> names{};
        for (std::size_t i = 0; i < names.size(); ++i) names[i] = kDTypes[i].name;
        return names;
    }();
};
template <>
struct EnumNames<Pipe> {
    static constexpr std::string_view what = "a pipe";
    static constexpr auto list = [] {
        std::array<std::string_view, kPipeNames.size()> names{};
        for (std::size_t i = 0; i < names.size(); ++i) names[i] = kPipeNames[i].isa;
        return names;
    }();
};

template <class E>
constexpr std::string_view enum_name(E e) {
    return EnumNames<E>::list[static_cast<std::size_t>(e)];
}

}  // namespace sfumato::isa
