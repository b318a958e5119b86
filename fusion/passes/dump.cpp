// SPDX-License-Identifier: Apache-2.0
// Printing. One statement a line:
//   graph "name" {
//     symbol "seq" 1~2048
//     input "x" f32 ["batch", "seq", 32]
//     const "c" i64 [2] {0 -1}
//     value "y" f32 ["batch", "seq", 32]
//     node Add 13 "add_1" ("x", "c") -> ("y") {axis = 1} from ["add_1"]
//     output "y"
//   }
#include "fusion/passes/dump.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "fusion/passes/rewrite.h"

namespace sfumato::fusion {

namespace {

std::string in_quotes(std::string_view s) {
    std::string out = "\"";
    for (const char c : s) {
        if (c == '"' || c == '\\') out += '\\';
        if (c == '\n') out += "\\n";
        else out += c;
    }
    return out + "\"";
}

template <class T>
std::string number(T v) {
    char buffer[48];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, v);
    std::string s(buffer, end.ptr);
    if constexpr (std::is_floating_point_v<T>)
        if (s.find_first_of(".einf") == std::string::npos) s += ".0";
    return s;
}

class Printer {
public:
    Printer(Detail detail, std::string& out) : detail_(detail), out_(out) {}

    void graph(const Graph& g, const std::string& indent) {
        out_ += "graph " + in_quotes(g.name) + " {\n";
        const std::string inner = indent + "  ";
        if (detail_ != Detail::links) {
            symbols(g, inner);
            for (const auto& [key, value] : g.metadata) out_ += inner + "meta " + in_quotes(key) + " " + in_quotes(value) + "\n";
        }
        values(g, inner);
        for (const NodeId id : g.order()) node(g, g.node(id), inner);
        for (const ValueId v : g.outputs()) out_ += inner + "output " + in_quotes(g.value(v).name) + "\n";
        for (const auto& [key, local] : g.captured) out_ += inner + "captured " + in_quotes(key) + " " + in_quotes(g.value(local).name) + "\n";
        out_ += indent + "}";
    }

private:
    Detail detail_;
    std::string& out_;
    bool symbols_done_ = false;

    void symbols(const Graph& g, const std::string& indent) {
        if (std::exchange(symbols_done_, true)) return;  // shared by all graphs of a model
        for (const std::string& name : g.symbols().names()) {
            const Range r = g.symbols().range(name);
            out_ += indent + "symbol " + in_quotes(name) + " " + std::to_string(r.low) + "~" + (r.high == Range::kUnbounded ? "-1" : std::to_string(r.high)) + "\n";
        }
    }

    std::string extents(const Graph& g, const std::vector<Extent>& list) {
        std::string s = "[";
        for (std::size_t i = 0; i < list.size(); ++i) {
            const auto c = list[i].constant();
            s += (i ? ", " : "") + (c ? std::to_string(*c) : in_quotes(g.symbols().to_text(list[i])));
        }
        return s + "]";
    }

    std::string type_and_shape(const Graph& g, const Value& v) {
        std::string s = v.kind == ValueKind::sequence ? "sequence " : v.kind == ValueKind::optional ? "optional " : "";
        s += std::string(name(v.type)) + " " + (v.shape ? extents(g, *v.shape) : "?");
        if (v.content && !v.constant) s += " content " + extents(g, *v.content);
        return s;
    }

    std::string data(const Tensor& t) {
        std::string s = "{";
        const auto list = [&](const auto& values) {
            for (std::size_t i = 0; i < values.size(); ++i) s += (i ? " " : "") + number(values[i]);
        };
        if (const auto* f = std::get_if<std::vector<float>>(&t.data)) list(*f);
        else if (const auto* d = std::get_if<std::vector<double>>(&t.data)) list(*d);
        else if (const auto* n = std::get_if<std::vector<std::int64_t>>(&t.data)) list(*n);
        else
            for (std::size_t i = 0; i < t.strings().size(); ++i) s += (i ? " " : "") + in_quotes(t.strings()[i]);
        return s + "}";
    }
    std::string tensor(const Tensor& t) {
        std::string s = std::string(name(t.type)) + " [";
        for (std::size_t i = 0; i < t.dims.size(); ++i) s += (i ? ", " : "") + std::to_string(t.dims[i]);
        return s + "] " + data(t);
    }

