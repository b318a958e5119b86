// SPDX-License-Identifier: Apache-2.0
// A graph as an ONNX file: values keep their names, sizes their symbols, constants their data. Fused nodes are calls of functions inside the
// model, so that every runtime can run the file, and import makes fused nodes of them again.
#include <onnx/onnx_pb.h>

#include <climits>
#include <set>

#include "fusion/onnx/onnx_io.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

using isa::InputError;

namespace onnx_io {

namespace {

constexpr std::string_view kFused = "sfumato", kOtherVersion = "sfumato.version";
constexpr int kFunctionIr = 8;  // the IR version that has functions inside models

/// Names in the file of one graph's values, and of all graphs around it: a name of those must not be made again inside.
class Names {
public:
    explicit Names(const Names* outer = nullptr) : outer_(outer) {}

    void bind(ValueId v, std::string name) { names_[v] = std::move(name); }
    void make(ValueId v, const std::string& wanted) {
        std::string name = wanted;
        for (int i = 1; taken(name); ++i) name = wanted + "." + std::to_string(i);
        taken_.insert(name);
        names_[v] = std::move(name);
    }
    std::string fresh(const std::string& stem) {
        make(kNone, stem);
        return names_[kNone];
    }
    const std::string& of(ValueId v) const {
        static const std::string kLeftOut;
        return v == kNone ? kLeftOut : names_.at(v);
    }
    bool has(ValueId v) const { return names_.count(v) != 0; }

private:
    bool taken(const std::string& name) const { return taken_.count(name) != 0 || (outer_ && outer_->taken(name)); }
    const Names* outer_;
    std::map<ValueId, std::string> names_;
    std::set<std::string> taken_;
};

bool is_needed(const Value& v) { return !v.users.empty() || v.outputs > 0; }

class Exporter {
public:
    explicit Exporter(onnx::ModelProto& model) : model_(model) {}

    void model(const Graph& g) {
        Names names;
        graph(g, names, *model_.mutable_graph());
        weights(g, names);
        const int version = main_version(g);
        model_.set_ir_version(version < 19 ? kFunctionIr : version < 21 ? 9 : 10);
        model_.set_producer_name("sfumato");
        import(model_.mutable_opset_import(), "", version);
        for (const std::string& domain : domains_) import(model_.mutable_opset_import(), domain, 1);
        for (const auto& [key, value] : metadata_) {
            auto* p = model_.add_metadata_props();
            p->set_key(key);
            p->set_value(value);
        }
    }

private:
    onnx::ModelProto& model_;
    std::map<std::string, int> functions_;  ///< of each name so far
    std::set<std::string> domains_;
    std::map<std::string, std::string> metadata_;

    template <class Imports>
    static void import(Imports* imports, const std::string& domain, int version) {
        auto* i = imports->Add();
        i->set_domain(domain);
        i->set_version(version);
    }

    /// Values nobody makes and nobody hands in: constants, and weights without data, which only the whole model has as inputs.
    template <class F>
    static void for_sources(const Graph& g, const F& f) {
        const std::set<ValueId> inputs(g.inputs.begin(), g.inputs.end());
        std::set<ValueId> captured;
        for (const auto& [key, local] : g.captured) captured.insert(local);
        for (ValueId v = 0; v < g.value_limit(); ++v)
            if (g.value(v).producer == kNone && is_needed(g.value(v)) && !inputs.count(v) && !captured.count(v)) f(v);
    }

    static void make_names(const Graph& g, Names& names) {
        for (const ValueId v : g.inputs) names.make(v, g.value(v).name);
        // outputs before the rest, since their names are what a caller knows
        for (const ValueId v : g.outputs())
            if (!names.has(v)) names.make(v, g.value(v).name);
        for (ValueId v = 0; v < g.value_limit(); ++v)
            if (!names.has(v) && (is_needed(g.value(v)) || g.value(v).producer != kNone)) names.make(v, g.value(v).name);
    }

