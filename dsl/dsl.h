// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one include of a kernel author.
#include "dsl/compile.h"
#include "dsl/golden.h"
#include "dsl/index.h"
#include "dsl/loops.h"
#include "dsl/math.h"
#include "dsl/motion.h"
#include "dsl/storage.h"
#include "dsl/types.h"
#include "dsl/view.h"
