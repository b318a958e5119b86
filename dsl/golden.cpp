// SPDX-License-Identifier: Apache-2.0
#include "dsl/golden.h"

#include <cmath>

namespace sfumato::dsl {

using tile::Op;
using tile::OpKind;
using tile::Region;
using tile::ValueId;

namespace {

struct Matrix {
    std::int64_t rows = 0, cols = 0;
    std::vector<double> at;
    Matrix() = default;
    Matrix(std::int64_t r, std::int64_t c, double v = 0) : rows(r), cols(c), at(static_cast<std::size_t>(r * c), v) {}
    double& operator()(std::int64_t r, std::int64_t c) { return at[static_cast<std::size_t>(r * cols + c)]; }
    double operator()(std::int64_t r, std::int64_t c) const { return at[static_cast<std::size_t>(r * cols + c)]; }
};

double function(OpKind k, double a, double s) {
    switch (k) {
        case OpKind::add_scalar:
            return a + s;
        case OpKind::mul_scalar:
            return a * s;
        case OpKind::max_scalar:
            return std::max(a, s);
        case OpKind::min_scalar:
            return std::min(a, s);
        case OpKind::rdiv_scalar:
            return s / a;
        case OpKind::exp:
            return std::exp(a);
        case OpKind::log:
            return std::log(a);
        case OpKind::sqrt:
            return std::sqrt(a);
        case OpKind::rsqrt:
            return 1 / std::sqrt(a);
        case OpKind::abs:
            return std::fabs(a);
        case OpKind::relu:
            return std::max(a, 0.0);
        case OpKind::sigmoid:
            return 1 / (1 + std::exp(-a));
        case OpKind::silu:
            return a / (1 + std::exp(-a));
        case OpKind::gelu:
            return a / (1 + std::exp(-1.5957691216057308 * (a + 0.044715 * a * a * a)));
        case OpKind::tanh:
            return std::tanh(a);
        case OpKind::cast:
            return a;
        default:
            throw isa::InternalError("golden mode does not know " + std::string(tile::name(k)));
    }
}
double function2(OpKind k, double a, double b) {
    switch (k) {
        case OpKind::add:
            return a + b;
        case OpKind::sub:
            return a - b;
        case OpKind::mul:
            return a * b;
        case OpKind::div:
            return a / b;
        case OpKind::max:
            return std::max(a, b);
        case OpKind::min:
            return std::min(a, b);
        default:
            throw isa::InternalError("golden mode does not know " + std::string(tile::name(k)));
    }
}

class Evaluator {
public:
    Evaluator(const tile::Kernel& k, const std::map<std::string, std::int64_t>& params, std::vector<std::vector<double>>& tensors)
        : kernel_(k), tensors_(tensors), symbols_(k.frame.symbols.size(), 0), values_(k.values.size()) {
        for (std::size_t i = 0; i < symbols_.size(); ++i) {
            const isa::Symbol& s = k.frame.symbols[i];
            if (s.kind == isa::SymbolKind::block_num) symbols_[i] = 1;
            if (s.kind != isa::SymbolKind::param) continue;
            const auto it = params.find(s.name);
            if (it == params.end()) throw isa::InputError("golden mode: parameter " + s.name + " has no value");
            symbols_[i] = it->second;
        }
        if (tensors.size() != k.frame.tensors.size())
            throw isa::InputError("golden mode: " + std::to_string(tensors.size()) + " tensors given, the kernel has " +
                                  std::to_string(k.frame.tensors.size()));
        for (std::size_t t = 0; t < tensors.size(); ++t) {
            std::int64_t size = 1;
            for (isa::Expr d : k.frame.tensors[t].dims) size *= eval(d);
            if (size != static_cast<std::int64_t>(tensors[t].size()))
                throw isa::InputError("golden mode: tensor " + k.frame.tensors[t].name + " has " + std::to_string(tensors[t].size()) +
                                      " values, its extents say " + std::to_string(size));
        }
    }
    void run(const Region& r) {
        for (const tile::Node& n : r.nodes) {
            if (const auto* op = std::get_if<Op>(&n.node))
                operation(*op);
            else if (const auto* inner = std::get_if<Region>(&n.node))
                region(*inner);
            else
                throw isa::InputError("golden mode evaluates kernels of the maths-like level only");
        }
    }

private:
    std::int64_t eval(isa::Expr e) const { return kernel_.frame.exprs.eval(e, symbols_); }
    Matrix& value(ValueId v) { return values_[static_cast<std::size_t>(v)]; }

