// SPDX-License-Identifier: Apache-2.0
#include "lab/queue.h"

#include "isa/diagnostic.h"

namespace sfumato::lab {

Queue::Queue(std::span<const Prepared> kernels) {
    std::vector<HostTensor> all;
    for (std::size_t l = 0; l < kernels.size(); ++l) {
        const Prepared& p = kernels[l];
        tensors_.push_back(host_tensors(p.program(), p.params, p.chip));
        device_.emplace_back();
        for (std::size_t t = 0; t < tensors_[l].size(); ++t) {
            if (const auto source = p.bound.find(t); source != p.bound.end()) {
                device_[l].push_back(device_[source->second.first][source->second.second]);
                continue;
            }
            device_[l].push_back(static_cast<int>(owners_.size()));
            owners_.push_back({l, t});
            all.push_back(tensors_[l][t]);
            all.back().name = name({l, t});
        }
    }
    if (kernels.size() > 1) check_device_memory(all, kernels.front().chip);
}

std::string Queue::name(TensorRef r) const { return (tensors_.size() > 1 ? std::to_string(r.launch + 1) + "." : "") + of(r).name; }

TensorRef Queue::find(const std::string& option, const std::string& wanted) const {
    std::vector<std::string> known;
    std::vector<TensorRef> plain;
    for (std::size_t l = 0; l < tensors_.size(); ++l)
        for (std::size_t t = 0; t < tensors_[l].size(); ++t) {
            known.push_back(name({l, t}));
            if (known.back() == wanted) return {l, t};
            if (tensors_[l][t].name == wanted) plain.push_back({l, t});
        }
    if (plain.empty()) require_known(option + " tensor", wanted, known);
    if (plain.size() > 1)
        throw isa::InputError(option + " " + wanted + ": several kernels of the run have a tensor of that name; write " + name(plain[0]) + " or " + name(plain[1]));
    return plain.front();
}

}  // namespace sfumato::lab
