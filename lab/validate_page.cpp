// SPDX-License-Identifier: Apache-2.0
#include "lab/validate.h"
namespace sfumato::lab {
std::string validation_page(const Validation&) { return ""; }
}  // namespace sfumato::lab
