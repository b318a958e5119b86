// SPDX-License-Identifier: Apache-2.0
#pragma once
// Walks the members of an operand family by its field list: the one loop behind printer, parser, encoder and the symbolic verifier.
#include <tuple>
#include <type_traits>

#include "isa/instruction_table.h"

namespace sfumato::isa {

/// f(name, member) for every field of one family, in field order. `family` may be const.
template <class FamilyRef, class F>
void for_each_field(FamilyRef& family, F&& f) {
    std::apply([&](const auto&... fields) { (f(fields.name, family.*(fields.member)), ...); }, std::remove_cvref_t<FamilyRef>::fields());
}

/// The operand struct of the family, all fields at their defaults.
template <class E>
OperandsT<E> default_operands(Family family) {
    OperandsT<E> out;
    [&]<std::size_t... I>(std::index_sequence<I...>) { ((static_cast<std::size_t>(family) == I ? void(out.template emplace<I>()) : void()), ...); }
    (std::make_index_sequence<std::variant_size_v<OperandsT<E>>>{});
    return out;
}

/// f(default member, name, member): as for_each_field with the value the member has when nobody sets it.
template <class FamilyRef, class F>
void for_each_field_with_default(FamilyRef& family, F&& f) {
    using Plain = std::remove_cvref_t<FamilyRef>;
    const Plain fresh{};
    std::apply([&](const auto&... fields) { (f(fresh.*(fields.member), fields.name, family.*(fields.member)), ...); }, Plain::fields());
}

/// f(member of one, member of other) for two instances of one family over different integer types.
template <class Left, class Right, class F>
void zip_fields(const Left& left, Right& right, F&& f) {
    const auto l = Left::fields();
    const auto r = Right::fields();
    [&]<std::size_t... I>(std::index_sequence<I...>) { (f(left.*(std::get<I>(l).member), right.*(std::get<I>(r).member)), ...); }
    (std::make_index_sequence<std::tuple_size_v<decltype(l)>>{});
}

template <class T>
struct IsOperand : std::false_type {};
template <class E>
struct IsOperand<OperandT<E>> : std::true_type {};

}  // namespace sfumato::isa
