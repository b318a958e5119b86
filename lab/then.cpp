// SPDX-License-Identifier: Apache-2.0
// Kernels behind another: what their text says, which tensors they take over, and the sizes and types that follow from those.
#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "isa/diagnostic.h"
#include "lab/lab.h"
#include "lab/prepare.h"
#include "lab/tensors.h"

namespace sfumato::lab {

namespace {

/// "swiglu:d=5504,X=1.C" in its parts.
struct Follower {
    std::string text, what;
    std::vector<std::pair<std::string, std::string>> keys;
};

/// What a kernel behind another may be told, the same for one of the library and a text file.
struct Choices {
    std::vector<std::string> sizes, tensors, knobs;
    std::vector<isa::Role> roles;
};

constexpr std::string_view kTile = "tile.";

Follower parse_follower(const std::string& text) {
    constexpr std::string_view kFile = ".sfa:";
    const std::size_t file = text.find(kFile);
    const std::size_t colon = file == std::string::npos ? text.find(':') : file + kFile.size() - 1;
    Follower out{text, text.substr(0, colon), {}};
    if (out.what.empty()) throw isa::InputError("--then '" + text + "': expected KERNEL or KERNEL:key=value,..., for example swiglu:d=5504");
    if (colon == std::string::npos) return out;
    std::istringstream in(text.substr(colon + 1));
    for (std::string part; std::getline(in, part, ',');) {
        const std::size_t equals = part.find('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == part.size())
            throw isa::InputError("--then '" + text + "': '" + part + "' is not key=value, for example swiglu:d=5504");
        out.keys.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    }
    return out;
}

Choices choices_of(const kernels::Kernel& k) {
    Choices out{k.sizes, {}, {}, {}};
    for (const kernels::TensorSpec& t : k.tensors) out.tensors.push_back(t.name), out.roles.push_back(t.role);
    for (const kernels::KnobSpec& knob : k.knobs) out.knobs.push_back(std::string(kTile) + knob.name);
    return out;
}
Choices choices_of(const isa::Program& p) {
    Choices out;
    for (const isa::Symbol& s : p.symbols)
        if (s.kind == isa::SymbolKind::param) out.sizes.push_back(s.name);
    for (const isa::Tensor& t : p.tensors) out.tensors.push_back(t.name), out.roles.push_back(t.role);
    return out;
}

bool contains(const std::vector<std::string>& list, const std::string& name) { return std::find(list.begin(), list.end(), name) != list.end(); }

class Binder {
public:
    Binder(const Request& first, const std::vector<Prepared>& before, Follower f) : before_(before), follower_(std::move(f)) {
        request_ = first;
        request_.what = follower_.what;
        request_.shape = request_.tile = request_.dtype = request_.level = "";
        request_.stages = 0;
        if (follower_.what.ends_with(".sfa")) choices_ = choices_of(read_program(follower_.what));
        else choices_ = choices_of(*(kernel_ = &kernels::find(follower_.what)));
        for (const Prepared& p : before) tensors_.push_back(host_tensors(p.program(), p.params, p.chip));
    }

    Prepared prepare() {
        for (const auto& [key, value] : follower_.keys) take(key, value);
        if (bound_.empty()) bind_first();
        for (const auto& [tensor, source] : bound_) infer(tensor, host(source));
        if (kernel_ && request_.dtype.empty()) request_.dtype = dtype();
        if (!kernel_)
            for (const std::string& size : choices_.sizes)
                if (!sizes_.contains(size)) fail("parameter '" + size + "' has no value and no tensor to follow from; add " + size + "=...");
        for (const auto& [size, value] : sizes_) request_.shape += (request_.shape.empty() ? "" : ",") + size + "=" + value;
        Prepared out = lab::prepare(request_);
        const auto mine = host_tensors(out.program(), out.params, out.chip);
        for (const auto& [tensor, source] : bound_) {
            const HostTensor &here = mine[tensor], &there = host(source);
            if (here.dtype != there.dtype || here.shape != there.shape)
                fail(here.name + " would be " + text(here) + ", but " + there.name + " of " + before_[source.first].name + " is " + text(there) +
                     "; leave sizes and type to it or bind another tensor");
        }
        out.bound = bound_;
        return out;
    }

private:
    using Source = std::pair<std::size_t, std::size_t>;

    [[noreturn]] void fail(const std::string& why) const { throw isa::InputError("--then " + follower_.text + ": " + why); }
    const HostTensor& host(Source s) const { return tensors_[s.first][s.second]; }
    static std::string text(const HostTensor& t) { return std::string(isa::name(t.dtype)) + " " + shape_text(t.shape); }

    void take(const std::string& key, const std::string& value) {
        std::vector<std::string> known = choices_.sizes;
        for (std::size_t i = 0; i < choices_.tensors.size(); ++i)
            if (choices_.roles[i] == isa::Role::in) known.push_back(choices_.tensors[i]);
        known.insert(known.end(), choices_.knobs.begin(), choices_.knobs.end());
        if (kernel_) known.insert(known.end(), {"dtype", "level", "stages"});
        require_known("--then " + follower_.what + " key", key, known);
        if (contains(choices_.sizes, key)) {
            if (!sizes_.emplace(key, value).second) fail(key + " is given twice");
        } else if (contains(choices_.tensors, key)) {
            const auto at = static_cast<std::size_t>(std::find(choices_.tensors.begin(), choices_.tensors.end(), key) - choices_.tensors.begin());
            if (!bound_.emplace(at, find_source(value)).second) fail(key + " is given twice");
        } else if (key == "dtype") {
            request_.dtype = value;
        } else if (key == "level") {
            request_.level = value;
        } else if (key == "stages") {
            const auto end = std::from_chars(value.data(), value.data() + value.size(), request_.stages);
            if (end.ec != std::errc() || end.ptr != value.data() + value.size() || request_.stages < 1) fail("stages='" + value + "': expected a whole number of at least 1");
        } else {
            request_.tile += (request_.tile.empty() ? "" : ",") + key.substr(kTile.size()) + "=" + value;
        }
    }

    /// "C" of the latest kernel that has one, "1.C" of the first kernel.
    Source find_source(const std::string& wanted) const {
        std::vector<std::string> known;
        std::optional<Source> found;
        for (std::size_t l = 0; l < tensors_.size(); ++l)
            for (std::size_t t = 0; t < tensors_[l].size(); ++t) {
                const std::string numbered = std::to_string(l + 1) + "." + tensors_[l][t].name;
                known.push_back(numbered);
                if (wanted == numbered || wanted == tensors_[l][t].name) found = {l, t};
            }
        if (!found) require_known("--then " + follower_.what + " tensor of an earlier kernel", wanted, known);
        return *found;
    }

    void bind_first() {
        const std::size_t last = before_.size() - 1;
        const auto& written = tensors_[last];
        const auto out = std::find_if(written.begin(), written.end(), [](const HostTensor& t) { return t.role == isa::Role::out || t.role == isa::Role::inout; });
        const auto in = std::find(choices_.roles.begin(), choices_.roles.end(), isa::Role::in);
        if (out == written.end() || in == choices_.roles.end())
            fail(out == written.end() ? before_[last].name + " writes no tensor that " + follower_.what + " could read; name one of an earlier kernel, for example " +
                                            (in == choices_.roles.end() ? "X" : choices_.tensors[static_cast<std::size_t>(in - choices_.roles.begin())]) + "=1." +
                                            tensors_[0][0].name
                                      : follower_.what + " reads no tensor");
        bound_[static_cast<std::size_t>(in - choices_.roles.begin())] = {last, static_cast<std::size_t>(out - written.begin())};
    }

    /// Sizes that were not given follow from the tensor that is taken over.
    void infer(std::size_t tensor, const HostTensor& source) {
        const std::string& name = choices_.tensors[tensor];
        for (std::size_t axis = 0; axis < source.shape.size(); ++axis) {
            const std::int64_t extent = source.shape[axis];
            if (!kernel_) {
                const std::string param = name + "." + std::to_string(axis);
                if (contains(choices_.sizes, param)) sizes_.emplace(param, std::to_string(extent));
                continue;
            }
            const auto& dims = kernel_->tensors[tensor].dims;
            if (dims.size() != source.shape.size())
                fail(name + " has " + std::to_string(dims.size()) + " extents, " + source.name + " is " + text(source) + "; bind another tensor");
            const kernels::Extent& e = dims[axis];
            if (e.size.empty()) continue;
            if (extent % e.factor != 0)
                fail("extent " + std::to_string(axis) + " of " + name + " is " + std::to_string(e.factor) + "*" + e.size + ", which " + source.name + ", " + text(source) +
                     ", cannot be; choose a shape whose extent divides by " + std::to_string(e.factor));
            sizes_.emplace(e.size, std::to_string(extent / e.factor));
        }
    }

    std::string dtype() const {
        for (isa::DType t : kernel_->dtypes) {
            const bool fits = std::all_of(bound_.begin(), bound_.end(), [&](const auto& b) { return kernel_->tensors[b.first].dtype(t) == host(b.second).dtype; });
            if (fits) return std::string(isa::name(t));
        }
        const auto& [tensor, source] = *bound_.begin();
        fail("no element type of " + kernel_->name + " makes its " + choices_.tensors[tensor] + " the type of " + host(source).name + ", " + text(host(source)) +
             "; bind another tensor");
    }

    const std::vector<Prepared>& before_;
    Follower follower_;
    Request request_;
    const kernels::Kernel* kernel_ = nullptr;
    Choices choices_;
    std::vector<std::vector<HostTensor>> tensors_;
    std::map<std::size_t, Source> bound_;
    std::map<std::string, std::string> sizes_;
};

}  // namespace

std::vector<Prepared> prepare_all(const Request& r) {
    std::vector<Prepared> out;
    out.push_back(prepare(r));
    for (const std::string& text : r.then) out.push_back(Binder(r, out, parse_follower(text)).prepare());
    return out;
}

}  // namespace sfumato::lab
