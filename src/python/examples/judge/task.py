"""A task in KernelBench's form: rows are scaled to a root mean square of one."""

import torch
from torch import nn


class Model(nn.Module):
    """RMS normalisation over the features, with a weight."""

    def __init__(self, features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(features) + 0.5)
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One row is independent of the others."""
        rms = torch.sqrt(torch.mean(x * x, dim=1, keepdim=True) + self.eps)
        return x / rms * self.weight


batch_size = 4096
features = 1024


def get_inputs() -> list[torch.Tensor]:
    """One batch."""
    return [torch.rand(batch_size, features)]


def get_init_inputs() -> list[int]:
    """The arguments of `Model`."""
    return [features]
