"""Traced functions of torch against torch itself: by an evaluator of formulas, and by the program's counterexamples."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from formulas import evaluate

import volta
from volta import arg
from volta.trace.functions import library_of

Case = tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]


def _inplace(x: Any) -> Any:
    y = x.clone()
    y[:, 1] = 0
    y[1:, ::2] += 2.0
    y.mul_(3)
    return y


def _loop(x: Any) -> Any:
    for i in range(x.shape[0] - 1):
        x = x + x[i] * 0.5
    return x


def _scan(x: Any) -> Any:
    h = torch.zeros_like(x[0])
    out = []
    for t in range(x.shape[0]):
        h = torch.tanh(h * 0.5 + x[t])
        out.append(h)
    return torch.stack(out)


def _filled(x: Any) -> Any:
    out = torch.empty_like(x)
    out[:, :2] = x[:, 2:]
    out[:, 2:] = x[:, :2] + 1
    return out


def _masked(x: Any) -> Any:
    y = x.clone()
    y[y < 0.5] = 0
    y[x > 0.8] = 2.0
    return y


def _rows(x: Any) -> Any:
    y = x.clone()
    y[[0, -1]] = x[1:3] * 2
    y[torch.arange(2), torch.tensor([2, 1])] = 7.0
    return y


def _rope(x: Any) -> Any:
    half = x.shape[-1] // 2
    angles = torch.outer(torch.arange(x.shape[0]).to(x), 1.0 / 10000 ** (torch.arange(0, half).to(x) / half))
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1)


def _added(x: Any) -> Any:
    rows = torch.zeros_like(x).index_add(0, torch.tensor([0, 1, 0]), x)
    return rows.scatter_add(1, torch.tensor([[0, 0, 1, 3], [3, 2, 1, 0]]), x)


def _towards_zero(x: Any) -> Any:
    n = (x * 99 - 50).int()
    return torch.div(n, 7, rounding_mode="trunc") - torch.div(n, -7, rounding_mode="trunc") + torch.fmod(n, 9)


def _bits(x: Any) -> Any:
    n = (x * 99 - 50).int()
    return (n >> 2) + (n & 15) + (n & 0x30) + ~n + (n & -8)


def _bytes(x: Any) -> Any:
    u, s = (x * 255).int().to(torch.uint8), (x * 255 - 128).int().to(torch.int8)
    return (u + u).int() + u * u + ~u + -u + (u - 200) + (s + s).int() + s * s + ~s + -s + s.abs() + (s - 100)


def _words(x: Any) -> Any:
    n = (x * 99 - 50).int()
    return (n * 2**30).long() + (n - 2147483647) + (n.to(torch.int16) * 1000).long() + n**2 // -7 + n % -7


def _statistics(x: Any, mean: Any, deviation: Any) -> Any:
    mean, deviation = mean.clone(), deviation.clone()
    y = F.batch_norm(x, mean, deviation, training=True, momentum=0.3)
    return torch.cat([y.flatten(), mean, deviation])


def _made_of_integers(x: Any) -> Any:
    y, z = torch.zeros(3, 4, dtype=torch.int32), torch.empty(3, 4, dtype=torch.int64)
    y[:] = x * 10
    y[0] += 2
    z[:] = (x * 10).int()
    return y / 4 + z


BLIND = torch.tensor([[False, False, False], [True, True, False]])
BOUNDS = torch.tensor([0.2, 0.5, 0.8])


def _window(q: Any, k: Any, v: Any) -> Any:
    i, j = torch.arange(4)[:, None], torch.arange(4)[None]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=(j <= i) & (i - j < 2))


FUNCTIONS: dict[str, Case] = {
    "axpy": (lambda x, y: 2.5 * x + y, ((5,), (5,))),
    "alpha": (lambda x, y: torch.add(x, y, alpha=2) - torch.sub(x, y, alpha=0.5), ((5,), (5,))),
    "rsub": (lambda x: 1 - x / 3 + 2 / (x + 1), ((5,),)),
    "broadcast": (lambda x, y: x - y[:, None] + y[None] * 1e-5, ((3, 3), (3,))),
    "pointwise": (lambda x: x.exp() + x.log() * x.sqrt() - x.rsqrt() + x.sin().cos() + x.tanh().abs(), ((4,),)),
    "logs": (lambda x: torch.log2(x) + torch.log10(x) + torch.log1p(x) + torch.expm1(x) + torch.exp2(x), ((4,),)),
    "hyperbolic": (lambda x: torch.sinh(x) + torch.cosh(x) + torch.tan(x) + torch.erf(x), ((4,),)),
    "rounding": (lambda x: (x * 7).floor() + (x * 7).ceil() + (x * -7).trunc() + (x * 7).round() + x.frac(), ((6,),)),
    "halves": (lambda x: torch.round(torch.floor(x * 8) - 3.5), ((6,),)),
    "sign": (lambda x: torch.sign(x - 0.5) * x, ((6,),)),
    "powers": (lambda x: x**2 + x**-1 + x**0.5 + x**-0.5 + x**1.5 + x.pow(3) + 2**x, ((5,),)),
    "clamps": (lambda x: x.clamp(0.2, 0.6) + x.clamp(min=0.5) + x.clamp_max(0.3) + F.relu6(x * 9), ((6,),)),
    "minmax": (lambda x, y: torch.maximum(x, y) - torch.minimum(x, y) + torch.fmax(x, y), ((5,), (5,))),
    "where": (lambda x, y: torch.where((x > 0.5) & ~(y < 0.3), x, -y) + x.masked_fill(x < 0.5, -1.0), ((6,), (6,))),
    "masks": (lambda x: (x > 0.5) * x + (x <= 0.5).float() + ((x > 0.2) ^ (x > 0.7)).to(x.dtype), ((6,),)),
    "relu": (lambda x: F.relu(x - 0.5) + F.leaky_relu(x - 0.5, 0.1) + F.elu(x - 0.5) + F.selu(x - 0.5), ((5,),)),
    "gelu": (lambda x: F.gelu(x - 0.5) + F.gelu(x - 0.5, approximate="tanh"), ((5,),)),
    "smooth": (lambda x: F.silu(x) + F.mish(x) + F.softplus(x) + F.logsigmoid(x) + torch.sigmoid(x), ((5,),)),
    "hard": (lambda x: F.hardswish(x * 8 - 4) + F.hardsigmoid(x * 8 - 4) + F.hardtanh(x * 4 - 2) + F.softsign(x), ((5,),)),
    "shrinks": (lambda x: F.softshrink(x - 0.5, 0.2) + F.hardshrink(x - 0.5, 0.2) + F.tanhshrink(x), ((6,),)),
    "sums": (lambda x: x.sum() + x.sum(0) + x.sum((0, 1), keepdim=True) + x.mean(1)[:2].mean(), ((4, 3),)),
    "prod": (lambda x: x.prod(1) + torch.prod(x), ((3, 2),)),
    "extremes": (lambda x: x.max() - x.min() + x.amax(0) - x.amin(1).sum() + x.max(1).values.sum(), ((3, 4),)),
    "variance": (lambda x: x.var(1) + x.std(1) + x.var(1, unbiased=False) + torch.var_mean(x, 1)[1], ((3, 4),)),
    "norms": (lambda x: x.norm() + torch.linalg.norm(x, dim=1) + x.norm(1, dim=1) + x.norm(math.inf, dim=1), ((3, 4),)),
    "normalize": (lambda x: F.normalize(x, dim=1) + F.normalize(x, p=1, dim=0), ((3, 4),)),
    "logsumexp": (lambda x: torch.logsumexp(x, 1) + x.logsumexp((0, 1)), ((3, 4),)),
    "cumulative": (lambda x: x.cumsum(1) + x.cumprod(0), ((3, 4),)),
    "reversed": (lambda x: x.flip(1).cumsum(1).flip(1), ((3, 4),)),
    "exclusive": (lambda x: torch.cat([torch.zeros_like(x[:, :1]), x], 1)[:, :-1].cumsum(1), ((3, 4),)),
    "softmax": (lambda x: torch.softmax(x, -1) + F.log_softmax(x, 0) + F.softmin(x, dim=1), ((3, 4),)),
    "matmul": (lambda a, b: torch.relu(a @ b) + torch.mm(a, b) + torch.matmul(a, b), ((3, 4), (4, 2))),
    "vectors": (lambda a, b: (a @ b) * a + torch.mv(a[None], b).sum() + torch.dot(a, b), ((4,), (4,))),
    "batched": (lambda a, b: torch.bmm(a, b) + a @ b[0] + torch.baddbmm(a @ b, a, b, beta=0.5, alpha=2), ((2, 3, 4), (2, 4, 5))),
    "linear": (lambda x, w, b: F.linear(x, w, b) + torch.addmm(b, x, w.T), ((3, 4), (5, 4), (5,))),
    "einsum": (lambda a, b: torch.einsum("bij,bkj->bik", a, b), ((2, 3, 4), (2, 2, 4))),
    "outer": (lambda a, b: torch.outer(a, b) + torch.einsum("i,j->ij", a, b), ((3,), (4,))),
    "bilinear": (lambda a, b, w: F.bilinear(a, b, w), ((3, 4), (3, 2), (5, 4, 2))),
    "slices": (lambda x: x[1:, ::2] + x[:-1, :3] + x[..., -3:][1:], ((4, 6),)),
    "select": (lambda x: x[-1] - x[0, 2] + x[:, 1].sum() + x.narrow(0, 1, 2)[0], ((3, 4),)),
    "views": (lambda x: x.view(2, 3, 4).transpose(0, 2).reshape(4, 6).T.contiguous().view(-1), ((6, 4),)),
    "permute": (lambda x: x.permute(2, 0, 1).flatten(1).unsqueeze(0).squeeze(0), ((2, 3, 4),)),
    "shuffle": (lambda x: x.view(2, 2, 2, 3).transpose(1, 2).reshape(2, 4, 3), ((2, 4, 3),)),
    "joins": (lambda a, b: torch.cat([a, b, a], 1) + torch.cat(torch.stack([b, b, b, b, b], -1).unbind(-1), 1), ((2, 2), (2, 1))),
    "stack": (lambda a, b: torch.stack([a, b], 1) + torch.vstack([a, b]).view(3, 2, 2).sum((0, 2)).sum(), ((3, 2), (3, 2))),
    "chunks": (lambda x: torch.chunk(x, 2, -1)[0] * F.silu(x.chunk(2, -1)[1]) + x.split([3, 3], 1)[0], ((2, 6),)),
    "glu": (lambda x: F.glu(x, 1), ((2, 6),)),
    "flip": (lambda x: x.flip(0) + torch.roll(x, 1, 1) + torch.roll(x, -2), ((3, 4),)),
    "tile": (lambda x: x.repeat(2, 3) + x.tile((2, 3)) + x.repeat_interleave(2, 0).repeat(1, 3), ((3, 2),)),
    "expand": (lambda x: x[:, None].expand(-1, 4) + x.expand(4, 3).T, ((3,),)),
    "triangles": (lambda x: torch.tril(x) + torch.triu(x, 1) * 2 + torch.eye(3) + x.diagonal()[None], ((3, 3),)),
    "trace": (lambda x: x.trace() + torch.diag(x).sum(), ((3, 3),)),
    "pad": (lambda x: F.pad(x, (1, 2, 1, 0)) + F.pad(x, (3, 0, 0, 1), value=2.0), ((3, 2),)),
    "replicate": (lambda x: F.pad(x[None], (1, 1), mode="replicate")[0], ((3, 4),)),
    "unfold": (lambda x: x.unfold(1, 3, 2).sum(-1), ((2, 7),)),
    "inplace": (_inplace, ((3, 4),)),
    "loop": (_loop, ((3, 2),)),
    "scan": (_scan, ((4, 2),)),
    "arange": (lambda x: x * torch.arange(4) + torch.arange(1, 3, 0.5) + torch.arange(8).view(2, 4)[1] // 3 % 2, ((4,),)),
    "positions": (lambda x: x + 10000 ** (-torch.arange(4) / 4.0), ((4,),)),
    "constants": (lambda x: x * torch.tensor([1.0, -2.0, 0.5]) + torch.ones(3) - torch.full((3,), 0.25), ((2, 3),)),
    "device": (lambda x: x.to("cuda") + torch.zeros(3, device="cuda").cuda() + torch.ones(3, device=x.device), ((3,),)),
    "casts": (lambda x: x.float().double() + (x * 9).int() + x.double().to(torch.float32), ((5,),)),
    "argmax": (lambda x: x.argmax(1) + x.argmin(1), ((3, 4),)),
    "any": (lambda x: ((x > 0.9).any(1) | (x > 0.1).all(1)).float() + (x > 0.3).sum(1), ((5, 3),)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b, 1e-5), ((3, 4), (4,), (4,))),
    "layer_norm2": (lambda x: F.layer_norm(x, (3, 4)), ((2, 3, 4),)),
    "rms_norm": (lambda x, w: F.rms_norm(x, (4,), w, 1e-6), ((3, 4), (4,))),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), ((2, 4, 3), (4,), (4,))),
    "instance_norm": (lambda x: F.instance_norm(x), ((2, 3, 4),)),
    "batch_norm": (lambda x, m, v, w: F.batch_norm(x, m, v, w), ((2, 3, 4), (3,), (3,), (3,))),
    "batch_norm_train": (lambda x, w: F.batch_norm(x, None, None, w, training=True), ((2, 3, 2), (3,))),
    "local_norm": (lambda x: F.local_response_norm(x, 3), ((1, 4, 2),)),
    "conv1d": (lambda x, w, b: F.conv1d(x, w, b, padding=1, stride=2), ((2, 3, 6), (2, 3, 3), (2,))),
    "conv2d": (lambda x, w: F.conv2d(x, w, padding=1, dilation=2), ((1, 2, 5, 5), (2, 2, 2, 2))),
    "grouped": (lambda x, w: F.conv2d(x, w, groups=2), ((1, 4, 3, 3), (4, 2, 2, 2))),
    "depthwise": (lambda x, w: F.conv1d(x, w, groups=3, padding="same"), ((1, 3, 5), (3, 1, 3))),
    "conv3d": (lambda x, w: F.conv3d(x, w), ((1, 1, 3, 3, 3), (2, 1, 2, 2, 2))),
    "transposed": (lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1), ((1, 2, 3, 2), (2, 2, 3, 3), (2,))),
    "transposed_groups": (lambda x, w: F.conv_transpose1d(x, w, groups=2, output_padding=1, stride=2), ((1, 4, 3), (4, 1, 2))),
    "max_pool": (lambda x: F.max_pool2d(x, 2, 1, padding=1) + F.max_pool2d(x, 4, 1, 2), ((1, 2, 4, 4),)),
    "max_pool1d": (lambda x: F.max_pool1d(x, 2, 1, dilation=2) + F.max_pool1d(x, 3, 1), ((1, 2, 6),)),
    "max_pool_ceil": (lambda x: F.max_pool2d(x, 2, ceil_mode=True), ((1, 1, 5, 3),)),
    "avg_pool": (lambda x: F.avg_pool2d(x, 2, padding=1) + F.avg_pool2d(x, 2, padding=1, count_include_pad=False), ((1, 1, 4, 4),)),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 3, 2), ((2, 2, 7),)),
    "avg_pool_ceil": (lambda x: F.avg_pool2d(x, 2, ceil_mode=True), ((1, 1, 5, 3),)),
    "adaptive": (lambda x: F.adaptive_avg_pool2d(x, 1) + F.adaptive_avg_pool2d(x, (2, 2)), ((1, 2, 4, 4),)),
    "upsample": (lambda x: F.interpolate(x, scale_factor=2, mode="nearest"), ((1, 2, 2, 3),)),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), ((1, 4, 2, 2),)),
    "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), ((1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4))),
    "causal": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3), ((1, 1, 4, 2),) * 3),
    "biased": (lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m), (*((1, 1, 3, 2),) * 3, (3, 3))),
    "gqa": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), ((1, 4, 3, 2), (1, 2, 3, 2), (1, 2, 3, 2))),
    "manual": (
        lambda q, k, v: (
            torch.softmax((q @ k.mT / math.sqrt(4)).masked_fill(torch.ones(3, 3).triu(1).bool(), -math.inf), -1) @ v
        ),
        ((2, 3, 4), (2, 3, 4), (2, 3, 4)),
    ),
    "cosine": (lambda a, b: F.cosine_similarity(a, b), ((3, 4), (3, 4))),
    "mse": (lambda a, b: F.mse_loss(a, b) + F.l1_loss(a, b, reduction="sum"), ((3, 4), (3, 4))),
    "huber": (lambda a, b: F.smooth_l1_loss(a, b * 3) + F.huber_loss(a * 3, b), ((3, 4), (3, 4))),
    "kl": (lambda a, b: F.kl_div(a.log(), b, reduction="batchmean"), ((3, 4), (3, 4))),
    "hinge": (lambda a, b: torch.mean(torch.clamp(1 - a * b, min=0)) + F.hinge_embedding_loss(a, torch.ones(3)), ((3,), (3,))),
    "triplet": (lambda a, b, c: F.triplet_margin_loss(a, b, c), ((3, 4), (3, 4), (3, 4))),
    "bce": (lambda a, b: F.binary_cross_entropy_with_logits(a, b), ((3, 4), (3, 4))),
    "cross_entropy": (lambda x: F.cross_entropy(x, torch.tensor([1, 0, 2])), ((3, 4),)),
    "smoothing": (lambda x: F.cross_entropy(x, torch.tensor([1, -100, 2]), label_smoothing=0.1), ((3, 4),)),
    "soft_targets": (lambda x, t: F.cross_entropy(x, t), ((3, 4), (3, 4))),
    "dropout": (lambda x: F.dropout(x, 0.5, training=False) + torch.lerp(x, x * 2, 0.25) + torch.addcmul(x, x, x), ((4,),)),
    "scalar": (lambda x: x.abs().max(), ((3, 2),)),
    "several": (lambda x: (x.sum(1), x.max(0).values)[1], ((3, 4),)),
    "empty": (lambda x: torch.empty(3, 4).copy_(x) + torch.empty_like(x).fill_(2.0), ((3, 4),)),
    "filled": (_filled, ((3, 4),)),
    "no_shape": (lambda x: x + 1, ((),)),
    "correction": (lambda x: torch.var(x, dim=1, correction=0) + torch.std(x, 1, correction=2) + x.std(dim=(0, 1)), ((3, 4),)),
    "nan": (lambda x: x.nanmean(1) + torch.nansum(x, 1) + torch.nan_to_num(x).sum() + torch.isfinite(x).all(), ((3, 4),)),
    "bounds": (lambda x, y: torch.clamp(x, min=y) + torch.clip(x, 0.2, 0.5), ((3, 4), (3, 4))),
    "pads": (lambda x: F.pad(x[None], (2, 1), mode="reflect")[0] + F.pad(x, (-1, 4)), ((3, 4),)),
    "running": (lambda x: torch.cummax(x, 1).values + torch.logcumsumexp(x, 1) - torch.cummin(x, 0)[0], ((3, 4),)),
    "one_hot": (lambda x: F.one_hot(x.argmax(1), 4) * x, ((3, 4),)),
    "picked": (lambda x: x.gather(1, torch.tensor([[0, 1], [2, 3], [1, 1]])) + x[[2, 0, 1], 1:3], ((3, 4),)),
    "from_the_end": (lambda x: x[torch.tensor([-1, 0])] + x[:2][:, [-1, -2, 0, 1]], ((3, 4),)),
    "masked_write": (_masked, ((3, 4),)),
    "written_rows": (_rows, ((4, 3),)),
    "topk": (lambda x: torch.topk(x, 2).values + x.topk(2, largest=False, dim=1)[0], ((3, 4),)),
    "sorted": (lambda x: torch.sort(x).values + x.sort(0, descending=True)[0] + x.median(1, keepdim=True).values, ((3, 4),)),
    "kth": (lambda x: x.kthvalue(2, 1).values + x.median(), ((3, 4),)),
    "scatter": (lambda x: torch.zeros(3, 4).scatter(1, torch.tensor([[0], [2], [1]]), x[:, :1].float()), ((3, 4),)),
    "scattered": (lambda x: torch.zeros_like(x).scatter_(1, x.argmax(1, keepdim=True), 1.0) * x, ((3, 4),)),
    "added": (_added, ((3, 4),)),
    "rope": (_rope, ((3, 4),)),
    "interleaved": (lambda x: torch.stack([x[..., ::2] - x[..., 1::2], x[..., ::2]], -1).flatten(-2), ((3, 4),)),
    "window": (_window, ((1, 2, 4, 2),) * 3),
    "dots": (lambda a, b: torch.einsum("...ij,...jk->...ik", a, b) + torch.tensordot(a, b[0], dims=1), ((2, 3, 4), (2, 4, 2))),
    "distances": (lambda a, b: torch.cdist(a, b) + torch.cdist(a, b, p=1) + torch.dist(a, b[:1]), ((3, 4), (2, 4))),
    "orders": (lambda x: x.norm(p=3, dim=1) + torch.linalg.vector_norm(x, ord=0.5), ((3, 4),)),
    "batches": (lambda m, a, b: m.addbmm(a, b, beta=0.5) + torch.addr(m, a[0, :, 0], b[0, 0]), ((3, 4), (2, 3, 2), (2, 2, 4))),
    "inverse": (lambda x: torch.asinh(x) + torch.acosh(x + 1) + torch.atanh(x * 0.9) + torch.erfc(x), ((4,),)),
    "two": (lambda x, y: torch.logaddexp(x, y) + torch.logaddexp2(x, y) + torch.hypot(x, y) + torch.fmod(x, -y), ((4,), (4,))),
    "uneven": (lambda x: F.adaptive_avg_pool1d(x, 3) + F.adaptive_max_pool1d(x, 3), ((1, 2, 5),)),
    "adaptive_max": (lambda x: F.adaptive_max_pool2d(x, 2) + F.adaptive_max_pool2d(x, 1), ((1, 2, 4, 4),)),
    "twice_as_wide": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), ((1, 1, 2, 3),)),
    "corners": (lambda x: F.interpolate(x, size=(3, 3), mode="bilinear", align_corners=True), ((1, 1, 2, 2),)),
    "fold": (lambda x: F.fold(x, (3, 3), 2), ((1, 8, 4),)),
    "buckets": (lambda x: torch.bucketize(x, BOUNDS) + torch.searchsorted(BOUNDS.to(x), x, right=True), ((5,),)),
    "integers": (lambda x: (x * 99 - 50).to(torch.int32) // 7 + (x * 99).long() % 5 + (x * 99).int() / 3, ((5,),)),
    "towards_zero": (_towards_zero, ((5,),)),
    "bits": (_bits, ((5,),)),
    "nibbles": (lambda x: ((x * 255).int()[:, None] >> torch.tensor([0, 4]) & 0xF).flatten() - 8.0, ((5,),)),
    "narrow": (lambda x: (x * 999).int().to(torch.int8) + (x * 999 - 500).int().to(torch.uint8).int(), ((5,),)),
    "quantized": (lambda x: torch.clamp(torch.round(x * 127), -128, 127).to(torch.int8).float() / 127, ((5,),)),
    "bytes": (_bytes, ((5,),)),
    "words": (_words, ((5,),)),
    "made_of_integers": (_made_of_integers, ((3, 4),)),
    "truth": (lambda x: ((x > 0.2) + (x > 0.5)).float() + (~((x > 0.1) * (x > 0.5))).int(), ((7,),)),
    "statistics": (_statistics, ((2, 3, 2), (3,), (3,))),
    "sees_nothing": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, BLIND), ((2, 2, 2), (2, 3, 2), (2, 3, 3))),
    "heads": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True, scale=0.7),
        ((1, 4, 3, 2), (1, 2, 5, 2), (1, 2, 5, 2)),
    ),
    "smoothed": (lambda x, w: F.cross_entropy(x, torch.tensor([1, 2, 2]), w, ignore_index=2, label_smoothing=0.3), ((3, 4), (4,))),
    "soft": (lambda x, t, w: F.cross_entropy(x, t, weight=w, label_smoothing=0.1), ((3, 4), (3, 4), (4,))),
    "weighted": (lambda x, w: F.cross_entropy(x, torch.tensor([[[1, 0], [2, 2]]]), w, reduction="none"), ((1, 3, 2, 2), (3,))),
    "windows": (lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True) + F.avg_pool2d(x, 3, 2, 1, True, False), ((1, 1, 6, 5),)),
    "divisor": (lambda x: F.avg_pool2d(x, 2, 1, 1, divisor_override=3) + F.max_pool2d(x - 5, 2, 1, 1), ((1, 1, 4, 4),)),
    "apart": (lambda x: x[0, :, torch.tensor([1, 2])].T + x[torch.tensor([0, 1]), :, torch.tensor([1, 2])], ((2, 3, 4),)),
    "gradient": (lambda x: torch.func.grad(lambda z: (torch.sin(z) * z**2).sum())(x), ((5,),)),
    "strided": (lambda x: torch.as_strided(x, (2, 3), (1, 2), 1), ((3, 4),)),
    "known": (lambda x: x[torch.triu_indices(3, 3)[0], torch.triu_indices(3, 3)[1]] * torch.hann_window(6), ((3, 3),)),
}  # fmt: skip


def values(shapes: tuple[tuple[int, ...], ...]) -> dict[str, Any]:
    random = np.random.default_rng(0)
    return {n: random.uniform(0.1, 1.0, s) for n, s in zip("abcd", shapes)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_formula_is_what_torch_computes(name: str) -> None:
    f, shapes = FUNCTIONS[name]
    inputs = values(shapes)
    expected = _expected(f, inputs)
    formula = volta.function(f, {n: arg.input("f64", s) for n, s in zip("abcd", shapes)}, "torch")
    np.testing.assert_allclose(evaluate(formula.text, "y", expected.shape, inputs), expected, rtol=1e-6, atol=1e-12)


#: Functions that are not written in Python, and the library whose arrays they take.
OF_A_LIBRARY: dict[str, tuple[Callable[..., Any], str | None]] = {
    "function": (torch.sigmoid, "torch"),
    "nn": (F.softplus, "torch"),
    "method": (torch.Tensor.sigmoid, "torch"),
    "overload": (torch.ops.aten.sigmoid.default, "torch"),
    "partial": (functools.partial(torch.softmax, dim=1), "torch"),
    "ufunc": (np.tanh, "numpy"),
    "reduction": (functools.partial(np.sum, axis=0), "numpy"),
    "either": (operator.neg, None),
    "builtin": (abs, None),
}


@pytest.mark.parametrize("name", OF_A_LIBRARY)
def test_a_function_of_a_library_takes_its_arrays(name: str) -> None:
    f, library = OF_A_LIBRARY[name]
    assert library_of(f) == library
    inputs = values(((2, 3),))
    expected = _expected(f, inputs) if library != "numpy" else f(inputs["a"])
    formula = volta.function(f, {"a": arg.input("f64", (2, 3))})
    np.testing.assert_allclose(evaluate(formula.text, "y", expected.shape, inputs), expected, rtol=1e-6, atol=1e-12)


def _expected(f: Callable[..., Any], inputs: dict[str, Any]) -> Any:
    import unittest.mock

    tensors = [torch.tensor(v) for v in inputs.values()]
    to, zeros = torch.Tensor.to, torch.zeros

    def moved(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self if args[:1] == ("cuda",) else to(self, *args, **kwargs)

    with (
        unittest.mock.patch.object(torch.Tensor, "to", moved),
        unittest.mock.patch.object(torch.Tensor, "cuda", lambda self: self),
        unittest.mock.patch.object(torch, "zeros", lambda *a, **k: zeros(*a, **{n: v for n, v in k.items() if n != "device"})),
    ):
        return np.asarray(f(*tensors).detach(), dtype=float)


#: y[i] = 7777, by one thread for each element.
SEVENS = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k({parameters}) {{
    .reg .u32 %r<2>; .reg .u64 %rd<4>; .reg .f32 %f<2>;
    ld.param.u64 %rd1, [y];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    mov.f32 %f1, 0f45F30800;
    st.global.f32 [%rd3], %f1;
    ret;
}}
"""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_program_reads_the_formula_as_torch_computes(name: str) -> None:
    f, shapes = FUNCTIONS[name]
    expected = _expected(f, values(shapes))
    names = "abcd"[: len(shapes)]
    parameters = ", ".join(f".param .u64 {n}" for n in (*names, "y"))
    kernel = volta.ptx(SEVENS.format(parameters=parameters))
    args = {n: arg.input("f32", s) for n, s in zip(names, shapes)} | {"y": arg.output("f32", expected.shape)}
    formula = volta.function(lambda *x: f(*x).float(), {n: args[n] for n in names}, "torch")
    r = volta.check(formula, kernel, args=args, block=expected.size)
    found = r.counterexample
    assert found is not None, r
    assert found.reference is not None, r
    inputs = {n: found.inputs[n].astype(np.float64).reshape(s) for n, s in zip(names, shapes)}
    wanted = _expected(f, inputs)[found.element] if expected.shape else _expected(f, inputs)
    np.testing.assert_allclose(found.reference, wanted, rtol=1e-4, atol=1e-6)
