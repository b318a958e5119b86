// SPDX-License-Identifier: Apache-2.0
// Tables of measurements: comma separated, quoted cells may hold commas, quotes and line breaks.
#include <cstdio>
#include <cstdlib>

#include "isa/diagnostic.h"
#include "lab/validate.h"

namespace sfumato::lab {

namespace {

struct Record {
    std::vector<std::string> cells;
    int line = 1;
};

std::vector<Record> records_of(const std::string& text, const std::string& origin) {
    std::vector<Record> out;
    Record record;
    std::string cell;
    bool quoted = false, any = false;
    int line = 1;
    const auto end_record = [&] {
        record.cells.push_back(cell);
        if (any) out.push_back(record);
        record = {{}, line + 1};
        cell.clear();
        any = false;
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c == '"' && i + 1 < text.size() && text[i + 1] == '"')
                cell += text[++i];
            else if (c == '"')
                quoted = false;
            else
                cell += c;
        } else if (c == '"') {
            quoted = any = true;
        } else if (c == ',') {
            record.cells.push_back(cell);
            cell.clear();
            any = true;
        } else if (c == '\n') {
            end_record();
        } else if (c != '\r') {
            cell += c;
            any = true;
        }
        if (c == '\n') ++line;
    }
    if (quoted) throw isa::InputError(origin + ":" + std::to_string(record.line) + ": a quoted cell is not closed");
    end_record();
    return out;
}

struct Column {
    const char* name;
    std::string MeasuredRow::*member;
};
constexpr Column kColumns[] = {
    {"id", &MeasuredRow::id},         {"soc", &MeasuredRow::soc},       {"kernel", &MeasuredRow::kernel},         {"shape", &MeasuredRow::shape},
    {"dtype", &MeasuredRow::dtype},   {"tiling", &MeasuredRow::tiling}, {"metric", &MeasuredRow::metric},         {"unit", &MeasuredRow::unit},
    {"source", &MeasuredRow::source}, {"notes", &MeasuredRow::notes},   {"confidence", &MeasuredRow::confidence}, {"family", &MeasuredRow::family}};

}  // namespace

std::string hash_of(const std::vector<MeasuredRow>& rows) {
    std::uint64_t h = 14695981039346656037u;  // FNV-1a, 64 bit
    const auto eat = [&](const std::string& s) {
        for (const char c : s + ";") h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    };
    char text[40];
    for (const MeasuredRow& r : rows) {
        for (const Column& c : kColumns) eat(r.*(c.member));
        std::snprintf(text, sizeof text, "%.17g", r.value);
        eat(text);
    }
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(h));
    return text;
}

std::vector<MeasuredRow> parse_rows(const std::string& csv, const std::string& origin) {
    const std::vector<Record> records = records_of(csv, origin);
    if (records.empty()) throw isa::InputError(origin + ": no rows; the first line names the columns id, soc, kernel, ..., value, ..., family");
    std::map<std::string, std::size_t> at;
    for (std::size_t i = 0; i < records[0].cells.size(); ++i) at[records[0].cells[i]] = i;
    std::vector<std::string> names{"value"};
    for (const Column& c : kColumns) names.push_back(c.name);
    for (const std::string& n : names) {
        if (at.count(n) > 0) continue;
        std::vector<std::string> found;
        for (const auto& [k, unused] : at) found.push_back(k);
        const std::string near = isa::nearest(n, found);
        throw isa::InputError(origin + ":1: column '" + n + "' is missing" + (near.empty() ? "" : "; is it '" + near + "'?"));
    }
    std::vector<MeasuredRow> out;
    for (std::size_t i = 1; i < records.size(); ++i) {
        const Record& r = records[i];
        const std::string where = origin + ":" + std::to_string(r.line) + ": ";
        if (r.cells.size() != records[0].cells.size()) {
            throw isa::InputError(where + "found " + std::to_string(r.cells.size()) + " cells, the first line has " +
                                  std::to_string(records[0].cells.size()));
        }
        MeasuredRow row;
        for (const Column& c : kColumns) row.*(c.member) = r.cells[at[c.name]];
        const std::string& value = r.cells[at["value"]];
        char* end = nullptr;
        row.value = std::strtod(value.c_str(), &end);
        if (value.empty() || *end != 0) throw isa::InputError(where + "value '" + value + "' is not a number");
        out.push_back(row);
    }
    return out;
}

}  // namespace sfumato::lab
