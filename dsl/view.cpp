// SPDX-License-Identifier: Apache-2.0
#include "dsl/view.h"

#include "dsl/trace.h"

namespace sfumato::dsl {

namespace {
tile::View& view_of(std::int32_t id) { return Trace::current().kernel().views[static_cast<std::size_t>(id)]; }

TileView add_view(const Window& w, std::int64_t rows, std::int64_t cols, std::source_location at) {
    Trace& t = Trace::current(at);
    if (rows < 1 || cols < 1)
        t.fail(at, isa::Code::shape,
               "a tile of " + std::to_string(rows) + " x " + std::to_string(cols) + " elements; each extent must be at least 1");
    tile::View v;
    v.tensor = w.tensor;
    v.base = w.base.expr();
    v.pitch = w.pitch.expr();
    v.rows = w.rows.expr();
    v.cols = w.cols.expr();
    v.tile_rows = rows;
    v.tile_cols = cols;
    v.name = t.frame().tensors[static_cast<std::size_t>(w.tensor)].name;
    t.kernel().views.push_back(std::move(v));
    return TileView(static_cast<std::int32_t>(t.kernel().views.size() - 1));
}
}  // namespace

Index Tensor::dim(int rank, int axis, std::source_location at) const {
    Trace& t = Trace::current(at);
    isa::Program& p = t.frame();
    isa::Tensor& tensor = p.tensors[static_cast<std::size_t>(id)];
    if (tensor.dims.empty())
        for (int i = 0; i < rank; ++i) tensor.dims.push_back(p.symbol(p.add_symbol(tensor.name + "." + std::to_string(i), isa::SymbolKind::param)));
    if (tensor.dims.size() != static_cast<std::size_t>(rank))
        t.fail(at, isa::Code::shape,
               "tensor " + tensor.name + " is used with " + std::to_string(rank) + " axes here and with " + std::to_string(tensor.dims.size()) +
                   " before; give tiles() the same number of extents everywhere");
    return Index(tensor.dims[static_cast<std::size_t>(axis)]);
}

Index Tensor::rows(std::source_location at) const { return dim(2, 0, at); }
Index Tensor::cols(std::source_location at) const { return dim(2, 1, at); }
Window Tensor::columns(Index first, Index count, std::source_location at) const { return {id, first, cols(at), rows(at), count}; }

tile::Shape TileRef::shape() const {
    tile::Kernel& k = Trace::current().kernel();
    return tile::tile_shape(k, view_of(view), i, j);
}

isa::DType TileRef::dtype() const { return Trace::current().frame().tensors[static_cast<std::size_t>(view_of(view).tensor)].dtype; }

Index TileView::rows() const { return ceil_div(Index(view_of(view_).rows), Index(view_of(view_).tile_rows)); }
Index TileView::cols() const { return ceil_div(Index(view_of(view_).cols), Index(view_of(view_).tile_cols)); }
TileRef TileView::operator()(Index i, Index j, std::source_location at) const { return {view_, i.expr(), j.expr(), at}; }
TileRef TileView::operator()(Index j, std::source_location at) const { return {view_, Index(0).expr(), j.expr(), at}; }

TileView tiles(const Tensor& t, std::int64_t rows, std::int64_t cols, std::source_location at) {
    return add_view({t.id, 0, t.cols(at), t.rows(at), t.cols(at)}, rows, cols, at);
}
TileView tiles(const Tensor& t, std::int64_t n, std::source_location at) {
    const Index extent = t.dim(1, 0, at);
    return add_view({t.id, 0, extent, 1, extent}, 1, n, at);
}
TileView tiles(const Window& w, std::int64_t rows, std::int64_t cols, std::source_location at) { return add_view(w, rows, cols, at); }

}  // namespace sfumato::dsl
