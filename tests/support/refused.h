// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/command.h"

namespace sfumato::testing {

/// Refused as bad usage: status 2, nothing on stdout, exactly one line on stderr.
inline void refused(const std::string& arguments, const std::string& message) {
    const Outcome o = command(arguments);
    INFO("sfumato " << arguments << "\n" << o.err);
    CHECK(o.status == 2);
    CHECK(o.out.empty());
    CHECK_THAT(o.err, Catch::Contains(message));
    CHECK_THAT(o.err, Catch::StartsWith("error: "));
    CHECK(std::count(o.err.begin(), o.err.end(), '\n') == 1);
}

}  // namespace sfumato::testing
