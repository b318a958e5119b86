// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes that look for named patterns. The patterns themselves are rows of one table (patterns.cpp): pass, fused operator, text, guards.
#include <map>
#include <string>
#include <vector>

#include "fusion/pass.h"
#include "fusion/passes/pattern.h"

namespace sfumato::fusion {

struct PatternRow {
    std::string pass, fused;
    std::string text;
    std::vector<std::string> exported;  ///< captures that may be used outside: further outputs of the fused operator
    int evidence = 3;                   ///< nodes that must have matched for a miss to be reported
    Pattern::Guard guard;
    std::map<std::string, std::string> attributes;  ///< of the group: {"approximate", "tanh"}
    Pattern pattern;

    PatternRow(std::string pass, std::string fused, std::string text, std::vector<std::string> exported, int evidence, Pattern::Guard guard,
               std::map<std::string, std::string> attributes = {})
        : pass(std::move(pass)), fused(std::move(fused)), text(std::move(text)), exported(std::move(exported)), evidence(evidence), guard(std::move(guard)),
          attributes(std::move(attributes)), pattern(this->text) {}
};
const std::vector<PatternRow>& pattern_rows();

/// Runs the rows of one pass over the graph, consumers first, larger patterns first.
void run_pattern_pass(PassContext&, const std::string& pass);
/// The same with rows of one's own: what a custom pass is made of.
void run_patterns(PassContext&, const std::vector<const PatternRow*>&);

/// Attention: heads of three projections, the core, and both with rotary and cache in one.
void generate_qkv(PassContext&);
void fuse_attention(PassContext&);
void append_cache(PassContext&);
/// Element types that fused operators have kernels for.
bool kernel_type(ElemType);

}  // namespace sfumato::fusion
