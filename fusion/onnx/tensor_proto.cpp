// SPDX-License-Identifier: Apache-2.0
// Tensors of a file as ours and back. ONNX keeps elements as little-endian bytes (raw_data, external files) or in one typed field.
#include <onnx/onnx_pb.h>

#include <bit>
#include <cstring>
#include <fstream>

#include "fusion/onnx/onnx_io.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion::onnx_io {

using isa::InputError;

std::string shown(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, 80)) out += c >= ' ' && c <= '~' ? c : '?';
    return text.size() > 80 ? out + "..." : out;
}

ElemType elem_type(int number, const std::string& what) {
    if (number > 0 && number < kElemTypeCount) return static_cast<ElemType>(number);
    static constexpr std::array<std::string_view, 7> kLater{"float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4", "float4e2m1"};
    const int later = number - kElemTypeCount;
    const bool known = later >= 0 && later < static_cast<int>(kLater.size());
    throw InputError(what + ": element type " + std::to_string(number) + (known ? " (" + std::string(kLater[static_cast<std::size_t>(later)]) + ")" : "") +
                     " is not supported; supported are 1 (f32) to 16 (bf16)");
}

namespace {

float from_half(std::uint32_t h) {
    const std::uint32_t sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31u, mantissa = h & 1023u;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << 13));
    if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24 is exact in f32
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
    }
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint32_t to_half(float f) {  // round to nearest even; values of a graph's f16 tensors are exact
    const auto bits = std::bit_cast<std::uint32_t>(f);
    const std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return sign | 0x7E00u | ((magnitude >> 13) & 0x3FFu);
    if (magnitude >= 0x477FF000u) return sign | 0x7C00u;
    if (magnitude < 0x38800000u) {
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;  // the addition rounds at 2^-24
        return sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000u);
    }
    return sign | ((magnitude - 0x38000000u + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13);
}

