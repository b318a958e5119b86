// SPDX-License-Identifier: Apache-2.0
// The one table of passes. docs/passes.md is printed from it.
#include <algorithm>

#include "fusion/passes/canonical.h"
#include "fusion/passes/named.h"

namespace sfumato::fusion {

namespace {

PassRow patterns(std::string name, int level, std::string summary, std::string term = "") {
    const std::string pass = name;
    return {std::move(name), PassKind::pattern, level, std::move(summary), std::move(term), [pass](PassContext& c) { run_pattern_pass(c, pass); }};
}

std::vector<PassRow> build() {
    using namespace canonical;
    const auto canon = [](std::string name, std::string summary, void (*run)(PassContext&)) { return PassRow{std::move(name), PassKind::canonical, 1, std::move(summary), "", run}; };
    return {
        {"DynamicShapeInferPass", PassKind::shape, 0, "types and shapes of every value, with batch and seq kept by name through shape arithmetic", "DynamicShapeInferPass", infer_dynamic_shapes},
        canon("ConstantFoldingPass", "nodes of constants are evaluated by the reference interpreter", fold_constants),
        canon("SymbolicFoldingPass", "shape arithmetic that is known: numbers become constants, targets of Reshape, Expand and Slice become 0, -1, 1 and last; equal sizes are computed once", fold_symbols),
        canon("IdentityRemovalPass", "Identity, except where an output of the graph has its name from it", remove_identities),
        canon("CastRemovalPass", "Casts to the same type, and pairs that widen and come back; a narrowing pair stays", remove_casts),
        canon("NoOpRemovalPass", "adding nothing, multiplying by 1, slices of everything, empty padding, Dropout at inference; never where the shape or a sign of zero would change", remove_no_ops),
        canon("CommonNodePass", "nodes that compute the same of the same", merge_common_nodes),
        canon("TransposeCompositionPass", "Transpose of Transpose, and those that keep the order", compose_transposes),
        canon("ReshapeCompositionPass", "Reshape, Squeeze, Unsqueeze and Flatten behind each other; never across a dimension of 0", compose_reshapes),
        canon("FlattenSinkingPass", "[batch, seq, k] -> [batch*seq, k] in front of a linear layer moves behind it (Gemm becomes MatMul and Add)", sink_flattening),
        canon("SliceMergePass", "slices that cover an axis once become one Split", merge_slices),
        canon("ConvFoldingPass", "BatchNormalization, and Mul and Add per channel, into the true constants of a convolution (rounded once more)", fold_into_convolutions),
        canon("DeadNodePass", "nodes whose results nobody uses", remove_dead_nodes),
        {"QKV_GenPass", PassKind::pattern, 2, "three projections of one input, or one and a Split, each put into heads", "QKV_Gen", generate_qkv},
        patterns("RotaryFusionPass", 2, "x * cos + rotate_half(x) * sin"),
        {"KVAppendPass", PassKind::pattern, 2, "new rows behind a cache that comes in and goes out, decided by structure", "KV-cache reuse", append_cache},
        patterns("AttentionCorePass", 2, "MatMul, scale, mask (Add or Where), Softmax with its Casts, MatMul; grouped heads", "AttentionCore"),
        {"AttentionFusionPass", PassKind::pattern, 2, "QKV_Gen, rotary, cache and AttentionCore of one block in one operator", "AttentionFusionPass", fuse_attention},
        patterns("EmbeddingFusionPass", 2, "rows of two or three tables added", "id-to-embedding lookup"),
        patterns("LayerNormFusionPass", 2, "LayerNorm of 9 nodes, of one, or in the form of TensorFlow; with the residual Add as a second output"),
        patterns("RMSNormFusionPass", 2, "RMSNorm with float32 islands; with the residual Add as a second output"),
        patterns("GeluFusionPass", 2, "GELU by erf, tanh (also with a float32 island) or sigmoid(1.702 x)"),
        patterns("SwiGLUFusionPass", 2, "gate * sigmoid(gate) * up, halves of one value or two", "SwiGLU"),
        patterns("GLUFusionPass", 2, "sigmoid(gate) * up: what the literature's SwiGLU listing computes"),
        patterns("SiluFusionPass", 2, "x * sigmoid(x), x * hardsigmoid(x)"),
        patterns("MoEFusionPass", 2, "one expert: SwiGLU MLP times its routing weight", "MLP-MoE"),
        patterns("LayerNormGeluPass", 2, "LayerNorm and GELU next to each other, in both orders", "LayerNormGeluFused"),
        patterns("EmbeddingLayerNormPass", 2, "LayerNorm of an embedding"),
        patterns("ConvBnReluAddPass", 1, "convolution, BatchNormalization whose weights are not at hand, residual Add, activation", "Conv-BN-ReLU"),
        patterns("MatMulFusionPass", 1, "Transposes of the last two axes and the bias of a MatMul", "vertical fusion"),
    };
}

}  // namespace

const std::vector<PassRow>& pass_table() {
    static const std::vector<PassRow> rows = build();
    return rows;
}

const std::vector<std::string>& fused_operators() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> out{"AttentionFused", "QKV_Gen", "KVAppend", "FusionGroup"};
        for (const PatternRow& row : pattern_rows())
            if (std::find(out.begin(), out.end(), row.fused) == out.end()) out.push_back(row.fused);
        return out;
    }();
    return names;
}

}  // namespace sfumato::fusion