    void values(const Graph& g, const std::string& indent) {
        std::set<ValueId> needed(g.inputs.begin(), g.inputs.end());
        for (const auto& [key, local] : g.captured) needed.insert(local);
        for (const ValueId v : g.outputs()) needed.insert(v);
        for (NodeId id = 0; id < g.node_limit(); ++id) {
            const Node& n = g.node(id);
            if (n.dead) continue;
            for (const auto* list : {&n.inputs, &n.outputs})
                for (const ValueId v : *list)
                    if (v != kNone) needed.insert(v);
            for (const auto& [key, v] : n.captures) needed.insert(v);
        }
        const std::set<ValueId> inputs(g.inputs.begin(), g.inputs.end());
        for (const ValueId v : g.inputs) {
            const Value& value = g.value(v);
            out_ += indent + "input " + in_quotes(value.name) + " " + type_and_shape(g, value);
            if (value.fallback) out_ += " default " + tensor(*value.fallback);
            out_ += "\n";
        }
        if (detail_ == Detail::links) return;
        for (const ValueId id : needed) {
            const Value& v = g.value(id);
            if (inputs.count(id)) continue;
            const bool elided = v.constant && detail_ == Detail::no_data && v.constant->size() > 16;
            if (v.constant && !elided) out_ += indent + "const " + in_quotes(v.name) + " " + tensor(*v.constant) + "\n";
            else out_ += indent + (v.weight || elided ? "weight " : "value ") + in_quotes(v.name) + " " + type_and_shape(g, v) + "\n";
        }
    }

    void attribute(const Attribute& a, const std::string& indent) {
        const auto list = [&](const char* kind, const auto& values, const auto& text) {
            out_ += std::string(kind) + "[";
            for (std::size_t i = 0; i < values.size(); ++i) out_ += (i ? ", " : "") + text(values[i]);
            out_ += "]";
        };
        if (const auto* i = std::get_if<std::int64_t>(&a)) out_ += number(*i);
        else if (const auto* d = std::get_if<double>(&a)) out_ += number(*d);
        else if (const auto* s = std::get_if<std::string>(&a)) out_ += in_quotes(*s);
        else if (const auto* is = std::get_if<std::vector<std::int64_t>>(&a)) list("ints", *is, [](std::int64_t x) { return number(x); });
        else if (const auto* ds = std::get_if<std::vector<double>>(&a)) list("reals", *ds, [](double x) { return number(x); });
        else if (const auto* ss = std::get_if<std::vector<std::string>>(&a)) list("texts", *ss, [](const std::string& x) { return in_quotes(x); });
        else if (const auto* t = std::get_if<TensorPtr>(&a)) out_ += "tensor " + tensor(**t);
        else graph(*std::get<GraphPtr>(a), indent);
    }

    void node(const Graph& g, const Node& n, const std::string& indent) {
        const auto names = [&](const std::vector<ValueId>& list) {
            std::string s = "(";
            for (std::size_t i = 0; i < list.size(); ++i) s += (i ? ", " : "") + (list[i] == kNone ? std::string("-") : in_quotes(g.value(list[i]).name));
            return s + ")";
        };
        out_ += indent + "node " + std::string(name(n.op)) + " " + std::to_string(n.version) + " " + in_quotes(n.name) + " " + names(n.inputs) + " -> " + names(n.outputs);
        if (detail_ == Detail::links) {
            if (n.body) out_ += " # " + n.text("pattern", "") + " of " + std::to_string(n.body->node_count());
            out_ += "\n";
            return;
        }
        out_ += " {";
        bool first = true;
        for (const auto& [key, a] : n.attributes) {
            out_ += (std::exchange(first, false) ? "" : ", ") + key + " = ";
            attribute(a, indent);
        }
        out_ += "}";
        if (!n.captures.empty()) {
            out_ += " captures (";
            for (std::size_t i = 0; i < n.captures.size(); ++i) out_ += (i ? ", " : "") + in_quotes(n.captures[i].first) + " = " + in_quotes(g.value(n.captures[i].second).name);
            out_ += ")";
        }
        out_ += " from [";
        for (std::size_t i = 0; i < n.origins.size(); ++i) out_ += (i ? ", " : "") + in_quotes(n.origins[i]);
        out_ += "]";
        if (n.body) {
            out_ += " body ";
            graph(*n.body, indent);
        }
        out_ += "\n";
    }
};

}  // namespace

std::string to_text(const Graph& g, Detail detail) {
    std::string out;
    Printer(detail, out).graph(g, "");
    return out + "\n";
}

}  // namespace sfumato::fusion
