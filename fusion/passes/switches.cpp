// SPDX-License-Identifier: Apache-2.0
// Switch files in their four forms, told apart by content:
//   [fusion_switch]              [OP_FUSION]                        {"Switch": {"GraphFusion": {"ALL": "off", "XPass": "on"}},     XPass:off
//   enable_fusion=1              fusion_op_type = A, B               "Priority": {"XPass": 100}}                                   YPass:on
//   fusion_level=3
#include <algorithm>
#include <charconv>
#include <functional>
#include <set>

#include <nlohmann/json.hpp>

#include "fusion/pass.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

using isa::InputError;

namespace {

std::string trimmed(std::string_view s) {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
    return std::string(s);
}

struct Line {
    int number;
    std::string text;
};

struct Reader {
    const std::string& file;
    Switches& into;
    std::set<std::string> seen;  // keys of this file

    std::string at(int line) const { return file + ":" + std::to_string(line); }
    [[noreturn]] void fail(int line, const std::string& key, const std::string& what) const { throw InputError(at(line) + ": " + key + ": " + what); }

    void once(int line, const std::string& key) {
        if (!seen.insert(key).second) fail(line, key, "stands twice in this file");
    }

    void known_pass(int line, const std::string& name) const {
        std::vector<std::string> names{"ALL"};
        for (const PassRow& row : pass_table()) names.push_back(row.name);
        if (std::find(names.begin(), names.end(), name) != names.end()) return;
        const std::string near = isa::nearest(name, names);
        fail(line, name, "no such pass" + (near.empty() ? "" : "; did you mean " + near + "?") + " (sfumato fuse --list-passes shows all)");
    }

    void set_pass(int line, const std::string& name, const std::string& value) {
        known_pass(line, name);
        once(line, name);
        if (value != "on" && value != "off") fail(line, name, "the value is '" + value + "', allowed are on and off");
        into.passes[name] = {value == "on", at(line)};
    }

    int number(int line, const std::string& key, const std::string& value, int low, int high) const {
        int n = 0;
        const auto end = std::from_chars(value.data(), value.data() + value.size(), n);
        if (end.ec != std::errc() || end.ptr != value.data() + value.size() || n < low || n > high)
            fail(line, key, "the value is '" + value + "', allowed are " + std::to_string(low) + " to " + std::to_string(high));
        return n;
    }

    void switch_key(int line, const std::string& key, const std::string& value) {
        once(line, key);
        if (key == "enable_fusion") into.enabled = number(line, key, value, 0, 1) == 1;
        else if (key == "fusion_level") into.level = number(line, key, value, 0, 3);
        else {
            const std::string near = isa::nearest(key, {"enable_fusion", "fusion_level"});
            fail(line, key, "no such key" + (near.empty() ? std::string() : "; did you mean " + near + "?") + "; [fusion_switch] has enable_fusion and fusion_level");
        }
    }

    void op_list(int line, const std::string& key, const std::string& value) {
        if (key != "fusion_op_type") fail(line, key, "no such key; [OP_FUSION] has fusion_op_type");
        once(line, key);
        std::set<std::string> ops;
        for (std::size_t from = 0; from <= value.size();) {
            const std::size_t comma = std::min(value.find(',', from), value.size());
            const std::string op = trimmed(std::string_view(value).substr(from, comma - from));
            from = comma + 1;
            if (op.empty() && value.empty()) break;
            const auto& known = fused_operators();
            if (std::find(known.begin(), known.end(), op) == known.end()) {
                const std::string near = isa::nearest(op, known);
                fail(line, key, "no fused operator is called '" + op + "'" + (near.empty() ? "" : "; did you mean " + near + "?"));
            }
            if (!ops.insert(op).second) fail(line, key, op + " stands twice in the list");
        }
        into.allowed_ops = std::move(ops);
    }

    void ini(const std::vector<Line>& lines) {
        std::string section;
        for (const Line& l : lines) {
            if (l.text.front() == '[') {
                section = l.text.back() == ']' ? trimmed(std::string_view(l.text).substr(1, l.text.size() - 2)) : "";
                if (section != "fusion_switch" && section != "OP_FUSION") fail(l.number, l.text, "sections are [fusion_switch] and [OP_FUSION]");
                once(l.number, l.text);
                continue;
            }
            const std::size_t equals = l.text.find('=');
            if (equals == std::string::npos) fail(l.number, l.text, "expected key = value");
            const std::string key = trimmed(std::string_view(l.text).substr(0, equals)), value = trimmed(std::string_view(l.text).substr(equals + 1));
            if (section.empty()) fail(l.number, key, "stands before any section; sections are [fusion_switch] and [OP_FUSION]");
            if (section == "fusion_switch") switch_key(l.number, key, value);
            else op_list(l.number, key, value);
        }
    }

    void colon_lines(const std::vector<Line>& lines) {
        for (const Line& l : lines) {
            const std::size_t colon = l.text.find(':');
            if (colon == std::string::npos) fail(l.number, l.text, "expected PassName:on or PassName:off");
            set_pass(l.number, trimmed(std::string_view(l.text).substr(0, colon)), trimmed(std::string_view(l.text).substr(colon + 1)));
        }
    }

    void json(const std::string& text);
};

using Json = nlohmann::json;

// The library forgets where a key stood and keeps the last of two equal ones: this reader walks the events, counting lines itself.
struct Events : nlohmann::json_sax<Json> {
    using Put = std::function<void(const std::vector<std::string>& path, const std::string& value, bool is_text)>;
    using Key = std::function<void(const std::vector<std::string>& path)>;
    using Bad = std::function<void(std::size_t position, const std::string& what)>;
    Put put;
    Key on_key;
    Bad bad;
    std::vector<std::string> path;
    std::string last;
    int arrays = 0;

