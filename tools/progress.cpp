// SPDX-License-Identifier: Apache-2.0
#include "tools/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace sfumato::tools {

namespace {
constexpr int kWidth = 40;                            // characters of the bar
constexpr std::chrono::milliseconds kPatience{1000};  // runs shorter than this show nothing
constexpr std::chrono::milliseconds kEvery{100};
}  // namespace

ProgressBar::ProgressBar() : terminal_(::isatty(STDERR_FILENO) == 1), start_(std::chrono::steady_clock::now()), last_(start_) {}

ProgressBar::~ProgressBar() {
    if (drawn_) std::fprintf(stderr, "\r\x1b[K");
}

void ProgressBar::operator()(double share) {
    const auto now = std::chrono::steady_clock::now();
    if (!terminal_ || now - start_ < kPatience || now - last_ < kEvery) return;
    last_ = now;
    drawn_ = true;
    const int full = static_cast<int>(std::clamp(share, 0.0, 1.0) * kWidth);
    const double seconds = std::chrono::duration<double>(now - start_).count();
    std::fprintf(stderr, "\r[%s%s] about %3d %%  %.0f s", std::string(static_cast<std::size_t>(full), '#').c_str(),
                 std::string(static_cast<std::size_t>(kWidth - full), ' ').c_str(), static_cast<int>(std::clamp(share, 0.0, 1.0) * 100), seconds);
    std::fflush(stderr);
}

}  // namespace sfumato::tools
