"""torch.nn.DataParallel over several CPUs. PyTorch's own scatters only to CUDA devices, and on the CPU it only calls
its module; this one does on CPUs what PyTorch's does on GPUs
(torch/nn/parallel/{data_parallel,replicate,_functions}.py)."""

import torch
from torch import nn
from torch.func import functional_call


class Broadcast(torch.autograd.Function):
    """Copies each of the tensors `copies` times; their gradients are added in the order of the copies."""

    @staticmethod
    def forward(ctx, copies, *tensors):
        ctx.tensors = len(tensors)
        return tuple(tensor.clone() for _ in range(copies) for tensor in tensors)

    @staticmethod
    def backward(ctx, *gradients):
        sums = []
        for first in range(ctx.tensors):
            of_first, *of_others = gradients[first :: ctx.tensors]
            total = of_first.clone()
            for gradient in of_others:
                total.add_(gradient)
            sums.append(total)
        return None, *sums


class DataParallel(nn.Module):
    def __init__(self, module, devices):
        super().__init__()
        self.module, self.devices = module, devices

    def forward(self, x):
        if self.devices == 1:
            return self.module(x)
        chunks = [chunk.clone() for chunk in x.chunk(self.devices)]
        names, parameters = zip(*self.module.named_parameters())
        copies = Broadcast.apply(len(chunks), *parameters)
        outputs = []
        for i, chunk in enumerate(chunks):
            replica = dict(zip(names, copies[i * len(names) : (i + 1) * len(names)]))
            if i > 0:  # the module's own buffers are the first device's
                replica |= {name: buffer.clone() for name, buffer in self.module.named_buffers()}
            outputs.append(functional_call(self.module, replica, (chunk,)))
        return torch.cat(outputs)
