// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of every enumeration that appears in programs, so that printer, parser, encoder and manual read one list.
#include <array>
#include <string_view>

#include "isa/program.h"

namespace sfumato::isa {

template <class E>
struct EnumNames;  ///< `list`: names in enumerator order; `what`: the noun for messages

#define SFUMATO_ENUM_NAMES(Type, noun, ...)                        \
    template <>                                                    \
    struct EnumNames<Type> {                                       \
        static constexpr std::string_view what = noun;             \
        static constexpr auto list = std::to_array<std::string_view>(__VA_ARGS__); \
    };
SFUMATO_ENUM_NAMES(Cache, "cache mode", {"normal", "bypass"})
SFUMATO_ENUM_NAMES(Atomic, "atomic mode", {"none", "add"})
SFUMATO_ENUM_NAMES(MaskMode, "mask mode", {"normal", "counter"})
SFUMATO_ENUM_NAMES(Role, "tensor role", {"in", "out", "inout", "workspace"})
SFUMATO_ENUM_NAMES(SymbolKind, "symbol kind", {"param", "block_id", "block_num", "sub_block", "loop", "counter", "load"})
#undef SFUMATO_ENUM_NAMES

template <>
struct EnumNames<CoreKind> {
    static constexpr std::string_view what = "core kind";
    static constexpr auto list = kCoreKindNames;
};
template <>
struct EnumNames<Space> {
    static constexpr std::string_view what = "memory space";
    static constexpr auto list = kSpaceNames;
};
template <>
struct EnumNames<DType> {
    static constexpr std::string_view what = "element type";
    static constexpr auto list = [] {
        std::array<std::string_view, kDTypeCount> names{};
        for (std::size_t i = 0; i < names.size(); ++i) names[i] = kDTypes[i].name;
        return names;
    }();
};
template <>
struct EnumNames<Pipe> {
    static constexpr std::string_view what = "pipe";
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
