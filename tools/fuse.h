// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `sfumato fuse` says about a model: the same content as terminal text, as Markdown and as JSON.
#include <string>

#include "fusion/compile.h"

namespace sfumato::tools {

struct FuseReport {
    const fusion::CompiledModel& model;
    const isa::Chip& chip;
    std::string file;
    bool compare = false;  ///< a column for the named patterns alone too
    bool verified = false; ///< the audit was asked for
    std::optional<fusion::OutputValues> values;
    double wall_s = 0;
};
std::string fuse_text(const FuseReport&);
std::string fuse_markdown(const FuseReport&);
std::string fuse_json(const FuseReport&);
/// {"node": ..., "story": [lines]}
std::string fuse_story_json(const std::string& node, const std::string& story);

}  // namespace sfumato::tools
