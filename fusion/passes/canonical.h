// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes that bring exports of different tools to one form. Each keeps values (exactly, except where its row of the table says otherwise).
#include "fusion/pass.h"

namespace sfumato::fusion::canonical {

void infer_dynamic_shapes(PassContext&);
void fold_constants(PassContext&);
void fold_symbols(PassContext&);
void remove_identities(PassContext&);
void remove_casts(PassContext&);
void remove_no_ops(PassContext&);
void merge_common_nodes(PassContext&);
void compose_transposes(PassContext&);
void compose_reshapes(PassContext&);
void sink_flattening(PassContext&);
void merge_slices(PassContext&);
void fold_into_convolutions(PassContext&);
void remove_dead_nodes(PassContext&);

}  // namespace sfumato::fusion::canonical
