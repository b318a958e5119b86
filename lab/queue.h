// SPDX-License-Identifier: Apache-2.0
#pragma once
// Several kernels in one run share device memory: a tensor that one writes and a later one reads is one tensor of the device, so that what the
// first left in L2 is hit by the second. This says which tensor of which kernel is which tensor of the device.
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lab/lab.h"
#include "lab/tensors.h"

namespace sfumato::lab {

/// A tensor of a kernel of the run.
struct TensorRef {
    std::size_t launch = 0, tensor = 0;
};

class Queue {
public:
    /// Throws InputError when the tensors of all kernels together need more than device memory has.
    explicit Queue(std::span<const Prepared>);
    std::size_t launches() const { return tensors_.size(); }
    const std::vector<HostTensor>& tensors(std::size_t launch) const { return tensors_[launch]; }
    /// Device tensor of each tensor of a launch.
    const std::vector<int>& device(std::size_t launch) const { return device_[launch]; }
    /// Of each device tensor the kernel that brought it in.
    const std::vector<TensorRef>& owners() const { return owners_; }
    const HostTensor& of(TensorRef r) const { return tensors_[r.launch][r.tensor]; }
    int device(TensorRef r) const { return device_[r.launch][r.tensor]; }
    /// "C", "2.C" where several kernels run. Throws InputError for unknown names and for plain ones that several kernels have.
    TensorRef find(const std::string& option, const std::string& name) const;
    /// "C", or "2.C" where several kernels run.
    std::string name(TensorRef) const;

private:
    std::vector<std::vector<HostTensor>> tensors_;
    std::vector<std::vector<int>> device_;
    std::vector<TensorRef> owners_;
};

}  // namespace sfumato::lab
