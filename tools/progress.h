// SPDX-License-Identifier: Apache-2.0
#pragma once
// A bar on stderr for runs that take longer than a moment, and only when somebody watches: stderr is a terminal.
#include <chrono>

namespace sfumato::tools {

class ProgressBar {
public:
    ProgressBar();
    ~ProgressBar();  ///< wipes the bar
    void operator()(double share);

private:
    bool terminal_ = false, drawn_ = false;
    std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace sfumato::tools