    static void info(const Graph& g, ValueId id, const Names& names, onnx::ValueInfoProto& out) {
        const Value& v = g.value(id);
        out.set_name(names.of(id));
        if (v.type != ElemType::undefined) write_type(v, g.symbols(), *out.mutable_type());
    }

    /// Names of captured values are bound before.
    void graph(const Graph& g, Names& names, onnx::GraphProto& out) {
        make_names(g, names);
        out.set_name(g.name.empty() ? "graph" : g.name);
        for (const ValueId v : g.inputs) {
            info(g, v, names, *out.add_input());
            if (g.value(v).fallback) constant(*g.value(v).fallback, names.of(v), *out.add_initializer());
        }
        for_sources(g, [&](ValueId v) {
            if (g.value(v).constant) constant(*g.value(v).constant, names.of(v), *out.add_initializer());
        });
        for (const NodeId id : g.order()) {
            node(g, g.node(id), names, *out.add_node());
            for (const ValueId v : g.node(id).outputs)
                if (v != kNone && g.value(v).outputs == 0 && g.value(v).shape && g.value(v).type != ElemType::undefined) info(g, v, names, *out.add_value_info());
        }
        for (const ValueId v : g.outputs()) info(g, v, names, *out.add_output());
    }

    static void constant(const Tensor& t, const std::string& name, onnx::TensorProto& out) {
        write_tensor(t, out);
        out.set_name(name);
    }

    /// Weights are inputs of the file; the metadata tell them from what is fed at run time.
    void weights(const Graph& g, const Names& names) {
        metadata_ = g.metadata;
        bool any = false;
        for_sources(g, [&](ValueId v) {
            if (g.value(v).constant || !g.value(v).weight) return;
            info(g, v, names, *model_.mutable_graph()->add_input());
            any = true;
        });
        if (!any) return;
        std::string fed;
        for (const ValueId v : g.inputs) {
            if (names.of(v).find_first_of(", ") != std::string::npos)
                throw InputError("the input " + shown(names.of(v)) + " has a comma or a space in its name, and a graph with weights without data lists its inputs by name; rename it");
            fed += (fed.empty() ? "" : ",") + names.of(v);
        }
        metadata_["runtime_inputs"] = fed;
    }

    void attribute(const Node& n, const std::string& key, const Attribute& a, const Names& names, onnx::AttributeProto& out) {
        using Type = onnx::AttributeProto;
        out.set_name(key);
        const auto list = [&](Type::AttributeType type, const auto& values, const auto& add) {
            out.set_type(type);
            for (const auto& v : values) add(v);
        };
        if (const auto* i = std::get_if<std::int64_t>(&a)) out.set_type(Type::INT), out.set_i(*i);
        else if (const auto* d = std::get_if<double>(&a)) out.set_type(Type::FLOAT), out.set_f(static_cast<float>(*d));
        else if (const auto* s = std::get_if<std::string>(&a)) text(n, key, *s, out);
        else if (const auto* is = std::get_if<std::vector<std::int64_t>>(&a)) list(Type::INTS, *is, [&](std::int64_t v) { out.add_ints(v); });
        else if (const auto* ds = std::get_if<std::vector<double>>(&a)) list(Type::FLOATS, *ds, [&](double v) { out.add_floats(static_cast<float>(v)); });
        else if (const auto* ss = std::get_if<std::vector<std::string>>(&a)) list(Type::STRINGS, *ss, [&](const std::string& v) { out.add_strings(v); });
        else if (const auto* t = std::get_if<TensorPtr>(&a)) out.set_type(Type::TENSOR), write_tensor(**t, *out.mutable_t());
        else out.set_type(Type::GRAPH), subgraph(n, *std::get<GraphPtr>(a), names, *out.mutable_g());
    }

    static void text(const Node& n, const std::string& key, const std::string& value, onnx::AttributeProto& out) {
        if (n.op == Op::Optional && key == "type" && parse_type(value, *out.mutable_tp())) {
            out.set_type(onnx::AttributeProto::TYPE_PROTO);
            return;
        }
        out.clear_tp();
        out.set_type(onnx::AttributeProto::STRING);
        out.set_s(value);
    }

