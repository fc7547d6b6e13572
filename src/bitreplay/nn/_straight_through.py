"""Straight-through estimators: the forward value of a step, the gradient of something smooth.

They make the layers before the bits trainable.
"""

from __future__ import annotations

from typing import Any

import torch


def straight_through(x: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    """`value` in the forward pass, the gradient of `x` in the backward pass (where `mask` is true, if one is given).

    Examples
    --------
    >>> x = torch.tensor([0.2, 0.7], requires_grad=True)
    >>> y = straight_through(x, x.round())
    >>> (2 * y).sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([0.0, 1.0], [2.0, 2.0])
    """
    return _StraightThrough.apply(x, value, mask)  # type: ignore[no-any-return, no-untyped-call]


def heaviside(x: torch.Tensor, clip: float = 1.0) -> torch.Tensor:
    """1 where ``x >= 0``, else 0; the gradient is passed where ``|x| <= clip``.

    Examples
    --------
    >>> x = torch.tensor([-2.0, -0.5, 0.0, 3.0], requires_grad=True)
    >>> y = heaviside(x)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 0.0])
    """
    return straight_through(x, (x >= 0).to(x.dtype), x.abs() <= clip)


def sign(x: torch.Tensor, clip: float = 1.0) -> torch.Tensor:
    """1 where ``x >= 0``, else -1; the gradient is passed where ``|x| <= clip``.

    Unlike `torch.sign` it never gives 0, which is not a bit; sums of an even number of ±1 are often exactly 0.

    Examples
    --------
    >>> x = torch.tensor([-2.0, -0.5, 0.0, 3.0], requires_grad=True)
    >>> y = sign(x)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([-1.0, -1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 0.0])
    """
    return _Sign.apply(x, clip)  # type: ignore[no-any-return, no-untyped-call]


class _StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        ctx.mask = mask
        return value.detach().clone() if value is x else value.detach()

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        [gradient] = gradients
        return (gradient if ctx.mask is None else gradient * ctx.mask), None, None


class _Sign(torch.autograd.Function):
    """Binary networks spend much of their training time here, so it makes as few passes over the maps as possible."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, clip: float) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.beyond = clip * (1 + 1e-6)  # torch's function below is for |x| < clip; weights are often at clip exactly
        return torch.ge(x, 0, out=torch.empty_like(x)).mul_(2).sub_(1)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        [x], [gradient] = ctx.saved_tensors, gradients
        return torch.ops.aten.hardtanh_backward(gradient, x, -ctx.beyond, ctx.beyond), None
