// SPDX-License-Identifier: Apache-2.0
#include "tools/text_table.h"

#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace sfumato::tools {

std::string joined(const std::vector<std::string>& list) {
    std::string out;
    for (const std::string& s : list) out += (out.empty() ? "" : ", ") + s;
    return out;
}

std::string table(const Rows& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (widths.size() <= i) widths.push_back(0);
            widths[i] = std::max(widths[i], row[i].size());
        }
    std::string out;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            out += row[i];
            if (i + 1 < row.size()) out.append(widths[i] - row[i].size() + 2, ' ');
        }
        out += '\n';
    }
    return out;
}

std::string markdown(const Rows& rows) {
    std::string out;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        for (const std::string& cell : rows[r]) out += "| " + cell + " ";
        out += "|\n";
        if (r > 0) continue;
        for (std::size_t i = 0; i < rows[r].size(); ++i) out += "|---";
        out += "|\n";
    }
    return out;
}

std::string objects(const char* key, const Rows& rows) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (std::size_t r = 1; r < rows.size(); ++r) {
        nlohmann::ordered_json row;
        for (std::size_t i = 0; i < rows[r].size(); ++i) row[rows[0][i]] = rows[r][i];
        list.push_back(std::move(row));
    }
    return nlohmann::ordered_json{{key, list}}.dump(2) + "\n";
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace sfumato::tools
