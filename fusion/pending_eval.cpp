// SPDX-License-Identifier: Apache-2.0
// Rules that are not written yet: delete a line when its rule is.
#include "fusion/rules.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

void eval_unary(EvalContext&) { throw isa::InternalError("eval rule unary is not written"); }
void eval_identity(EvalContext&) { throw isa::InternalError("eval rule identity is not written"); }
void eval_cast(EvalContext&) { throw isa::InternalError("eval rule cast is not written"); }
void eval_clip(EvalContext&) { throw isa::InternalError("eval rule clip is not written"); }
void eval_dropout(EvalContext&) { throw isa::InternalError("eval rule dropout is not written"); }
void eval_quantize(EvalContext&) { throw isa::InternalError("eval rule quantize is not written"); }
void eval_binary(EvalContext&) { throw isa::InternalError("eval rule binary is not written"); }
void eval_variadic(EvalContext&) { throw isa::InternalError("eval rule variadic is not written"); }
void eval_where(EvalContext&) { throw isa::InternalError("eval rule where is not written"); }
void eval_reduce(EvalContext&) { throw isa::InternalError("eval rule reduce is not written"); }
void eval_arg_reduce(EvalContext&) { throw isa::InternalError("eval rule arg_reduce is not written"); }
void eval_softmax(EvalContext&) { throw isa::InternalError("eval rule softmax is not written"); }
void eval_layer_norm(EvalContext&) { throw isa::InternalError("eval rule layer_norm is not written"); }
void eval_group_norm(EvalContext&) { throw isa::InternalError("eval rule group_norm is not written"); }
void eval_instance_norm(EvalContext&) { throw isa::InternalError("eval rule instance_norm is not written"); }
void eval_batch_norm(EvalContext&) { throw isa::InternalError("eval rule batch_norm is not written"); }
void eval_mean_variance_norm(EvalContext&) { throw isa::InternalError("eval rule mean_variance_norm is not written"); }
void eval_lp_norm(EvalContext&) { throw isa::InternalError("eval rule lp_norm is not written"); }
void eval_lrn(EvalContext&) { throw isa::InternalError("eval rule lrn is not written"); }
void eval_cumsum(EvalContext&) { throw isa::InternalError("eval rule cumsum is not written"); }
void eval_global_pool(EvalContext&) { throw isa::InternalError("eval rule global_pool is not written"); }
void eval_matmul(EvalContext&) { throw isa::InternalError("eval rule matmul is not written"); }
void eval_gemm(EvalContext&) { throw isa::InternalError("eval rule gemm is not written"); }
void eval_matmul_integer(EvalContext&) { throw isa::InternalError("eval rule matmul_integer is not written"); }
void eval_qlinear_matmul(EvalContext&) { throw isa::InternalError("eval rule qlinear_matmul is not written"); }
void eval_conv(EvalContext&) { throw isa::InternalError("eval rule conv is not written"); }
void eval_conv_integer(EvalContext&) { throw isa::InternalError("eval rule conv_integer is not written"); }
void eval_qlinear_conv(EvalContext&) { throw isa::InternalError("eval rule qlinear_conv is not written"); }
void eval_conv_transpose(EvalContext&) { throw isa::InternalError("eval rule conv_transpose is not written"); }
void eval_einsum(EvalContext&) { throw isa::InternalError("eval rule einsum is not written"); }
void eval_pool(EvalContext&) { throw isa::InternalError("eval rule pool is not written"); }
void eval_max_unpool(EvalContext&) { throw isa::InternalError("eval rule max_unpool is not written"); }
void eval_roi_align(EvalContext&) { throw isa::InternalError("eval rule roi_align is not written"); }
void eval_unsupported(EvalContext&) { throw isa::InternalError("eval rule unsupported is not written"); }
void eval_reshape(EvalContext&) { throw isa::InternalError("eval rule reshape is not written"); }
void eval_transpose(EvalContext&) { throw isa::InternalError("eval rule transpose is not written"); }
void eval_expand(EvalContext&) { throw isa::InternalError("eval rule expand is not written"); }
void eval_tile(EvalContext&) { throw isa::InternalError("eval rule tile is not written"); }
void eval_concat(EvalContext&) { throw isa::InternalError("eval rule concat is not written"); }
void eval_split(EvalContext&) { throw isa::InternalError("eval rule split is not written"); }
void eval_slice(EvalContext&) { throw isa::InternalError("eval rule slice is not written"); }
void eval_pad(EvalContext&) { throw isa::InternalError("eval rule pad is not written"); }
void eval_gather(EvalContext&) { throw isa::InternalError("eval rule gather is not written"); }
void eval_gather_elements(EvalContext&) { throw isa::InternalError("eval rule gather_elements is not written"); }
void eval_gather_nd(EvalContext&) { throw isa::InternalError("eval rule gather_nd is not written"); }
void eval_scatter_elements(EvalContext&) { throw isa::InternalError("eval rule scatter_elements is not written"); }
void eval_scatter_nd(EvalContext&) { throw isa::InternalError("eval rule scatter_nd is not written"); }
void eval_depth_to_space(EvalContext&) { throw isa::InternalError("eval rule depth_to_space is not written"); }
void eval_space_to_depth(EvalContext&) { throw isa::InternalError("eval rule space_to_depth is not written"); }
void eval_reverse_sequence(EvalContext&) { throw isa::InternalError("eval rule reverse_sequence is not written"); }
void eval_trilu(EvalContext&) { throw isa::InternalError("eval rule trilu is not written"); }
void eval_resize(EvalContext&) { throw isa::InternalError("eval rule resize is not written"); }
void eval_grid_sample(EvalContext&) { throw isa::InternalError("eval rule grid_sample is not written"); }
void eval_compress(EvalContext&) { throw isa::InternalError("eval rule compress is not written"); }
void eval_one_hot(EvalContext&) { throw isa::InternalError("eval rule one_hot is not written"); }
void eval_eye_like(EvalContext&) { throw isa::InternalError("eval rule eye_like is not written"); }
void eval_shape_of(EvalContext&) { throw isa::InternalError("eval rule shape_of is not written"); }
void eval_constant(EvalContext&) { throw isa::InternalError("eval rule constant is not written"); }
void eval_constant_of_shape(EvalContext&) { throw isa::InternalError("eval rule constant_of_shape is not written"); }
void eval_range(EvalContext&) { throw isa::InternalError("eval rule range is not written"); }
void eval_top_k(EvalContext&) { throw isa::InternalError("eval rule top_k is not written"); }
void eval_non_zero(EvalContext&) { throw isa::InternalError("eval rule non_zero is not written"); }
void eval_unique(EvalContext&) { throw isa::InternalError("eval rule unique is not written"); }
void eval_non_max_suppression(EvalContext&) { throw isa::InternalError("eval rule non_max_suppression is not written"); }
void eval_det(EvalContext&) { throw isa::InternalError("eval rule det is not written"); }
void eval_lstm(EvalContext&) { throw isa::InternalError("eval rule lstm is not written"); }
void eval_gru(EvalContext&) { throw isa::InternalError("eval rule gru is not written"); }
void eval_rnn(EvalContext&) { throw isa::InternalError("eval rule rnn is not written"); }
void eval_if(EvalContext&) { throw isa::InternalError("eval rule if is not written"); }
void eval_loop(EvalContext&) { throw isa::InternalError("eval rule loop is not written"); }
void eval_scan(EvalContext&) { throw isa::InternalError("eval rule scan is not written"); }
void eval_sequence(EvalContext&) { throw isa::InternalError("eval rule sequence is not written"); }
void eval_sequence_map(EvalContext&) { throw isa::InternalError("eval rule sequence_map is not written"); }
void eval_optional(EvalContext&) { throw isa::InternalError("eval rule optional is not written"); }
void eval_nll_loss(EvalContext&) { throw isa::InternalError("eval rule nll_loss is not written"); }
void eval_cross_entropy_loss(EvalContext&) { throw isa::InternalError("eval rule cross_entropy_loss is not written"); }
void eval_dynamic_quantize(EvalContext&) { throw isa::InternalError("eval rule dynamic_quantize is not written"); }
void eval_window(EvalContext&) { throw isa::InternalError("eval rule window is not written"); }
void eval_mel_weight_matrix(EvalContext&) { throw isa::InternalError("eval rule mel_weight_matrix is not written"); }
void eval_dft(EvalContext&) { throw isa::InternalError("eval rule dft is not written"); }
void eval_stft(EvalContext&) { throw isa::InternalError("eval rule stft is not written"); }
void eval_string_normalizer(EvalContext&) { throw isa::InternalError("eval rule string_normalizer is not written"); }
void eval_tf_idf(EvalContext&) { throw isa::InternalError("eval rule tf_idf is not written"); }
void eval_random(EvalContext&) { throw isa::InternalError("eval rule random is not written"); }
void eval_body(EvalContext&) { throw isa::InternalError("eval rule body is not written"); }

}  // namespace sfumato::fusion
