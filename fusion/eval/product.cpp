// SPDX-License-Identifier: Apache-2.0
#include <Eigen/Core>

#include "fusion/eval/contraction.h"

namespace sfumato::fusion {

namespace {

template <class T, int Order>
using Map = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Order>>;

template <class T>
void multiply(const T* a, bool ta, const T* b, bool tb, T* c, std::int64_t m, std::int64_t k, std::int64_t n) {
    Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> to(c, m, n);
    if (k == 0) {
        to.setZero();
        return;
    }
    const auto with_a = [&](const auto& left) {
        if (tb)
            to.noalias() = left * Map<T, Eigen::ColMajor>(b, k, n);
        else
            to.noalias() = left * Map<T, Eigen::RowMajor>(b, k, n);
    };
    if (ta)
        with_a(Map<T, Eigen::ColMajor>(a, m, k));
    else
        with_a(Map<T, Eigen::RowMajor>(a, m, k));
}

}  // namespace

void product(const float* a, bool ta, const float* b, bool tb, float* c, std::int64_t m, std::int64_t k, std::int64_t n) { multiply(a, ta, b, tb, c, m, k, n); }
void product(const double* a, bool ta, const double* b, bool tb, double* c, std::int64_t m, std::int64_t k, std::int64_t n) { multiply(a, ta, b, tb, c, m, k, n); }

void product(const std::uint64_t* a, bool ta, const std::uint64_t* b, bool tb, std::uint64_t* c, std::int64_t m, std::int64_t k, std::int64_t n) {
    std::fill_n(c, m * n, 0);
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t p = 0; p < k; ++p) {
            const std::uint64_t x = ta ? a[p * m + i] : a[i * k + p];
            if (x == 0) continue;
            for (std::int64_t j = 0; j < n; ++j) c[i * n + j] += x * (tb ? b[j * k + p] : b[p * n + j]);
        }
}

}  // namespace sfumato::fusion
