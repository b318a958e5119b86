// SPDX-License-Identifier: Apache-2.0
#include "lab/tensors.h"

#include <random>
#include <set>

#include "isa/diagnostic.h"
#include "isa/walker.h"
#include "lab/shape_text.h"
#include "sim/exec/element.h"

namespace sfumato::lab {

namespace {

void collect_loads(const isa::Block& block, std::set<std::size_t>& tensors) {
    for (const isa::Stmt& s : block) {
        if (const auto* load = std::get_if<isa::Load>(&s.node)) tensors.insert(static_cast<std::size_t>(load->tensor));
        if (const auto* loop = std::get_if<isa::Loop>(&s.node)) collect_loads(loop->body, tensors);
        if (const auto* when = std::get_if<isa::When>(&s.node)) collect_loads(when->body, tensors);
    }
}

}  // namespace

std::vector<std::byte> random_bytes(const HostTensor& t, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::byte> out(static_cast<std::size_t>(t.bytes()));
    constexpr std::int64_t kChunk = 4096;
    constexpr double kStep = 1.0 / (1 << 23);
    std::vector<float> floats;
    for (std::int64_t at = 0; at < t.elements; at += kChunk) {
        floats.resize(static_cast<std::size_t>(std::min(kChunk, t.elements - at)));
        for (float& f : floats) {
            const std::uint64_t bits = random() >> 40;  // 24 bits
            f = sim::is_float(t.dtype) ? static_cast<float>(static_cast<double>(bits) * kStep - 1) : static_cast<float>(bits % 17) - 8;
        }
        sim::store_elements(t.dtype, floats.data(), static_cast<std::int64_t>(floats.size()), out.data() + at * isa::bytes_of(t.dtype));
    }
    return out;
}

void check_device_memory(const std::vector<HostTensor>& tensors, const isa::Chip& chip) {
    __int128 total = 0;
    std::string list;
    for (const HostTensor& t : tensors) {
        __int128 bytes = isa::bytes_of(t.dtype);
        for (std::int64_t d : t.shape) {
            if (d < 1) throw isa::InputError("tensor " + t.name + " has shape " + shape_text(t.shape) + ": every extent must be at least 1");
            bytes = std::min<__int128>(bytes * d, __int128{1} << 100);
        }
        total += bytes;
        list += (list.empty() ? "" : ", ") + t.name + " " + std::string(name(t.dtype)) + " " + shape_text(t.shape);
    }
    const std::int64_t have = chip.bytes(isa::Space::gm);
    if (total <= have) return;
    const auto gib = static_cast<std::int64_t>((total + ((1 << 30) - 1)) >> 30);
    throw isa::InputError("tensors need " + isa::with_separators(gib) + " GiB, device memory of " + chip.name + " has " + isa::with_separators(have >> 30) +
                          " GiB (" + list + "); choose a smaller --shape");
}

std::vector<HostTensor> host_tensors(const isa::Program& p, const std::map<std::string, std::int64_t>& params, const isa::Chip& chip) {
    const auto symbols = isa::bind_symbols(p, {params, 0, 1, 0});
    std::vector<HostTensor> out;
    for (const isa::Tensor& t : p.tensors) {
        HostTensor h{t.name, t.dtype, t.role, {}, 1};
        for (isa::Expr d : t.dims) h.shape.push_back(p.exprs.eval(d, symbols));
        out.push_back(std::move(h));
    }
    check_device_memory(out, chip);
    for (HostTensor& h : out)
        for (std::int64_t d : h.shape) h.elements *= d;
    return out;
}

std::set<std::size_t> control_tensors(const isa::Program& p) {
    std::set<std::size_t> out;
    for (const isa::Section& s : p.sections) collect_loads(s.body, out);
    return out;
}

sim::DeviceTensor device_tensor(const HostTensor& t, std::uint64_t seed, bool fill) {
    sim::DeviceTensor d{t.name, t.bytes(), {}, -1};
    if (!fill) return d;
    const bool output = t.role == isa::Role::out || t.role == isa::Role::workspace;
    d.bytes = output ? std::vector<std::byte>(static_cast<std::size_t>(t.bytes()), std::byte{0xff}) : random_bytes(t, seed);
    return d;
}

std::vector<std::int64_t> coordinates(const std::vector<std::int64_t>& shape, std::int64_t element) {
    std::vector<std::int64_t> out(shape.size());
    for (std::size_t i = shape.size(); i-- > 0; element /= shape[i]) out[i] = element % shape[i];
    return out;
}

std::vector<double> to_doubles(isa::DType t, std::span<const std::byte> bytes) {
    const auto count = static_cast<std::int64_t>(bytes.size()) / isa::bytes_of(t);
    const auto convert = [&](auto zero) {
        std::vector<decltype(zero)> raw(static_cast<std::size_t>(count));
        sim::load_elements(t, bytes.data(), count, raw.data());
        return std::vector<double>(raw.begin(), raw.end());
    };
    return sim::is_float(t) ? convert(0.0f) : convert(std::int64_t{0});
}

}  // namespace sfumato::lab
