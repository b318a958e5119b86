// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "fusion/eval/contraction.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

Tensor matmul(const EvalContext& c, const Tensor& a, const Tensor& b) {
    require(c, a.rank() > 0 && b.rank() > 0, "takes no scalars; its operands have shapes " + text(a.dims) + " and " + text(b.dims));
    Dims left = a.dims, right = b.dims;
    if (a.rank() == 1) left.insert(left.begin(), 1);
    if (b.rank() == 1) right.push_back(1);
    const std::int64_t m = left[left.size() - 2], k = left.back(), n = right.back();
    require(c, k == right[right.size() - 2] && a.type == b.type, "cannot multiply " + std::string(name(a.type)) + text(a.dims) + " by " + std::string(name(b.type)) + text(b.dims));
    const Dims batch_a(left.begin(), left.end() - 2), batch_b(right.begin(), right.end() - 2);
    const Dims batch = broadcast(c, {&batch_a, &batch_b});
    Dims dims = batch;
    dims.push_back(m);
    dims.push_back(n);
    Tensor out = blank(c, a.type, dims);
    multiplied(c, a, [&](auto t) {
        using T = decltype(t);
        T* to = data<T>(out);
        const bool one_b = count(batch_b) == 1 && count(batch) > 0;
        if (one_b) return product(data<T>(a), false, data<T>(b), false, to, count(batch) * m, k, n);  // the batch is more rows
        each<2>(batch, {broadcast_strides(batch_a, batch), broadcast_strides(batch_b, batch)}, [&](const auto& at) {
            product(data<T>(a) + at[0] * m * k, false, data<T>(b) + at[1] * k * n, false, to, m, k, n);
            to += m * n;
        });
    });
    if (b.rank() == 1) dims.pop_back();
    if (a.rank() == 1) dims.erase(dims.end() - (b.rank() == 1 ? 1 : 2));
    return reshaped(std::move(out), std::move(dims));
}

void eval_matmul(EvalContext& c) { c.set(0, matmul(c, c.in(0), c.in(1))); }

void eval_gemm(EvalContext& c) {
    const Tensor &a = c.in(0), &b = c.in(1);
    const bool ta = c.node.integer("transA", 0) != 0, tb = c.node.integer("transB", 0) != 0;
    const double alpha = c.node.real("alpha", 1), beta = c.node.real("beta", 1);
    require(c, a.rank() == 2 && b.rank() == 2 && a.type == b.type && a.dims[ta ? 0 : 1] == b.dims[tb ? 1 : 0],
            "cannot multiply " + std::string(name(a.type)) + text(a.dims) + (ta ? "^T" : "") + " by " + std::string(name(b.type)) + text(b.dims) + (tb ? "^T" : ""));
    const std::int64_t m = a.dims[ta ? 1 : 0], k = a.dims[ta ? 0 : 1], n = b.dims[tb ? 0 : 1];
    Tensor out = blank(c, a.type, {m, n});
    multiplied(c, a, [&](auto t) {
        using T = decltype(t);
        product(data<T>(a), ta, data<T>(b), tb, data<T>(out), m, k, n);
        if (alpha != 1) out = mapped<T>(c, out, out.type, [&](T x) { return static_cast<T>(alpha) * x; });
        if (!c.has(2)) return;
        const Tensor& bias = c.in(2);
        require(c, broadcast(c, {&bias.dims, &out.dims}) == out.dims && bias.type == out.type,
                "C of " + std::string(name(bias.type)) + text(bias.dims) + " does not fit a result of " + std::string(name(out.type)) + text(out.dims));
        out = zipped<T>(c, out, bias, out.type, [&](T x, T y) { return x + (beta == 1 ? y : static_cast<T>(beta) * y); });
    });
    c.set(0, std::move(out));
}

