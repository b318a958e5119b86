// SPDX-License-Identifier: Apache-2.0
// The table of named patterns. Larger ones of a pass stand first; the first that matches takes the nodes.
#include "fusion/passes/guards.h"
#include "fusion/passes/named.h"

namespace sfumato::fusion {

namespace {

// (x - mean) / sqrt(variance + eps), with the spellings of exporters
constexpr const char* kNormalised = R"(
n = Div(cc, sd) | Mul(cc, rs)
cc = Cast?(c:Sub(x, mean))
mean = Cast?(mu:ReduceMean(x))
sd = Sqrt(v)
rs = Div(1, sd) | Reciprocal(sd) | Pow(v, -0.5)
v = Cast?(Add(ReduceMean(sq), %eps))
sq = Pow(Cast?(@c), 2) | Mul(@c, @c) | Pow(Sub(x, mean), 2))";
constexpr const char* kLayerNorm = R"(
y = LayerNormalization(x, #gamma, #beta) | LayerNormalization(x, #gamma) | Cast?(z) | tf
z = Add(Mul(Cast?(n), #gamma), #beta) | Mul(Cast?(n), #gamma) | n
tf = Add(Mul(x, k:Mul(rs, #gamma)), Sub(#beta, Mul(mu:ReduceMean(x), @k))))";
constexpr const char* kRmsNorm = R"(
y = Cast?(Mul(#gamma, Cast?(n))) | Cast?(n)
n = Mul(x, rs) | Div(x, sd)
sd = Sqrt(v)
rs = Div(1, sd) | Reciprocal(sd) | Pow(v, -0.5)
v = Add(ReduceMean(sq), %eps)
sq = Pow(x, 2) | Mul(x, x))";
constexpr const char* kInput = "\nx = x:Cast?(@in)";
constexpr const char* kSum = "\nx = x:Cast?(sum:Add(@a, @b))";

// x/2 * (1 + f(x)) in every order of the factors
constexpr const char* kGelu = R"(
y = Cast?(z)
z = Mul(Mul(x, g), 0.5) | Mul(Mul(x, 0.5), g) | Mul(x, Mul(g, 0.5)) | Mul(Div(x, 2), g)
x = x:Cast?(@in)
g = Add(f, 1))";
constexpr const char* kErf = "\nf = Cast?(Erf(Cast?(e)))\ne = Div(x, 1.41421356) | Mul(x, 0.70710678)";
constexpr const char* kTanh = R"(
f = Tanh(t)
t = Mul(Add(x, Mul(cube, 0.044715)), 0.79788456) | Mul(Mul(x, 0.79788456), Add(Mul(Mul(x, x), 0.044715), 1)) | Mul(x, Add(Mul(Mul(x, x), 0.03567741), 0.79788456))
cube = Pow(x, 3) | Mul(x, Mul(x, x)) | Mul(Mul(x, x), x))";

constexpr const char* kAttention = R"(
y = MatMul(p, values)
p = Cast*(Softmax(Cast*(m)))
m = Add(s, @mask) | Where(@mask, s, #fill) | Where(@mask, #fill, s) | s
s = Add(c, @bias) | c
c = Cast*(Div(Cast*(qk), %scale)) | Cast*(Mul(Cast*(qk), %scale)) | Cast*(qk)
qk = MatMul(q, keys)
q = Mul(@q, %q_scale) | Div(@q, %q_scale) | @q
keys = Mul(kt, %k_scale) | kt
kt = Transpose(ks) | ks | Reshape(Transpose(Expand(Unsqueeze(@k))))
ks = Mul(kr, %k_scale) | kr
kr = Reshape(Expand(Unsqueeze(@k))) | Reshape(Expand(Reshape(@k))) | @k
values = Reshape(Expand(Unsqueeze(@v))) | Reshape(Expand(Reshape(@v))) | @v)";

std::string joined(const char* a, const char* b, const char* c = "") { return std::string(a) + b + c; }

std::vector<PatternRow> build() {
    using namespace guards;
    std::vector<PatternRow> t;
    // rotary: x * cos + rotate_half(x) * sin
    t.emplace_back("RotaryFusionPass", "RotaryFused", R"(
y = Cast?(Add(Mul(x, @cos), Mul(Concat(Neg(Split.1(x)), Split.0(x)), @sin)))
x = x:Cast?(@in))", std::vector<std::string>{}, 4, rotary);
    t.emplace_back("RotaryFusionPass", "RotaryFused", R"(
y = Cast?(Add(Mul(x, @cos), Mul(Concat(Neg(Slice(x)), Slice(x)), @sin)))
x = x:Cast?(@in))", std::vector<std::string>{}, 4, rotary);
    t.emplace_back("AttentionCorePass", "AttentionCore", kAttention, std::vector<std::string>{}, 3, attention);
    // tables of ids added up
    t.emplace_back("EmbeddingFusionPass", "EmbeddingFused", R"(
y = Add(two, Gather(#t2, @i2)) | two
two = Add(Gather(#t0, @i0), Gather(#t1, @i1)))", std::vector<std::string>{}, 2, embedding);
    // norms
    t.emplace_back("LayerNormFusionPass", "AddLayerNormFused", joined(kLayerNorm, kNormalised, kSum), std::vector<std::string>{"sum"}, 5, add_norm);
    t.emplace_back("LayerNormFusionPass", "LayerNormFused", joined(kLayerNorm, kNormalised, kInput), std::vector<std::string>{}, 5, norm);
    t.emplace_back("RMSNormFusionPass", "AddRMSNormFused", joined(kRmsNorm, kSum), std::vector<std::string>{"sum"}, 5, add_norm);
    t.emplace_back("RMSNormFusionPass", "RMSNormFused", joined(kRmsNorm, kInput), std::vector<std::string>{}, 5, norm);
    // activations
    t.emplace_back("GeluFusionPass", "GeluFused", joined(kGelu, kErf), std::vector<std::string>{}, 3, types, std::map<std::string, std::string>{{"approximate", "none"}});
    t.emplace_back("GeluFusionPass", "GeluFused", joined(kGelu, kTanh), std::vector<std::string>{}, 3, types, std::map<std::string, std::string>{{"approximate", "tanh"}});
    t.emplace_back("GeluFusionPass", "GeluFused", "y = Mul(@x, Sigmoid(Mul(@x, 1.702)))", std::vector<std::string>{}, 2, types, std::map<std::string, std::string>{{"approximate", "quick"}});
    // gates; SwiGLU stands before SiLU, which is its first half
    t.emplace_back("SwiGLUFusionPass", "SwiGLUFused", R"(
y = Cast?(Mul(Cast?(Mul(gate, Sigmoid(gate))), up))
gate = gate:Split.0(@in)
up = up:Split.1(@in))", std::vector<std::string>{}, 3, gated);
    t.emplace_back("SwiGLUFusionPass", "SwiGLUFused", "y = Mul(Cast?(Mul(@gate, Sigmoid(@gate))), @up)", std::vector<std::string>{}, 3, gated);
    t.emplace_back("GLUFusionPass", "GLUFused", "y = Mul(Sigmoid(gate:Split.1(@in)), up:Split.0(@in)) | Mul(Sigmoid(gate:Split.0(@in)), up:Split.1(@in))", std::vector<std::string>{}, 2, gated);
    t.emplace_back("GLUFusionPass", "GLUFused", "y = Mul(Sigmoid(@gate), @up)", std::vector<std::string>{}, 3, gated);
    t.emplace_back("SiluFusionPass", "SiluFused", "y = Mul(@x, Sigmoid(@x))", std::vector<std::string>{}, 2, types);
    t.emplace_back("SiluFusionPass", "HardSwishFused", "y = Mul(@x, HardSigmoid(@x)) | Mul(@x, Div(Clip(Add(@x, 3)), 6)) | Div(Mul(@x, Clip(Add(@x, 3))), 6)", std::vector<std::string>{}, 2, types);
    t.emplace_back("MoEFusionPass", "MoEExpertFused", R"(
y = Mul(MatMul(h, #down), @route)
h = SwiGLUFused(g, MatMul(@x, #up)) | SwiGLUFused(MatMul(@x, #up), g)
g = MatMul(@x, #gate))", std::vector<std::string>{}, 3, types);
    // a convolution and what follows it
    t.emplace_back("ConvBnReluAddPass", "ConvBnReluAdd", R"(
y = Relu(s) | Clip(s) | LeakyRelu(s) | HardSwish(s) | Sigmoid(s) | s
s = Add(k, @residual) | k
k = bn:BatchNormalization(conv:Conv(@x)) | conv:Conv(@x))", std::vector<std::string>{}, 2, convolution);
    t.emplace_back("MatMulFusionPass", "MatMulFused", R"(
y = Add(mm, #bias) | mm
mm = mm:MatMul(a, b)
a = Transpose(@a) | @a
b = Transpose(@b) | @b)", std::vector<std::string>{}, 3, matmul);
    // groups of groups
    t.emplace_back("LayerNormGeluPass", "LayerNormGeluFused", "y = GeluFused(LayerNormFused(@x)) | LayerNormFused(GeluFused(@x)) | GeluFused(AddLayerNormFused(@x))", std::vector<std::string>{}, 2, types);
    t.emplace_back("EmbeddingLayerNormPass", "EmbeddingLayerNormFused", "y = LayerNormFused(EmbeddingFused(@x))", std::vector<std::string>{}, 2, types);
    return t;
}

}  // namespace

const std::vector<PatternRow>& pattern_rows() {
    static const std::vector<PatternRow> rows = build();
    return rows;
}

}  // namespace sfumato::fusion