    void subgraph(const Node& n, const Graph& g, const Names& outer, onnx::GraphProto& out) {
        Names names(&outer);
        for (const auto& [key, local] : g.captured)
            for (const auto& [known, v] : n.captures)
                if (known == key) names.bind(local, outer.of(v));
        refuse_weights(g);
        graph(g, names, out);
    }

    static void refuse_weights(const Graph& g) {
        for_sources(g, [&](ValueId v) {
            if (!g.value(v).constant) throw InputError("the value " + shown(g.value(v).name) + " of " + shown(g.name) + " has no data, and inner graphs of a file hold constants with data only");
        });
    }

    void node(const Graph& g, const Node& n, const Names& names, onnx::NodeProto& out) {
        out.set_name(n.name);
        for (const ValueId v : n.inputs) out.add_input(names.of(v));
        for (const ValueId v : n.outputs) out.add_output(names.of(v));
        for (const auto& [key, a] : n.attributes) attribute(n, key, a, names, *out.add_attribute());
        if (!n.body) {
            out.set_op_type(std::string(name(n.op)));
            return;
        }
        const bool fused = n.has("pattern");
        const std::string domain(fused ? kFused : kOtherVersion);
        domains_.insert(domain);
        out.set_domain(domain);
        out.set_op_type(function(n, domain, g));
    }

    std::string function(const Node& call, const std::string& domain, const Graph&) {
        const Graph& body = *call.body;
        std::string name = body.name.empty() ? "Fused" : body.name;
        if (const int before = functions_[name]++; before > 0) name += "_" + std::to_string(before + 1);
        onnx::FunctionProto f;
        f.set_name(name);
        f.set_domain(domain);
        import(f.mutable_opset_import(), "", main_version(body));
        for (const auto& [key, a] : call.attributes) f.add_attribute(key);
        Names names;
        make_names(body, names);
        refuse_weights(body);
        for (const ValueId v : body.inputs) f.add_input(names.of(v));
        for_sources(body, [&](ValueId v) { body_constant(*body.value(v).constant, names.of(v), *f.add_node()); });
        bool calls = false;
        for (const NodeId id : body.order()) {
            node(body, body.node(id), names, *f.add_node());
            calls = calls || body.node(id).body;
        }
        if (calls)
            for (const auto inner : {kFused, kOtherVersion}) import(f.mutable_opset_import(), std::string(inner), 1);
        results(body, names, f);
        *model_.add_functions() = std::move(f);
        return name;
    }

    static void body_constant(const Tensor& t, const std::string& name, onnx::NodeProto& out) {
        out.set_op_type("Constant");
        out.set_doc_string(std::string(kConstantMark));
        out.add_output(name);
        auto* a = out.add_attribute();
        a->set_name("value");
        a->set_type(onnx::AttributeProto::TENSOR);
        write_tensor(t, *a->mutable_t());
    }

    /// Outputs of a function differ from one another and from its inputs: where the body's do not, a copy is one.
    static void results(const Graph& body, Names& names, onnx::FunctionProto& f) {
        std::set<std::string> seen(f.input().begin(), f.input().end());
        for (const ValueId v : body.outputs()) {
            std::string name = names.of(v);
            if (!seen.insert(name).second) {
                name = names.fresh(names.of(v));
                auto* copy = f.add_node();
                copy->set_op_type("Identity");
                copy->set_name(name);
                copy->add_input(names.of(v));
                copy->add_output(name);
            }
            f.add_output(name);
        }
    }
};

}  // namespace

}  // namespace onnx_io

std::string export_onnx(const Graph& g, bool keep_groups) {
    onnx::ModelProto model;
    const std::optional<Graph> copy = onnx_io::prepared(g, keep_groups);
    onnx_io::Exporter(model).model(copy ? *copy : g);
    const std::size_t bytes = model.ByteSizeLong();
    if (bytes > INT_MAX) throw InputError("the graph takes " + std::to_string(bytes) + " bytes as ONNX, and a file holds at most " + std::to_string(INT_MAX) + "; write it without weights");
    return model.SerializeAsString();
}

}  // namespace sfumato::fusion
