// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cctype>

#include "fusion/passes/dump.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

namespace {

constexpr int kDeepest = 64;  // graphs within graphs

class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    Graph top() {
        const auto symbols = std::make_shared<Symbols>();
        Graph g = graph(symbols, 0);
        skip();
        if (at_ < text_.size()) fail("text behind the graph");
        return g;
    }

private:
    std::string_view text_;
    std::size_t at_ = 0;

    [[noreturn]] void fail(const std::string& what) const {
        const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())), '\n');
        throw isa::InputError("graph text, line " + std::to_string(line) + ": " + what);
    }
    void skip() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    }
    bool take(std::string_view s) {
        skip();
        if (text_.substr(at_, s.size()) != s) return false;
        at_ += s.size();
        return true;
    }
    void expect(std::string_view s) {
        if (!take(s)) fail("expected " + std::string(s));
    }
    std::string word() {
        skip();
        const std::size_t from = at_;
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' || text_[at_] == '.')) ++at_;
        if (from == at_) fail("expected a word");
        return std::string(text_.substr(from, at_ - from));
    }
    bool peek(char c) {
        skip();
        return at_ < text_.size() && text_[at_] == c;
    }
    std::string quoted() {
        expect("\"");
        std::string s;
        for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
                ++at_;
                s += text_[at_] == 'n' ? '\n' : text_[at_];
            } else {
                s += text_[at_];
            }
        }
        expect("\"");
        return s;
    }
    template <class T>
    T number() {
        skip();
        T v{};
        const auto end = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
        if (end.ec != std::errc()) fail("expected a number");
        at_ = static_cast<std::size_t>(end.ptr - text_.data());
        return v;
    }
    template <class Item>
    void list(std::string_view open, std::string_view close, Item item) {
        expect(open);
        if (take(close)) return;
        do item();
        while (take(","));
        expect(close);
    }

    ElemType type() {
        const std::string t = word();
        if (t == "undefined") return ElemType::undefined;
        const auto e = parse_elem_type(t);
        if (!e) fail("no element type is called " + t);
        return *e;
    }
    std::vector<Extent> extents(Symbols& s) {
        std::vector<Extent> out;
        list("[", "]", [&] { out.push_back(peek('"') ? parse_extent(s, quoted()) : Extent(number<std::int64_t>())); });
        return out;
    }
    Tensor tensor() {
        Tensor t;
        t.type = type();
        list("[", "]", [&] { t.dims.push_back(number<std::int64_t>()); });
        expect("{");
        const auto fill = [&](auto values, auto one) {
            while (!take("}")) values.push_back(one());
            t.data = std::move(values);
        };
        if (t.type == ElemType::string) fill(std::vector<std::string>{}, [&] { return quoted(); });
        else if (t.type == ElemType::f64) fill(std::vector<double>{}, [&] { return number<double>(); });
        else if (is_float(t.type)) fill(std::vector<float>{}, [&] { return number<float>(); });
        else fill(std::vector<std::int64_t>{}, [&] { return number<std::int64_t>(); });
        std::int64_t size = 1;
        for (const std::int64_t d : t.dims)
            if (d < 0 || __builtin_mul_overflow(size, d, &size)) fail("a tensor of an impossible size");
        const std::size_t have = std::visit([](const auto& v) { return v.size(); }, t.data);
        if (static_cast<std::int64_t>(have) != size) fail(std::to_string(have) + " elements, the shape has " + std::to_string(size));
        return t;
    }

    ValueId value(Graph& g, const std::string& kind) {
        Value v;
        v.name = quoted();
        if (kind == "const") {
            Tensor t = tensor();
            v.type = t.type;
            v.shape = Shape(t.dims.begin(), t.dims.end());
            v.constant = std::make_shared<const Tensor>(std::move(t));
            return g.add_value(std::move(v));
        }
        v.weight = kind == "weight";
        if (take("sequence ")) v.kind = ValueKind::sequence;
        else if (take("optional ")) v.kind = ValueKind::optional;
        v.type = type();
        if (!take("?")) v.shape = extents(g.symbols());
        if (take("content ")) v.content = extents(g.symbols());
        if (take("default ")) v.fallback = std::make_shared<const Tensor>(tensor());
        return g.add_value(std::move(v));
    }

    ValueId known(Graph& g) {
        if (take("-")) return kNone;
        const std::string name = quoted();
        const auto v = g.find(name);
        if (!v) fail("no value is called " + name);
        return *v;
    }

    Attribute attribute(const std::shared_ptr<Symbols>& s, int depth) {
        if (peek('"')) return quoted();
        if (take("graph ")) {
            at_ -= 6;
            return std::make_shared<Graph>(graph(s, depth + 1));
        }
        if (take("tensor ")) return std::make_shared<const Tensor>(tensor());
        if (take("ints")) {
            std::vector<std::int64_t> out;
            list("[", "]", [&] { out.push_back(number<std::int64_t>()); });
            return out;
        }
        if (take("reals")) {
            std::vector<double> out;
            list("[", "]", [&] { out.push_back(number<double>()); });
            return out;
        }
        if (take("texts")) {
            std::vector<std::string> out;
            list("[", "]", [&] { out.push_back(quoted()); });
            return out;
        }
        skip();
        const std::size_t end = text_.find_first_of(",}", at_);
        if (text_.substr(at_, end - at_).find_first_of(".einf") != std::string_view::npos) return number<double>();
        return number<std::int64_t>();
    }

    void node(Graph& g, int depth) {
        Node n;
        const std::string op = word();
        const auto known_op = parse_op(op);
        if (!known_op) fail("no operator is called " + op);
        n.op = *known_op;
        n.version = number<int>();
        n.name = quoted();
        list("(", ")", [&] { n.inputs.push_back(known(g)); });
        expect("->");
        list("(", ")", [&] { n.outputs.push_back(known(g)); });
        list("{", "}", [&] {
            const std::string key = word();
            expect("=");
            n.attributes[key] = attribute(g.shared_symbols(), depth);
        });
        if (take("captures "))
            list("(", ")", [&] {
                const std::string key = quoted();
                expect("=");
                n.captures.emplace_back(key, known(g));
            });
        expect("from");
        list("[", "]", [&] { n.origins.push_back(quoted()); });
        if (take("body ")) n.body = std::make_shared<Graph>(graph(g.shared_symbols(), depth + 1));
        g.add_node(std::move(n));
    }

    Graph graph(const std::shared_ptr<Symbols>& symbols, int depth) {
        if (depth > kDeepest) fail("graphs within graphs deeper than " + std::to_string(kDeepest));
        Graph g(symbols);
        expect("graph");
        g.name = quoted();
        expect("{");
        std::vector<ValueId> outputs;
        while (!take("}")) {
            const std::string kind = word();
            if (kind == "symbol") {
                const std::string name = quoted();
                const auto low = number<std::int64_t>();
                expect("~");
                const auto high = number<std::int64_t>();
                symbols->set_range(name, {low, high < 0 ? Range::kUnbounded : high});
            } else if (kind == "meta") {
                const std::string key = quoted();
                g.metadata[key] = quoted();
            } else if (kind == "input") {
                g.inputs.push_back(value(g, kind));
            } else if (kind == "const" || kind == "weight" || kind == "value") {
                value(g, kind);
            } else if (kind == "node") {
                node(g, depth);
            } else if (kind == "output") {
                outputs.push_back(known(g));
                if (outputs.back() == kNone) fail("an output needs a name");
            } else if (kind == "captured") {
                const std::string key = quoted();
                g.captured.emplace_back(key, known(g));
            } else {
                fail("no statement is called " + kind);
            }
        }
        g.set_outputs(std::move(outputs));
        return g;
    }
};

}  // namespace

Graph parse_graph(std::string_view text) {
    Graph g = Reader(text).top();
    if (const auto lines = verify(g); !lines.empty()) throw isa::InputError("graph text: " + lines[0]);
    return g;
}

}  // namespace sfumato::fusion
