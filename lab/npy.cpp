// SPDX-License-Identifier: Apache-2.0
#include "lab/npy.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "isa/diagnostic.h"
#include "lab/shape_text.h"
#include "traces/part_file.h"

namespace sfumato::lab {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlign = 64;  // the format asks for data aligned to 64 bytes

/// NumPy's name of an element type.
std::string_view descr(isa::DType t) {
    switch (t) {
        case isa::DType::f16: return "<f2";
        case isa::DType::f32: return "<f4";
        case isa::DType::i8: return "|i1";
        case isa::DType::u8: return "|u1";
        case isa::DType::i16: return "<i2";
        case isa::DType::bf16:
        case isa::DType::u16: return "<u2";
        case isa::DType::i32: return "<i4";
        case isa::DType::u32: return "<u4";
    }
    throw isa::InternalError("an element type without a NumPy name");
}

/// The value of a key of the header's dictionary, up to `end`.
std::string entry(const std::string& path, const std::string& header, const std::string& key, char begin, char end) {
    const std::size_t at = header.find("'" + key + "'");
    const std::size_t from = at == std::string::npos ? at : header.find(begin, header.find(':', at));
    const std::size_t to = from == std::string::npos ? from : header.find(end, from + 1);
    if (to == std::string::npos) throw isa::InputError(path + ": not a .npy file: its header has no '" + key + "'");
    return header.substr(from + 1, to - from - 1);
}

std::vector<std::int64_t> parse_shape(const std::string& path, const std::string& text) {
    std::vector<std::int64_t> out;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, ',');) {
        if (part.find_first_not_of(' ') == std::string::npos) continue;
        if (part.find_first_not_of(" 0123456789") != std::string::npos || part.size() > 18)
            throw isa::InputError(path + ": not a .npy file: shape (" + text + ")");
        out.push_back(std::stoll(part));
    }
    return out;
}

}  // namespace

Array read_npy(const std::string& path, isa::DType dtype, const std::vector<std::int64_t>& shape) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw isa::InputError(path + ": cannot read: " + std::strerror(errno));
    const std::string all((std::istreambuf_iterator<char>(in)), {});
    if (all.size() < 12 || all.compare(0, kMagic.size(), kMagic) != 0) throw isa::InputError(path + ": not a .npy file: it does not begin with \\x93NUMPY");
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(all[i])); };
    const bool short_length = byte(6) == 1;
    const std::size_t length = short_length ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
    const std::size_t start = (short_length ? 10 : 12) + length;
    if (start > all.size()) throw isa::InputError(path + ": not a .npy file: its header is cut off");
    const std::string header = all.substr(short_length ? 10 : 12, length);

    const std::string type = entry(path, header, "descr", '\'', '\'');
    if (type != descr(dtype))
        throw isa::InputError(path + ": holds elements of type '" + type + "', expected '" + std::string(descr(dtype)) + "' for " + std::string(name(dtype)));
    if (header.find("'fortran_order': True") != std::string::npos)
        throw isa::InputError(path + ": is in Fortran order, expected C order; save numpy.ascontiguousarray(x)");
    const auto found = parse_shape(path, entry(path, header, "shape", '(', ')'));
    if (found != shape) throw isa::InputError(path + ": has shape " + shape_text(found) + ", expected " + shape_text(shape));
    Array out{dtype, shape, {}};
    std::size_t bytes = static_cast<std::size_t>(isa::bytes_of(dtype));
    for (std::int64_t d : shape) bytes *= static_cast<std::size_t>(d);
    if (all.size() - start != bytes)
        throw isa::InputError(path + ": holds " + std::to_string(all.size() - start) + " bytes of data, expected " + std::to_string(bytes));
    out.bytes.resize(bytes);
    std::memcpy(out.bytes.data(), all.data() + start, bytes);
    return out;
}

void write_npy(const std::string& path, const Array& a) {
    std::string shape;
    for (std::int64_t d : a.shape) shape += std::to_string(d) + ", ";
    std::string header = "{'descr': '" + std::string(descr(a.dtype)) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    const std::size_t before = kMagic.size() + 4;
    header.append(kAlign - 1 - (before + header.size()) % kAlign, ' ');
    header += '\n';
    std::string start(kMagic);
    start += {'\1', '\0', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
    traces::PartFile file(path);
    file.write(start + header);
    file.write({reinterpret_cast<const char*>(a.bytes.data()), a.bytes.size()});
    file.commit();
}

}  // namespace sfumato::lab