    bool scalar(const std::string& text, bool is_text) {
        auto full = path;
        full.push_back(last);
        put(full, arrays ? "a list" : text, is_text && arrays == 0);
        return true;
    }
    bool null() override { return scalar("null", false); }
    bool boolean(bool b) override { return scalar(b ? "true" : "false", false); }
    bool number_integer(number_integer_t n) override { return scalar(std::to_string(n), false); }
    bool number_unsigned(number_unsigned_t n) override { return scalar(std::to_string(n), false); }
    bool number_float(number_float_t, const string_t& s) override { return scalar(s, false); }
    bool string(string_t& s) override { return scalar(s, true); }
    bool binary(binary_t&) override { return scalar("bytes", false); }
    bool start_object(std::size_t) override {
        path.push_back(last);
        last.clear();
        return true;
    }
    bool end_object() override {
        last.clear();
        path.pop_back();
        return true;
    }
    bool key(string_t& s) override {
        last = s;
        auto full = path;
        full.push_back(last);
        on_key(full);
        return true;
    }
    bool start_array(std::size_t) override {
        ++arrays;
        return true;
    }
    bool end_array() override {
        --arrays;
        return true;
    }
    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
        bad(position, e.what());
        return false;
    }
};

// Finds the n-th place of a quoted key, which gives its line.
struct KeyLines {
    const std::string& text;
    std::map<std::string, std::size_t> next;
    int line(const std::string& key) {
        const std::string quoted = "\"" + key + "\"";
        std::size_t at = text.find(quoted, next[key]);
        while (at != std::string::npos) {  // only where it is a key
            std::size_t after = at + quoted.size();
            while (after < text.size() && std::isspace(static_cast<unsigned char>(text[after]))) ++after;
            if (after < text.size() && text[after] == ':') break;
            at = text.find(quoted, at + 1);
        }
        if (at == std::string::npos) at = 0;  // an escaped key
        next[key] = at + 1;
        return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    }
};

void Reader::json(const std::string& text) {
    KeyLines lines{text, {}};
    int line = 1;
    std::set<std::vector<std::string>> paths;
    const auto joined = [](const std::vector<std::string>& path) {
        std::string out;
        for (const std::string& p : path)
            if (!p.empty()) out += (out.empty() ? "" : ".") + p;
        return out;
    };
    Events events;
    events.on_key = [&](const std::vector<std::string>& path) {
        line = lines.line(path.back());
        if (!paths.insert(path).second) fail(line, joined(path), "stands twice in this file");
        const std::string& top = path.size() > 1 ? path[1] : path[0];
        if (top != "Switch" && top != "Priority") fail(line, joined(path), "the file has Switch and Priority");
        if (top == "Switch" && path.size() == 3 && path[2] != "GraphFusion" && path[2] != "UBFusion") fail(line, joined(path), "Switch has GraphFusion and UBFusion");
    };
    events.put = [&](const std::vector<std::string>& path, const std::string& value, bool is_text) {
        // path[0] is the outermost object
        if (path.size() < 2) fail(line, "file", "expected an object with Switch and Priority");
        if (path[1] == "Switch") {
            if (path.size() != 4) fail(line, joined(path), "expected \"Switch\": {\"GraphFusion\": {\"PassName\": \"on\"}}");
            if (!is_text) fail(line, joined(path), "the value is " + value + ", allowed are \"on\" and \"off\"");
            if (seen.count(path[3]) && path[3] == "ALL") {  // one ALL for each of the two kinds: off wins
                if (value == "off") into.passes["ALL"] = {false, at(line)};
                return;
            }
            set_pass(line, path[3], value);
            return;
        }
        if (path.size() < 3) fail(line, joined(path), "expected \"Priority\": {\"PassName\": 100}");
        const std::string& pass = path.back();
        known_pass(line, pass);
        into.priorities[pass] = number(line, joined(path), value, 0, 1 << 20);
    };
    events.bad = [&](std::size_t position, const std::string& what) {
        const auto until = text.begin() + static_cast<std::ptrdiff_t>(std::min(position, text.size()));
        fail(1 + static_cast<int>(std::count(text.begin(), until, '\n')), "JSON", what);
    };
    Json::sax_parse(text, &events);
}

}  // namespace

void read_switches(const std::string& raw, const std::string& file, Switches& into) {
    std::string text = raw.starts_with("\xEF\xBB\xBF") ? raw.substr(3) : raw;
    if (text.find('\0') != std::string::npos) throw InputError(file + ": not a text file");
    std::vector<Line> lines;
    int number = 0;
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t end = std::min(text.find('\n', from), text.size());
        std::string line = trimmed(std::string_view(text).substr(from, end - from));
        ++number;
        if (!line.empty() && line[0] != '#' && line[0] != ';') lines.push_back({number, std::move(line)});
        from = end + 1;
    }
    if (lines.empty()) return;  // an empty file switches nothing
    Switches changed = into;    // nothing is half applied
    Reader reader{file, changed, {}};
    const char first = lines[0].text[0];
    if (first == '{') reader.json(text);
    else if (first == '[' || lines[0].text.find('=') != std::string::npos) reader.ini(lines);
    else reader.colon_lines(lines);
    into = std::move(changed);
}

}  // namespace sfumato::fusion
