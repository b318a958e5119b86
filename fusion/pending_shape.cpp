// SPDX-License-Identifier: Apache-2.0
// Rules that are not written yet: delete a line when its rule is.
#include "fusion/rules.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

void shape_same(ShapeContext&) { throw isa::InternalError("shape rule same is not written"); }
void shape_predicate(ShapeContext&) { throw isa::InternalError("shape rule predicate is not written"); }
void shape_identity(ShapeContext&) { throw isa::InternalError("shape rule identity is not written"); }
void shape_cast(ShapeContext&) { throw isa::InternalError("shape rule cast is not written"); }
void shape_dropout(ShapeContext&) { throw isa::InternalError("shape rule dropout is not written"); }
void shape_quantize(ShapeContext&) { throw isa::InternalError("shape rule quantize is not written"); }
void shape_dequantize(ShapeContext&) { throw isa::InternalError("shape rule dequantize is not written"); }
void shape_broadcast(ShapeContext&) { throw isa::InternalError("shape rule broadcast is not written"); }
void shape_compare(ShapeContext&) { throw isa::InternalError("shape rule compare is not written"); }
void shape_where(ShapeContext&) { throw isa::InternalError("shape rule where is not written"); }
void shape_reduce(ShapeContext&) { throw isa::InternalError("shape rule reduce is not written"); }
void shape_arg_reduce(ShapeContext&) { throw isa::InternalError("shape rule arg_reduce is not written"); }
void shape_layer_norm(ShapeContext&) { throw isa::InternalError("shape rule layer_norm is not written"); }
void shape_batch_norm(ShapeContext&) { throw isa::InternalError("shape rule batch_norm is not written"); }
void shape_global_pool(ShapeContext&) { throw isa::InternalError("shape rule global_pool is not written"); }
void shape_matmul(ShapeContext&) { throw isa::InternalError("shape rule matmul is not written"); }
void shape_gemm(ShapeContext&) { throw isa::InternalError("shape rule gemm is not written"); }
void shape_conv(ShapeContext&) { throw isa::InternalError("shape rule conv is not written"); }
void shape_conv_transpose(ShapeContext&) { throw isa::InternalError("shape rule conv_transpose is not written"); }
void shape_einsum(ShapeContext&) { throw isa::InternalError("shape rule einsum is not written"); }
void shape_pool(ShapeContext&) { throw isa::InternalError("shape rule pool is not written"); }
void shape_opaque(ShapeContext&) { throw isa::InternalError("shape rule opaque is not written"); }
void shape_reshape(ShapeContext&) { throw isa::InternalError("shape rule reshape is not written"); }
void shape_flatten(ShapeContext&) { throw isa::InternalError("shape rule flatten is not written"); }
void shape_squeeze(ShapeContext&) { throw isa::InternalError("shape rule squeeze is not written"); }
void shape_unsqueeze(ShapeContext&) { throw isa::InternalError("shape rule unsqueeze is not written"); }
void shape_transpose(ShapeContext&) { throw isa::InternalError("shape rule transpose is not written"); }
void shape_expand(ShapeContext&) { throw isa::InternalError("shape rule expand is not written"); }
void shape_tile(ShapeContext&) { throw isa::InternalError("shape rule tile is not written"); }
void shape_concat(ShapeContext&) { throw isa::InternalError("shape rule concat is not written"); }
void shape_split(ShapeContext&) { throw isa::InternalError("shape rule split is not written"); }
void shape_slice(ShapeContext&) { throw isa::InternalError("shape rule slice is not written"); }
void shape_pad(ShapeContext&) { throw isa::InternalError("shape rule pad is not written"); }
void shape_gather(ShapeContext&) { throw isa::InternalError("shape rule gather is not written"); }
void shape_gather_elements(ShapeContext&) { throw isa::InternalError("shape rule gather_elements is not written"); }
void shape_gather_nd(ShapeContext&) { throw isa::InternalError("shape rule gather_nd is not written"); }
void shape_depth_to_space(ShapeContext&) { throw isa::InternalError("shape rule depth_to_space is not written"); }
void shape_space_to_depth(ShapeContext&) { throw isa::InternalError("shape rule space_to_depth is not written"); }
void shape_resize(ShapeContext&) { throw isa::InternalError("shape rule resize is not written"); }
void shape_grid_sample(ShapeContext&) { throw isa::InternalError("shape rule grid_sample is not written"); }
void shape_compress(ShapeContext&) { throw isa::InternalError("shape rule compress is not written"); }
void shape_one_hot(ShapeContext&) { throw isa::InternalError("shape rule one_hot is not written"); }
void shape_eye_like(ShapeContext&) { throw isa::InternalError("shape rule eye_like is not written"); }
void shape_shape_of(ShapeContext&) { throw isa::InternalError("shape rule shape_of is not written"); }
void shape_size(ShapeContext&) { throw isa::InternalError("shape rule size is not written"); }
void shape_constant(ShapeContext&) { throw isa::InternalError("shape rule constant is not written"); }
void shape_constant_of_shape(ShapeContext&) { throw isa::InternalError("shape rule constant_of_shape is not written"); }
void shape_range(ShapeContext&) { throw isa::InternalError("shape rule range is not written"); }
void shape_top_k(ShapeContext&) { throw isa::InternalError("shape rule top_k is not written"); }
void shape_non_zero(ShapeContext&) { throw isa::InternalError("shape rule non_zero is not written"); }
void shape_unique(ShapeContext&) { throw isa::InternalError("shape rule unique is not written"); }
void shape_non_max_suppression(ShapeContext&) { throw isa::InternalError("shape rule non_max_suppression is not written"); }
void shape_recurrent(ShapeContext&) { throw isa::InternalError("shape rule recurrent is not written"); }
void shape_if(ShapeContext&) { throw isa::InternalError("shape rule if is not written"); }
void shape_loop(ShapeContext&) { throw isa::InternalError("shape rule loop is not written"); }
void shape_scan(ShapeContext&) { throw isa::InternalError("shape rule scan is not written"); }
void shape_loss(ShapeContext&) { throw isa::InternalError("shape rule loss is not written"); }
void shape_dynamic_quantize(ShapeContext&) { throw isa::InternalError("shape rule dynamic_quantize is not written"); }
void shape_body(ShapeContext&) { throw isa::InternalError("shape rule body is not written"); }

}  // namespace sfumato::fusion