std::uint32_t to_bfloat(float f) {
    const auto bits = std::bit_cast<std::uint32_t>(f);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return (bits >> 16) | 0x40u;
    return (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
}

std::uint64_t little_endian(const char* at, std::size_t width) {
    std::uint64_t v = 0;
    for (std::size_t i = 0; i < width; ++i) v |= std::uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
    return v;
}

std::int64_t sign_extended(std::uint64_t v, int bits, bool is_signed) {
    if (!is_signed || bits == 64) return static_cast<std::int64_t>(v);
    const int up = 64 - bits;
    return static_cast<std::int64_t>(v << up) >> up;
}

float narrow_float(ElemType t, std::uint64_t bits) {
    if (t == ElemType::f16) return from_half(static_cast<std::uint32_t>(bits));
    return std::bit_cast<float>(static_cast<std::uint32_t>(t == ElemType::bf16 ? bits << 16 : bits));
}

void from_bytes(Tensor& t, std::string_view bytes, std::size_t count) {
    const auto width = static_cast<std::size_t>(info(t.type).bits / 8);
    const auto at = [&](std::size_t i) { return little_endian(bytes.data() + i * width, width); };
    if (t.type == ElemType::f64) {
        std::vector<double> v(count);
        for (std::size_t i = 0; i < count; ++i) v[i] = std::bit_cast<double>(at(i));
        t.data = std::move(v);
    } else if (is_float(t.type)) {
        std::vector<float> v(count);
        for (std::size_t i = 0; i < count; ++i) v[i] = narrow_float(t.type, at(i));
        t.data = std::move(v);
    } else {
        std::vector<std::int64_t> v(count);
        const bool is_signed = info(t.type).kind == ElemClass::signed_integer;
        for (std::size_t i = 0; i < count; ++i) v[i] = t.type == ElemType::boolean ? at(i) != 0 : sign_extended(at(i), info(t.type).bits, is_signed);
        t.data = std::move(v);
    }
}

/// Elements from int32_data, where narrow types and the bits of f16 and bf16 stand too.
void from_int32(Tensor& t, const google::protobuf::RepeatedField<std::int32_t>& field, const std::string& what) {
    const auto count = static_cast<std::size_t>(field.size());
    if (is_float(t.type)) {
        std::vector<float> v(count);
        for (std::size_t i = 0; i < count; ++i) v[i] = narrow_float(t.type, static_cast<std::uint32_t>(field[static_cast<int>(i)]) & 0xFFFFu);
        t.data = std::move(v);
        return;
    }
    const ElemInfo& e = info(t.type);
    const bool is_signed = e.kind == ElemClass::signed_integer;
    const std::int64_t low = is_signed ? -(std::int64_t{1} << (e.bits - 1)) : 0;
    const std::int64_t high = e.kind == ElemClass::boolean ? 1 : (std::int64_t{1} << (is_signed ? e.bits - 1 : e.bits)) - 1;
    std::vector<std::int64_t> v(count);
    for (std::size_t i = 0; i < count; ++i) {
        v[i] = field[static_cast<int>(i)];
        if (v[i] < low || v[i] > high)
            throw InputError(what + ": element " + std::to_string(i) + " is " + std::to_string(v[i]) + ", " + std::string(e.name) + " holds " + std::to_string(low) + " to " + std::to_string(high));
    }
    t.data = std::move(v);
}

std::uint64_t element_count(const onnx::TensorProto& p, const std::string& what) {
    if (p.dims_size() > 64) throw InputError(what + ": " + std::to_string(p.dims_size()) + " dimensions, at most 64 are read");
    std::uint64_t n = 1;
    bool empty = false;
    for (const std::int64_t d : p.dims()) {
        if (d < 0) throw InputError(what + ": dimension " + std::to_string(d) + " is negative");
        empty = empty || d == 0;
    }
    if (empty) return 0;
    for (const std::int64_t d : p.dims())
        if (__builtin_mul_overflow(n, static_cast<std::uint64_t>(d), &n) || n > (std::uint64_t{1} << 48)) throw InputError(what + ": its dimensions multiply to more than 2^48 elements");
    return n;
}

void expect_count(std::uint64_t have, std::uint64_t need, const char* field, const std::string& what) {
    if (have != need) throw InputError(what + ": its dimensions say " + std::to_string(need) + " elements, its " + field + " holds " + std::to_string(have));
}

void from_fields(Tensor& t, const onnx::TensorProto& p, std::uint64_t count, const std::string& what) {
    switch (t.type) {
        case ElemType::f32:
            expect_count(static_cast<std::uint64_t>(p.float_data_size()), count, "float_data", what);
            t.data = std::vector<float>(p.float_data().begin(), p.float_data().end());
            return;
        case ElemType::f64:
            expect_count(static_cast<std::uint64_t>(p.double_data_size()), count, "double_data", what);
            t.data = std::vector<double>(p.double_data().begin(), p.double_data().end());
            return;
        case ElemType::i64:
            expect_count(static_cast<std::uint64_t>(p.int64_data_size()), count, "int64_data", what);
            t.data = std::vector<std::int64_t>(p.int64_data().begin(), p.int64_data().end());
            return;
        case ElemType::u32:
        case ElemType::u64:
            expect_count(static_cast<std::uint64_t>(p.uint64_data_size()), count, "uint64_data", what);
            t.data = std::vector<std::int64_t>(p.uint64_data().begin(), p.uint64_data().end());
            return;
        default:
            expect_count(static_cast<std::uint64_t>(p.int32_data_size()), count, "int32_data", what);
            from_int32(t, p.int32_data(), what);
    }
}

}  // namespace

std::string TensorReader::external(const onnx::TensorProto& p, const std::string& what, std::uint64_t bytes) {
    namespace fs = std::filesystem;
    std::string location;
    std::uint64_t offset = 0, length = bytes;
    for (const auto& entry : p.external_data()) {
        const auto number = [&]() -> std::uint64_t {
            std::uint64_t v = 0;
            bool ok = !entry.value().empty() && entry.value().size() <= 18;
            for (const char c : entry.value()) ok = ok && c >= '0' && c <= '9', v = v * 10 + static_cast<std::uint64_t>(c - '0');
            if (!ok) throw InputError(what + ": external " + shown(entry.key()) + " '" + shown(entry.value()) + "' is no number of bytes");
            return v;
        };
        if (entry.key() == "location") location = entry.value();
        if (entry.key() == "offset") offset = number();
        if (entry.key() == "length") length = number();
    }
    if (length != bytes) throw InputError(what + ": external length is " + std::to_string(length) + " bytes, its dimensions and type need " + std::to_string(bytes));
    if (location.empty()) throw InputError(what + ": its data are external, and no location is given");
    if (root_.empty()) throw InputError(what + ": its data are in the file '" + shown(location) + "', and no folder for external data is known; give one");
    const fs::path relative(location);
    std::error_code error;
    const fs::path root = fs::weakly_canonical(root_, error), path = fs::weakly_canonical(root_ / relative, error);
    const fs::path inside = path.lexically_relative(root);
    if (relative.is_absolute() || location.find('\0') != std::string::npos || inside.empty() || *inside.begin() == "..")
        throw InputError(what + ": external location '" + shown(location) + "' leaves the folder of the model; move the file there");
    if (!fs::is_regular_file(path, error)) throw InputError(what + ": the external file '" + shown(location) + "' does not exist beside the model");
    const std::uint64_t size = fs::file_size(path, error);
    if (error || offset > size || bytes > size - offset)
        throw InputError(what + ": needs bytes " + std::to_string(offset) + " to " + std::to_string(offset + bytes) + " of '" + shown(location) + "', which has " + std::to_string(size));
    external_bytes_ += bytes;
    if (bytes > max_bytes_ || external_bytes_ / 8 > max_bytes_)
        throw InputError(what + ": " + std::to_string(bytes) + " bytes of external data; the limit is " + std::to_string(max_bytes_) + " for one tensor and eight times that for all");
    std::string data(bytes, '\0');
    std::ifstream in(path, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(offset));
    if (!in.read(data.data(), static_cast<std::streamsize>(bytes))) throw InputError(what + ": '" + shown(location) + "' cannot be read");
    return data;
}