namespace {

/// One index letter of an equation: its extent and its place in every operand.
struct Letters {
    std::string order;  ///< those of the result, then those summed over
    Dims dims;
    std::vector<Dims> strides;  ///< per operand, over `order`
};

std::string without_spaces(std::string s) {
    s.erase(std::remove_if(s.begin(), s.end(), [](unsigned char ch) { return std::isspace(ch) != 0; }), s.end());
    return s;
}

// "..." becomes characters below 'A', aligned at the right, so that broadcasting axes are letters like the others.
std::string expanded(const EvalContext& c, const std::string& term, std::int64_t ellipsis) {
    const auto at = term.find("...");
    std::string out = term;
    if (at != std::string::npos) {
        std::string axes;
        for (std::int64_t i = ellipsis; i-- > 0;) axes += static_cast<char>(1 + i);
        out = term.substr(0, at) + axes + term.substr(at + 3);
    }
    for (const char ch : out)
        if (static_cast<unsigned char>(ch) > 30 && !std::isalpha(static_cast<unsigned char>(ch))) c.fail(std::string("the equation holds the character '") + ch + "'");
    return out;
}

struct Equation {
    std::vector<std::string> terms;
    std::string result;
};

Equation parsed(const EvalContext& c) {
    const std::string whole = without_spaces(c.node.text("equation", ""));
    const auto arrow = whole.find("->");
    Equation e;
    std::string left = whole.substr(0, arrow);
    for (std::size_t at = 0; at <= left.size();) {
        const auto comma = std::min(left.find(',', at), left.size());
        e.terms.push_back(left.substr(at, comma - at));
        at = comma + 1;
    }
    require(c, e.terms.size() == c.input_count(), "the equation \"" + whole + "\" has " + std::to_string(e.terms.size()) + " terms for " + std::to_string(c.input_count()) + " inputs");
    std::int64_t widest = 0;
    for (std::size_t i = 0; i < e.terms.size(); ++i) {
        const bool dots = e.terms[i].find("...") != std::string::npos;
        const std::int64_t rest = c.in(i).rank() - static_cast<std::int64_t>(e.terms[i].size() - (dots ? 3 : 0));
        require(c, dots ? rest >= 0 : rest == 0, "term \"" + e.terms[i] + "\" does not fit an input of shape " + text(c.in(i).dims));
        e.terms[i] = expanded(c, e.terms[i], dots ? rest : 0);
        if (dots) widest = std::max(widest, rest);
    }
    if (arrow != std::string::npos) {
        e.result = expanded(c, whole.substr(arrow + 2), widest);
        return e;
    }
    for (std::int64_t i = widest; i-- > 0;) e.result += static_cast<char>(1 + i);
    std::string all;
    for (const std::string& t : e.terms) all += t;
    std::sort(all.begin(), all.end());
    for (const char ch : all)
        if (std::isalpha(static_cast<unsigned char>(ch)) && std::count(all.begin(), all.end(), ch) == 1) e.result += ch;
    return e;
}

Letters letters_of(const EvalContext& c, const Equation& e) {
    Letters l;
    l.order = e.result;
    for (const std::string& term : e.terms)
        for (const char ch : term)
            if (l.order.find(ch) == std::string::npos) l.order += ch;
    l.dims.assign(l.order.size(), -1);
    for (std::size_t i = 0; i < e.terms.size(); ++i) {
        const Dims own = strides_of(c.in(i).dims);
        Dims strides(l.order.size(), 0);
        for (std::size_t j = 0; j < e.terms[i].size(); ++j) {
            const auto at = l.order.find(e.terms[i][j]);
            const std::int64_t d = c.in(i).dims[j];
            if (l.dims[at] == -1 || l.dims[at] == 1) l.dims[at] = d;
            require(c, d == l.dims[at] || d == 1, "an index of the equation has extents " + std::to_string(l.dims[at]) + " and " + std::to_string(d));
            strides[at] += d == 1 ? 0 : own[j];  // a letter that stands twice walks the diagonal
        }
        l.strides.push_back(std::move(strides));
    }
    for (std::size_t i = 0; i < l.order.size(); ++i) require(c, l.dims[i] >= 0, "an index of the result stands in no term");
    return l;
}

template <class T>
Tensor contracted(const EvalContext& c, const Letters& l, std::size_t results) {
    const Dims dims(l.dims.begin(), l.dims.begin() + static_cast<std::ptrdiff_t>(results));
    Tensor out = blank(c, c.in(0).type, dims);
    Dims to = strides_of(dims);
    to.resize(l.order.size(), 0);
    T* sum = data<T>(out);
    std::vector<const T*> from;
    for (std::size_t i = 0; i < c.input_count(); ++i) from.push_back(data<T>(c.in(i)));
    if (from.size() == 2) {
        each<3>(l.dims, {to, l.strides[0], l.strides[1]}, [&](const auto& at) { sum[at[0]] += from[0][at[1]] * from[1][at[2]]; });
        return out;
    }
    Dims index(l.order.size(), 0);
    if (count(l.dims) == 0) return out;
    do {
        T term = 1;
        std::int64_t place = 0;
        for (std::size_t d = 0; d < index.size(); ++d) place += index[d] * to[d];
        for (std::size_t i = 0; i < from.size(); ++i) {
            std::int64_t at = 0;
            for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * l.strides[i][d];
            term *= from[i][at];
        }
        sum[place] += term;
    } while (advance(index, l.dims));
    return out;
}

}  // namespace

void eval_einsum(EvalContext& c) {
    const Equation e = parsed(c);
    for (std::size_t i = 1; i < c.input_count(); ++i) require(c, c.in(i).type == c.in(0).type, "its operands must be of one type");
    const Letters l = letters_of(c, e);
    multiplied(c, c.in(0), [&](auto t) { c.set(0, contracted<decltype(t)>(c, l, e.result.size())); });
}

}  // namespace sfumato::fusion
