// SPDX-License-Identifier: Apache-2.0
// Rules that are not written yet: delete a line when its rule is.
#include "fusion/rules.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

void eval_resize(EvalContext&) { throw isa::InternalError("eval rule resize is not written"); }
void eval_grid_sample(EvalContext&) { throw isa::InternalError("eval rule grid_sample is not written"); }
void eval_nll_loss(EvalContext&) { throw isa::InternalError("eval rule nll_loss is not written"); }
void eval_cross_entropy_loss(EvalContext&) { throw isa::InternalError("eval rule cross_entropy_loss is not written"); }
void eval_window(EvalContext&) { throw isa::InternalError("eval rule window is not written"); }
void eval_mel_weight_matrix(EvalContext&) { throw isa::InternalError("eval rule mel_weight_matrix is not written"); }
void eval_dft(EvalContext&) { throw isa::InternalError("eval rule dft is not written"); }
void eval_stft(EvalContext&) { throw isa::InternalError("eval rule stft is not written"); }
void eval_string_normalizer(EvalContext&) { throw isa::InternalError("eval rule string_normalizer is not written"); }
void eval_tf_idf(EvalContext&) { throw isa::InternalError("eval rule tf_idf is not written"); }

}  // namespace sfumato::fusion