TensorPtr TensorReader::read(const onnx::TensorProto& p, const std::string& what) {
    Tensor t;
    t.type = elem_type(p.data_type(), what);
    if (info(t.type).kind == ElemClass::none) throw InputError(what + ": tensors of " + std::string(name(t.type)) + " are not supported");
    if (p.has_segment()) throw InputError(what + ": tensors in segments are not supported");
    const std::uint64_t count = element_count(p, what);
    const int fields = (p.has_raw_data() && !p.raw_data().empty()) + (p.float_data_size() > 0) + (p.int32_data_size() > 0) + (p.string_data_size() > 0) + (p.int64_data_size() > 0) +
                       (p.double_data_size() > 0) + (p.uint64_data_size() > 0);
    const bool is_external = p.data_location() == onnx::TensorProto::EXTERNAL;
    if (fields + is_external > 1) throw InputError(what + ": its data stand in more than one place");
    t.dims.assign(p.dims().begin(), p.dims().end());
    const std::uint64_t bytes = count * static_cast<std::uint64_t>(info(t.type).bits / 8);
    if (t.type == ElemType::string) {
        if (is_external || p.has_raw_data()) throw InputError(what + ": strings stand in string_data only");
        expect_count(static_cast<std::uint64_t>(p.string_data_size()), count, "string_data", what);
        t.data = std::vector<std::string>(p.string_data().begin(), p.string_data().end());
    } else if (is_external) {
        from_bytes(t, external(p, what, bytes), count);
    } else if (p.has_raw_data() && fields == (p.raw_data().empty() ? 0 : 1)) {
        if (p.raw_data().size() != bytes)
            throw InputError(what + ": its dimensions and type need " + std::to_string(bytes) + " bytes, its raw_data holds " + std::to_string(p.raw_data().size()));
        from_bytes(t, p.raw_data(), count);
    } else {
        from_fields(t, p, count, what);
    }
    return std::make_shared<const Tensor>(std::move(t));
}

void write_tensor(const Tensor& t, onnx::TensorProto& p) {
    p.set_data_type(static_cast<int>(t.type));
    for (const std::int64_t d : t.dims) p.add_dims(d);
    if (t.type == ElemType::string) {
        for (const std::string& s : t.strings()) p.add_string_data(s);
        return;
    }
    const auto width = static_cast<std::size_t>(info(t.type).bits / 8);
    std::string& raw = *p.mutable_raw_data();
    raw.reserve(static_cast<std::size_t>(t.size()) * width);
    const auto put = [&](std::uint64_t v) {
        for (std::size_t i = 0; i < width; ++i) raw += static_cast<char>((v >> (8 * i)) & 255u);
    };
    const auto bits = [&](double v) -> std::uint64_t {
        if (t.type == ElemType::f64) return std::bit_cast<std::uint64_t>(v);
        const auto f = static_cast<float>(v);
        return t.type == ElemType::f16 ? to_half(f) : t.type == ElemType::bf16 ? to_bfloat(f) : std::bit_cast<std::uint32_t>(f);
    };
    if (const auto* f = std::get_if<std::vector<float>>(&t.data)) {
        for (const float v : *f) put(t.type == ElemType::f32 ? std::bit_cast<std::uint32_t>(v) : bits(static_cast<double>(v)));
    } else if (const auto* d = std::get_if<std::vector<double>>(&t.data)) {
        for (const double v : *d) put(bits(v));
    } else {
        for (const std::int64_t v : t.ints()) put(static_cast<std::uint64_t>(v));
    }
}

}  // namespace sfumato::fusion::onnx_io