    void region(const Region& r) {
        std::vector<Matrix> current;
        for (const tile::Carried& c : r.carried) current.push_back(value(c.init));
        const std::int64_t trips = r.kind == Region::Kind::when ? eval(r.extent) != 0 : eval(r.extent);
        for (std::int64_t t = 0; t < trips; ++t) {
            if (r.counter >= 0) symbols_[static_cast<std::size_t>(r.counter)] = t;
            for (std::size_t i = 0; i < current.size(); ++i)
                if (r.carried[i].inside >= 0) value(r.carried[i].inside) = current[i];
            run(r);
            for (std::size_t i = 0; i < current.size(); ++i) current[i] = value(r.carried[i].yield);
        }
        for (std::size_t i = 0; i < current.size(); ++i) value(r.carried[i].result) = std::move(current[i]);
    }
    template <class F>
    void each(const Op& op, const Matrix& m, F&& f) {
        const tile::View& v = kernel_.views[static_cast<std::size_t>(op.view)];
        std::vector<double>& memory = tensors_[static_cast<std::size_t>(v.tensor)];
        const std::int64_t first = eval(v.base) + eval(op.i) * v.tile_rows * eval(v.pitch) + eval(op.j) * v.tile_cols, pitch = eval(v.pitch);
        for (std::int64_t r = 0; r < m.rows; ++r)
            for (std::int64_t c = 0; c < m.cols; ++c) f(memory.at(static_cast<std::size_t>(first + r * pitch + c)), r, c);
    }
    Matrix empty(const Op& op) const {
        const tile::Shape& s = kernel_.values[static_cast<std::size_t>(op.result)].shape;
        return {eval(s.valid_rows), eval(s.valid_cols), op.scalar};
    }
    void operation(const Op& op) {
        Matrix out;
        switch (op.kind) {
            case OpKind::store:
                return each(op, value(op.args[0]), [&](double& m, std::int64_t r, std::int64_t c) { m = value(op.args[0])(r, c); });
            case OpKind::load:
                out = empty(op);
                each(op, out, [&](double& m, std::int64_t r, std::int64_t c) { out(r, c) = m; });
                break;
            case OpKind::full:
                out = empty(op);
                break;
            case OpKind::dot:
                out = product(value(op.args[0]), value(op.args[1]));
                break;
            case OpKind::row_sum:
            case OpKind::row_max:
                out = reduced(op.kind, value(op.args[0]));
                break;
            case OpKind::transpose:
                out = Matrix(value(op.args[0]).cols, value(op.args[0]).rows);
                for (std::int64_t r = 0; r < out.rows; ++r)
                    for (std::int64_t c = 0; c < out.cols; ++c) out(r, c) = value(op.args[0])(c, r);
                break;
            default:
                if (op.args.size() == 1) {
                    out = value(op.args[0]);
                    for (double& x : out.at) x = function(op.kind, x, op.scalar);
                } else {
                    out = broadcast(op);
                }
        }
        value(op.result) = std::move(out);
    }
    static Matrix reduced(OpKind k, const Matrix& a) {
        Matrix out(a.rows, 1, k == OpKind::row_sum ? 0 : -HUGE_VAL);
        for (std::int64_t r = 0; r < a.rows; ++r)
            for (std::int64_t c = 0; c < a.cols; ++c) out(r, 0) = function2(k == OpKind::row_sum ? OpKind::add : OpKind::max, out(r, 0), a(r, c));
        return out;
    }
    Matrix broadcast(const Op& op) {
        const Matrix &a = value(op.args[0]), &b = value(op.args[1]);
        const tile::Shape &x = kernel_.values[static_cast<std::size_t>(op.args[0])].shape,
                          &y = kernel_.values[static_cast<std::size_t>(op.args[1])].shape;
        Matrix out(x.rows >= y.rows ? a.rows : b.rows, x.cols >= y.cols ? a.cols : b.cols);
        for (std::int64_t r = 0; r < out.rows; ++r)
            for (std::int64_t c = 0; c < out.cols; ++c)
                out(r, c) = function2(op.kind, a(x.rows == 1 ? 0 : r, x.cols == 1 ? 0 : c), b(y.rows == 1 ? 0 : r, y.cols == 1 ? 0 : c));
        return out;
    }
    static Matrix product(const Matrix& a, const Matrix& b) {
        Matrix out(a.rows, b.cols);
        for (std::int64_t r = 0; r < a.rows; ++r)
            for (std::int64_t k = 0; k < a.cols; ++k)
                for (std::int64_t c = 0; c < b.cols; ++c) out(r, c) += a(r, k) * b(k, c);
        return out;
    }

    const tile::Kernel& kernel_;
    std::vector<std::vector<double>>& tensors_;
    std::vector<std::int64_t> symbols_;
    std::vector<Matrix> values_;
};

bool has_variables(const Region& r) {
    for (const tile::Node& n : r.nodes) {
        if (const auto* op = std::get_if<Op>(&n.node); op && (op->kind == OpKind::set || op->kind == OpKind::get)) return true;
        if (const auto* inner = std::get_if<Region>(&n.node); inner && has_variables(*inner)) return true;
    }
    return false;
}

}  // namespace

void golden(tile::Kernel kernel, const std::map<std::string, std::int64_t>& params, std::vector<std::vector<double>>& tensors) {
    if (has_variables(kernel.body)) tile::to_ssa(kernel);
    Evaluator(kernel, params, tensors).run(kernel.body);
}

}  // namespace sfumato::dsl
