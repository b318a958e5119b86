// SPDX-License-Identifier: Apache-2.0
#include "isa/installed_chips.h"

// Alone in its file, so that the linker leaves it out when the program brings its own definition.
const char* sfumato::isa::installed_chips() { return ""; }
