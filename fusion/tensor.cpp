// SPDX-License-Identifier: Apache-2.0
#include "fusion/tensor.h"

#include "isa/diagnostic.h"

namespace sfumato::fusion {

std::optional<ElemType> parse_elem_type(std::string_view text) {
    for (int i = 1; i < kElemTypeCount; ++i)
        if (kElemTypes[static_cast<std::size_t>(i)].name == text) return static_cast<ElemType>(i);
    return std::nullopt;
}

std::optional<isa::DType> machine_type(ElemType t) { return isa::parse_dtype(name(t)); }

std::int64_t Tensor::size() const {
    std::int64_t n = 1;
    for (const std::int64_t d : dims) n *= d;
    return n;
}

double Tensor::number(std::int64_t i) const {
    const auto at = static_cast<std::size_t>(i);
    if (const auto* f = std::get_if<std::vector<float>>(&data)) return static_cast<double>((*f)[at]);
    if (const auto* d = std::get_if<std::vector<double>>(&data)) return (*d)[at];
    if (const auto* n = std::get_if<std::vector<std::int64_t>>(&data))
        return type == ElemType::u64 ? static_cast<double>(static_cast<std::uint64_t>((*n)[at])) : static_cast<double>((*n)[at]);
    throw isa::InternalError("a tensor of strings has no numbers");
}

Tensor int_tensor(std::vector<std::int64_t> values, std::vector<std::int64_t> dims, ElemType type) { return {type, std::move(dims), std::move(values)}; }
Tensor float_tensor(std::vector<float> values, std::vector<std::int64_t> dims, ElemType type) { return {type, std::move(dims), std::move(values)}; }

}  // namespace sfumato::fusion
