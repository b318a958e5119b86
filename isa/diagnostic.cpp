// SPDX-License-Identifier: Apache-2.0
#include "isa/diagnostic.h"

#include <algorithm>

namespace sfumato::isa {

namespace {
struct Row {
    std::string_view name, doc;
};
constexpr Row kRows[] = {
#define X(name, doc) {#name, doc},
    SFUMATO_DIAGNOSTICS(X)
#undef X
};

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replace = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}
}  // namespace

std::string_view name(Code c) { return kRows[static_cast<std::size_t>(c)].name; }
std::string_view doc(Code c) { return kRows[static_cast<std::size_t>(c)].doc; }

std::string to_text(const Diagnostic& d) {
    std::string out;
    if (!d.file.empty()) {
        out += d.file + ":" + std::to_string(d.line);
        if (d.column > 0) out += ":" + std::to_string(d.column);
        out += ": ";
    }
    out += d.code == Code::hint ? "hint: " : "error[" + std::string(name(d.code)) + "]: ";
    out += d.message;
    for (const std::string& n : d.notes) out += "\n   " + n;
    return out;
}

std::string to_text(const std::vector<Diagnostic>& list) {
    std::string out;
    for (const Diagnostic& d : list) out += (out.empty() ? "" : "\n") + to_text(d);
    return out;
}

std::string with_separators(std::int64_t v) {
    std::string digits = std::to_string(v < 0 ? -v : v), out;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i && (digits.size() - i) % 3 == 0) out += ',';
        out += digits[i];
    }
    return v < 0 ? "-" + out : out;
}

std::string nearest(std::string_view wanted, const std::vector<std::string>& names) {
    std::string best;
    std::size_t least = std::max<std::size_t>(2, wanted.size() / 2) + 1;
    for (const std::string& n : names) {
        const std::size_t d = edit_distance(wanted, n);
        if (d < least) {
            least = d;
            best = n;
        }
    }
    return best;
}

}  // namespace sfumato::isa
