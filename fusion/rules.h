// SPDX-License-Identifier: Apache-2.0
#pragma once
// Declares the rule functions that operators.def names; they are defined in fusion/shape/ and fusion/eval/.
#include "fusion/operators.h"

namespace sfumato::fusion {

#define OP(name, first, last, imin, imax, omin, omax, kind, shape, evaluate) \
    void shape_##shape(ShapeContext&);                                       \
    void eval_##evaluate(EvalContext&);
#include "fusion/operators.def"

}  // namespace sfumato::fusion
