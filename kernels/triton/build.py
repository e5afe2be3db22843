#!/usr/bin/env python3
"""Compiles kernels.py to the PTX that is committed beside it, without a GPU.

    python3 -m venv triton
    triton/bin/pip install triton==3.5.1
    triton/bin/python kernels/triton/build.py [OUTPUT...]

Prints for each output the number of threads and the bytes of dynamic shared memory that its launch needs.
"""

import os
import re
import sys

os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")
HERE = os.path.dirname(os.path.abspath(__file__))
os.chdir(HERE)

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import kernels
import layers
import updates

P, F, I, C = "*fp32", "fp32", "i32", "constexpr"
ROW = {"x": P, "y": P, "n": C}
MASKED = {"x": P, "y": P, "size": I, "n": C}
NORM = {"x": P, "gamma": P, "beta": P, "y": P, "n": C}
PRODUCT = {"a": P, "b": P, "c": P, "alpha": F, "beta": F, "k": C, "tile": C, "step": C}
TILE = {"k": 32, "tile": 16, "step": 16}
H = "*fp16"
HALF = {"a": H, "b": H, "c": P, "k": C, "tile": C, "step": C, "late": C}
SMALL = {"k": 64, "tile": 32, "step": 16, "late": 0}
LARGE = {"k": 64, "tile": 64, "step": 32, "late": 0}
BOXES = {"a": H, "b": H, "c": P, "m": I, "n": I, "k": I, "depth": C, "tile": C, "step": C, "late": C}
MAPS = {
    "left": "tensordesc<fp16[64, 32]>",
    "right": "tensordesc<fp16[32, 64]>",
    "out": "tensordesc<fp32[64, 64]>",
    "depth": C,
    "tile": C,
    "step": C,
}
BOX = {"depth": 64, "tile": 64, "step": 32}
HEADS = {"q": H, "k": H, "v": H, "o": H, "n": C, "d": C, "step": C, "rescale": C}
HEAD = {"n": 64, "d": 16, "step": 32, "rescale": 1}
BYTES = {"a": "*i8", "b": "*i8", "left": P, "right": P, "c": P, "k": C, "tile": C, "step": C, "swap": C}
FEW = {"k": 64, "tile": 16, "step": 32, "swap": 0}
GATED = {"x": H, "gate": H, "up": H, "out": P, "k": C, "tile": C, "step": C, "swap": C}
GATE = {"k": 32, "tile": 16, "step": 16, "swap": 0}
GELU = {"x": P, "y": P, "n": C, "scale": C}
ROWS = {"x": P, "y": P, "m": C, "n": C, "tile": C, "shift": C}
APART = {"m": 32, "n": 16, "tile": 8, "shift": 0}
ROLES = {"a": H, "b": H, "c": H, "m": I, "n": I, "k": I, "rows": C, "columns": C, "step": C, "scale": C}
ROLE = {"rows": 128, "columns": 32, "step": 64, "scale": 1.0}
ACTORS = {"q": H, "k": H, "v": H, "o": H, "n": I, "d": C, "rows": C, "step": C, "rescale": C}
ACTOR = {"d": 16, "rows": 128, "step": 32, "rescale": 1}
WOVEN = {"x": P, "y": P, "z": P, "n": C, "swap": C}
GROUP = {"q": H, "k": H, "v": H, "o": H, "size": C, "d": C, "group": C, "step": C, "more": C}
FACTOR = {"p": P, "g": P, "r": P, "c": P, "out": P, "m": C, "n": C, "mean": C}
FACTORED = {"m": 16, "n": 16, "mean": 1}
WINDOW = {"q": H, "k": H, "v": H, "o": P, "n": C, "d": C, "step": C, "window": C, "cap": C}
WINDOWED = {"n": 64, "d": 16, "step": 32, "window": 40, "cap": 20.0}
LARGEST = {"x": P, "y": "*i32", "n": C, "first": C}
LOOKUP = {"ids": "*i32", "table": P, "out": P, "rows": C, "d": C, "shift": C}
BACKWARD = {"ids": "*i32", "grad": P, "table": P, "rows": C, "d": C, "shift": C}
LOOKED = {"rows": 8, "d": 4, "shift": 0}
GROUPED = {"size": 20, "d": 16, "group": 16, "step": 16, "more": 0}
IMAGES = {"x": P, "w": P, "y": P, "c": C, "h": C, "s": C, "o": C, "r": C, "tile": C}
PIXELS = {"x": H, "w": H, "y": P, "h": C, "s": C, "c": C, "o": C, "tile": C}
POOL = {"x": P, "y": P, "h": C, "s": C, "oh": C, "os": C, "tile": C, "mean": C}
POOLED = {"h": 7, "s": 6, "oh": 4, "os": 3, "tile": 16}
ROPE = {"x": P, "cos": P, "sin": P, "y": P, "heads": C, "d": C, "sign": C}
GROUPS = {"x": P, "g": P, "b": P, "y": P, "groups": C, "size": C, "s": C, "tile": C}
BATCH = {**dict.fromkeys(["x", "g", "b", "y", "mean_out", "scale_out"], P), "n": C, "c": C, "rows": C}
BATCH_BACK = {**dict.fromkeys(["x", "g", "d", "mean_in", "scale_in", "dx", "dg", "db"], P), "n": C, "c": C, "rows": C}
CAUSAL = {**dict.fromkeys("qkvo", P), "n": C, "d": C, "step": C, "group": C}
SEEN = {"n": 32, "d": 16, "step": 16}
ATTENTION_BACK = {**dict.fromkeys(["q", "k", "v", "o", "do", "lse", "dq", "dk", "dv"], P), "n": C, "d": C, "masked": C, "inner": C}
TILED = {"n": 16, "d": 16, "masked": 0, "inner": 1}
LABELS = {"x": P, "t": "*i32", "loss": P, "dx": P, "n": I, "ignored": I, "tile": C, "smoothing": C, "classes": C}
WELFORD = {"x": P, "g": P, "b": P, "y": P, "n": C}
ZEROS = {"x": "*i8", "w": "*i8", "scale": P, "zero": "*i8", "row_scale": P, "y": P, "k": C, "tile": C, "step": C}
RUNNING = {"x": P, "y": P, "n": I, "tile": C, "reverse": C}
RMS_BACK = {"x": P, "w": P, "d": P, "dx": P, "n": I, "tile": C}
NORM_BACK = {"x": P, "w": P, "d": P, "mean_in": P, "scale_in": P, "dx": P, "n": I, "tile": C}
SOFTMAX_BACK = {"y": P, "d": P, "dx": P, "n": I, "tile": C}
SWIGLU_BACK = {"a": P, "b": P, "d": P, "da": P, "db": P, "n": I, "tile": C}
LARGEST_ROW = {"x": P, "y": "*i32", "n": I, "tile": C, "first": C}
SURPRISE = {"p": P, "q": P, "y": P, "n": I, "tile": C, "factor": C}

KEPT = {"x": P, "keep": "*i32", "y": P, "n": C, "way": C, "mask": C, "guard": C}
INFINITY = float("inf")
KEEP = {"n": 8, "way": 1, "mask": -INFINITY, "guard": 0}
BELOW = {"x": P, "y": P, "n": C, "mask": C}
LOCKED = {"x": P, "total": P, "lock": "*i32", "n": C, "groups": C}
COUNTED = {"x": P, "total": P, "lock": "*i32", "count": "*i32", "n": C, "groups": C}
LARGER = {"x": P, "out": P, "size": I, "n": C, "least": C}
CHECKED = {"x": P, "y": P, "n": C, "positive": C}

# output, kernel, signature, constants, warps, and what is not (80, 1): architecture and stages
BUILDS = [
    ("softmax_32", kernels.softmax, ROW, {"n": 32}, 1),
    ("softmax_128", kernels.softmax, ROW, {"n": 128}, 4),
    ("softmax_128_one_warp", kernels.softmax, ROW, {"n": 128}, 1),
    ("softmax_masked_128", kernels.softmax_masked, MASKED, {"n": 128}, 4),
    ("softmax_128_wrong_coefficient", kernels.softmax_wrong_coefficient, ROW, {"n": 128}, 4),
    ("layernorm_64", kernels.layernorm, NORM, {"n": 64}, 2),
    ("layernorm_64_one_warp", kernels.layernorm, NORM, {"n": 64}, 1),
    ("layernorm_64_no_epsilon", kernels.layernorm_no_epsilon, NORM, {"n": 64}, 2),
    ("matmul_16", kernels.matmul, PRODUCT, TILE, 1),
    ("matmul_16_four_warps", kernels.matmul, PRODUCT, TILE, 4),
    ("matmul_16_no_beta", kernels.matmul_no_beta, PRODUCT, TILE, 1),
    *[
        (f"product_32_{stages}_stages_{warps}_warps", kernels.product, HALF, SMALL, warps, 80, stages)
        for stages in (1, 2, 3, 4)
        for warps in (4, 8)
    ],
    *[
        (f"product_16_{warps}_warps", kernels.product, HALF, {"k": 32, "tile": 16, "step": 16, "late": 0}, warps, arch, 2)
        for warps, arch in ((4, 80), (8, 90))
    ],
    ("product_32_late", kernels.product, HALF, {**SMALL, "late": 16}, 4, 80, 3),
    *[
        (f"product_64_sm_{arch}_{stages}_stages_{warps}_warps", kernels.product, HALF, LARGE, warps, arch, stages)
        for arch in (90, 100)
        for stages, warps in ((1, 4), (3, 4), (4, 8))
    ],
    ("product_64_sm_90_late", kernels.product, HALF, {**LARGE, "late": 32}, 4, 90, 3),
    ("product_64_sm_100_late", kernels.product, HALF, {**LARGE, "late": 32}, 4, 100, 3),
    *[
        (f"product_boxes_sm_{arch}_{stages}", kernels.product_described, BOXES, {**BOX, "late": 0}, 4, arch, stages)
        for arch in (90, 100)
        for stages in (1, 2)
    ],
    ("product_boxes_late", kernels.product_described, BOXES, {**BOX, "late": 32}, 4, 90, 2),
    *[(f"product_maps_sm_{arch}", kernels.product_mapped, MAPS, BOX, 4, arch, 2) for arch in (90, 100)],
    *[(f"attention_64_sm_{arch}", kernels.attention, HEADS, HEAD, 4, arch, 2) for arch in (80, 90, 100)],
    *[
        (f"attention_64_{stages}_stages_{warps}_warps", kernels.attention, HEADS, HEAD, warps, 80, stages)
        for stages in (1, 2, 3, 4)
        for warps in (4, 8)
        if (stages, warps) != (2, 4)
    ],
    *[
        (f"product_64_sm_80_{stages}_stages_{warps}_warps", kernels.product, HALF, LARGE, warps, 80, stages)
        for stages, warps in ((1, 4), (3, 4), (4, 8))
    ],
    ("product_bytes", kernels.product_bytes, BYTES, FEW, 4, 80, 1),
    ("product_bytes_stages", kernels.product_bytes, BYTES, FEW, 4, 80, 3),
    ("product_bytes_swapped", kernels.product_bytes, BYTES, {**FEW, "swap": 1}, 4, 80, 1),
    ("gelu_64", kernels.gelu, GELU, {"n": 64, "scale": 0.7071067811865476}, 2),
    ("gelu_64_wrong_scale", kernels.gelu, GELU, {"n": 64, "scale": 0.75}, 2),
    ("gated_16", kernels.gated, GATED, GATE, 4, 80, 2),
    ("gated_16_swapped", kernels.gated, GATED, {**GATE, "swap": 1}, 4, 80, 2),
    ("gathered_8", kernels.gathered, ROWS, APART, 4, 100, 1),
    ("gathered_8_one_warp", kernels.gathered, ROWS, APART, 1, 100, 1),
    ("gathered_8_shifted", kernels.gathered, ROWS, {**APART, "shift": 1}, 4, 100, 1),
    ("scattered_8", kernels.scattered, ROWS, APART, 4, 100, 1),
    ("scattered_8_one_warp", kernels.scattered, ROWS, APART, 1, 100, 1),
    ("scattered_8_shifted", kernels.scattered, ROWS, {**APART, "shift": 1}, 4, 100, 1),
    *[(f"product_by_roles_sm_{arch}", kernels.product_by_roles, ROLES, ROLE, 4, arch, 2) for arch in (90, 100)],
    ("product_by_roles_scaled", kernels.product_by_roles, ROLES, {**ROLE, "scale": 0.5}, 4, 100, 2),
    *[(f"attention_by_roles_sm_{arch}", kernels.attention_by_roles, ACTORS, ACTOR, 4, arch, 2) for arch in (80, 100)],
    ("attention_by_roles_no_rescale", kernels.attention_by_roles, ACTORS, {**ACTOR, "rescale": 0}, 4, 100, 2),
    ("woven_64", kernels.woven, WOVEN, {"n": 64, "swap": 0}, 4),
    ("woven_64_one_warp", kernels.woven, WOVEN, {"n": 64, "swap": 0}, 1),
    ("woven_64_swapped", kernels.woven, WOVEN, {"n": 64, "swap": 1}, 1),
    ("grouped_attention", kernels.grouped_attention, GROUP, GROUPED, 4, 80, 1),
    ("grouped_attention_stages", kernels.grouped_attention, GROUP, GROUPED, 4, 80, 3),
    ("grouped_attention_more", kernels.grouped_attention, GROUP, {**GROUPED, "more": 1}, 4, 80, 1),
    ("adafactor_16", kernels.adafactor, FACTOR, FACTORED, 4),
    ("adafactor_16_one_warp", kernels.adafactor, FACTOR, FACTORED, 1),
    ("argmax_128", kernels.argmax, LARGEST, {"n": 128, "first": 1}, 1),
    ("argmax_128_four_warps", kernels.argmax, LARGEST, {"n": 128, "first": 1}, 4),
    ("argmax_128_any_of_equals", kernels.argmax, LARGEST, {"n": 128, "first": 0}, 4),
    ("adafactor_16_no_mean", kernels.adafactor, FACTOR, {**FACTORED, "mean": 0}, 1),
    ("capped_window", kernels.capped_window, WINDOW, WINDOWED, 4, 80, 2),
    ("capped_window_sm_90", kernels.capped_window, WINDOW, WINDOWED, 4, 90, 2),
    ("capped_window_more", kernels.capped_window, WINDOW, {**WINDOWED, "window": 41}, 4, 80, 2),
    ("attention_64_sm_100_no_rescale", kernels.attention, HEADS, {**HEAD, "rescale": 0}, 4, 100, 2),
    ("lookup", kernels.lookup, LOOKUP, LOOKED, 1),
    ("lookup_four_warps", kernels.lookup, LOOKUP, LOOKED, 4),
    ("lookup_next", kernels.lookup, LOOKUP, {**LOOKED, "shift": 1}, 4),
    ("lookup_backward", kernels.lookup_backward, BACKWARD, LOOKED, 1),
    ("lookup_backward_four_warps", kernels.lookup_backward, BACKWARD, LOOKED, 4),
    ("lookup_backward_other", kernels.lookup_backward, BACKWARD, {**LOOKED, "shift": 1}, 4),
    ("convolution", layers.convolution, IMAGES, {"c": 2, "h": 5, "s": 6, "o": 3, "r": 3, "tile": 32}, 1),
    ("convolution_product", layers.convolution_product, PIXELS, {"h": 4, "s": 6, "c": 16, "o": 16, "tile": 32}, 4),
    ("maximum_pool", layers.pool, POOL, {**POOLED, "mean": 0}, 1),
    ("average_pool", layers.pool, POOL, {**POOLED, "mean": 1}, 1),
    ("rope", layers.rope, ROPE, {"heads": 2, "d": 8, "sign": 1}, 1),
    ("rope_backward", layers.rope, ROPE, {"heads": 2, "d": 8, "sign": -1}, 1),
    ("group_norm", layers.group_norm, GROUPS, {"groups": 2, "size": 3, "s": 5, "tile": 16}, 1),
    ("batch_norm", layers.batch_norm, BATCH, {"n": 6, "c": 3, "rows": 8}, 1),
    ("batch_norm_backward", layers.batch_norm_backward, BATCH_BACK, {"n": 6, "c": 3, "rows": 8}, 1),
    ("causal", layers.causal, CAUSAL, {**SEEN, "group": 1}, 4),
    ("causal_grouped", layers.causal, CAUSAL, {**SEEN, "group": 2}, 4),
    ("attention_backward", layers.attention_backward, ATTENTION_BACK, TILED, 4),
    ("attention_backward_causal", layers.attention_backward, ATTENTION_BACK, {**TILED, "masked": 1}, 4),
    ("attention_backward_no_sum", layers.attention_backward, ATTENTION_BACK, {**TILED, "inner": 0}, 4),
    ("cross_entropy", layers.cross_entropy, LABELS, {"tile": 16, "smoothing": 0.0, "classes": 11}, 1),
    ("cross_entropy_smoothed", layers.cross_entropy, LABELS, {"tile": 16, "smoothing": 0.1, "classes": 11}, 1),
    ("cross_entropy_more_classes", layers.cross_entropy, LABELS, {"tile": 16, "smoothing": 0.1, "classes": 16}, 1),
    ("welford_32", layers.welford, WELFORD, {"n": 32}, 1),
    ("welford_128", layers.welford, WELFORD, {"n": 128}, 4),
    ("bytes_with_zeros", layers.bytes_with_zeros, ZEROS, {"k": 64, "tile": 16, "step": 32}, 4),
    ("cumulative_sum", layers.running, RUNNING, {"tile": 16, "reverse": 0}, 1),
    ("cumulative_sum_reverse", layers.running, RUNNING, {"tile": 64, "reverse": 1}, 2),
    ("cumulative_product", layers.running_product, {"x": P, "y": P, "n": C}, {"n": 32}, 1),
    ("rms_norm_backward", layers.rms_norm_backward, RMS_BACK, {"tile": 16}, 1),
    ("layer_norm_backward", layers.layer_norm_backward, NORM_BACK, {"tile": 16}, 1),
    ("softmax_backward", layers.softmax_backward, SOFTMAX_BACK, {"tile": 16}, 1),
    ("swiglu_backward", layers.swiglu_backward, SWIGLU_BACK, {"tile": 32}, 1),
    ("largest", layers.largest, LARGEST_ROW, {"tile": 1024, "first": 1}, 4),
    ("largest_any_of_equals", layers.largest, LARGEST_ROW, {"tile": 1024, "first": 0}, 4),
    ("surprise", layers.surprise, SURPRISE, {"tile": 32, "factor": 1.0}, 1),
    ("surprise_scaled", layers.surprise, SURPRISE, {"tile": 32, "factor": 1.001}, 1),
    ("masked_softmax_plain", updates.masked_softmax, KEPT, {**KEEP, "way": 0}, 1),
    ("masked_softmax", updates.masked_softmax, KEPT, KEEP, 1),
    ("masked_softmax_added", updates.masked_softmax, KEPT, {**KEEP, "way": 2}, 1),
    ("masked_softmax_guarded", updates.masked_softmax, KEPT, {**KEEP, "guard": 1}, 1),
    ("masked_softmax_finite", updates.masked_softmax, KEPT, {**KEEP, "mask": -1e9}, 1),
    ("masked_softmax_least", updates.masked_softmax, KEPT, {**KEEP, "mask": -3.4028234663852886e38}, 1),
    ("masked_softmax_small", updates.masked_softmax, KEPT, {**KEEP, "mask": -10.0}, 1),
    ("causal_softmax", updates.causal_softmax, BELOW, {"n": 8, "mask": -INFINITY}, 1),
    ("causal_softmax_finite", updates.causal_softmax, BELOW, {"n": 8, "mask": -1e9}, 1),
    ("causal_softmax_small", updates.causal_softmax, BELOW, {"n": 8, "mask": -10.0}, 1),
    ("locked_sum", updates.locked_sum, LOCKED, {"n": 32, "groups": 2}, 1),
    ("locked_sum_two_warps", updates.locked_sum, LOCKED, {"n": 64, "groups": 1}, 2),
    ("counted_sum", updates.counted_sum, COUNTED, {"n": 32, "groups": 1}, 1),
    ("atomic_largest", updates.largest, LARGER, {"n": 32, "least": -INFINITY}, 1),
    ("largest_padded", updates.largest, LARGER, {"n": 32, "least": 0.0}, 1),
    ("smallest_of_columns", updates.smallest_of_columns, {"x": P, "out": P, "n": C}, {"n": 32}, 1),
    ("checked", updates.checked, CHECKED, {"n": 32, "positive": 0}, 1),
    ("checked_positive", updates.checked, CHECKED, {"n": 32, "positive": 1}, 1),
    ("checked_lookup", updates.checked_lookup, {"table": P, "ids": "*i32", "y": P, "rows": I, "n": C}, {"n": 32}, 1),
]

# Mutants of outputs: output, original, pattern, replacement.
MUTANTS = [
    ("product_16_4_warps_no_barrier", "product_16_4_warps", r"(st\.shared\.v2\.b32[^;]*\+256\][^;]*;)\s*bar\.sync\s+0;", r"\1"),
    ("product_64_sm_90_no_wait", "product_64_sm_90_1_stages_4_warps", r"wgmma\.wait_group\.sync\.aligned \d+;", ""),
    ("product_64_sm_90_no_fence", "product_64_sm_90_1_stages_4_warps", r"fence\.proxy\.async\.shared::cta;", ""),
    ("product_64_sm_90_no_wgmma_fence", "product_64_sm_90_1_stages_4_warps", r"wgmma\.fence\.sync\.aligned;", ""),
    ("product_64_sm_100_no_store_wait", "product_64_sm_100_3_stages_4_warps", r"tcgen05\.wait::st\.sync\.aligned;", ""),
    ("product_64_sm_100_no_load_wait", "product_64_sm_100_3_stages_4_warps", r"tcgen05\.wait::ld\.sync\.aligned;", ""),
    ("product_64_sm_100_no_load_wait_unstored", "product_64_sm_100_no_load_wait", r"\{%r151, %r155, %r159, %r163\}", "{%r150, %r154, %r158, %r162}"),
    ("product_64_sm_100_no_fence", "product_64_sm_100_1_stages_4_warps", r"fence\.proxy\.async\.shared::cta;", ""),
    ("product_64_sm_100_no_wait", "product_64_sm_100_1_stages_4_warps", r"@!complete bra\.uni waitLoop;", ""),
    ("product_boxes_no_wait", "product_boxes_sm_90_1", r"mbarrier\.try_wait[^;]*;\s*@!complete bra\.uni waitLoop;", ""),
    ("product_boxes_few_bytes", "product_boxes_sm_90_2", r"(_, \[%r\w+\]), 8192;", r"\1, 4096;"),
    ("product_boxes_many_bytes", "product_boxes_sm_90_2", r"(_, \[%r\w+\]), 8192;", r"\1, 12288;"),
    ("product_boxes_no_fence", "product_boxes_sm_90_2", r"fence\.proxy\.async\.shared::cta;", ""),
    ("product_boxes_no_acquire", "product_boxes_sm_90_2", r"@%p\d+ fence\.proxy\.tensormap[^;]*;", ""),
    ("product_by_roles_early_refill", "product_by_roles_sm_100", r"mbarrier\.try_wait[^;]*%r44\][^;]*;\s*@!complete bra\.uni waitLoop;", ""),
    ("attention_by_roles_no_wait", "attention_by_roles_sm_100", r"mbarrier\.try_wait[^;]*%r220\][^;]*;\s*@!complete bra\.uni waitLoop;", ""),
    ("attention_64_no_wait", "attention_64_3_stages_4_warps", r"cp\.async\.wait_group\s+2;", ""),
    ("attention_64_no_rescale", "attention_64_3_stages_4_warps", r"mul\.f32\s+(%r400), \1, %r324;", ""),
    ("product_32_no_wait", "product_32_3_stages_4_warps", r"cp\.async\.wait_group\s+\w+;", ""),
    ("locked_sum_no_barrier", "locked_sum_two_warps", r"bar\.sync\s+0;(\s*// begin inline asm[^@]*@%p\d+ atom\.global\.gpu\.acq_rel\.exch)", r"\1"),
    ("locked_sum_relaxed", "locked_sum", r"acq_rel(\.gpu\.cas|\.exch)", r"relaxed\1"),
    ("locked_sum_kept", "locked_sum", r"@%p\d+ atom\.global\.gpu\.acq_rel\.exch[^;]*;", ""),
    ("largest_signed", "atomic_largest", r"min\.u32", "min.s32"),
]

for output, kernel, signature, constants, warps, *other in BUILDS:
    if sys.argv[1:] and output not in sys.argv[1:]:
        continue
    arch, stages = other or (80, 1)
    # Tensor cores read whole vectors: Triton may take their arrays to be aligned.
    aligned = {(i,): [["tt.divisibility", 16]] for i, t in enumerate(signature.values()) if other and t[0] == "*"}
    source = ASTSource(kernel, signature=signature, constexprs=constants, attrs=aligned)
    options = {"num_warps": warps, "num_stages": stages, "debug": output.startswith("checked")}
    compiled = triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)
    ptx = compiled.asm["ptx"]
    # The entry gets the name of the output; no path of the machine that compiled it stays behind.
    ptx = re.sub(rf"\b{kernel.__name__}\b", f"triton_{output}", ptx)
    ptx = re.sub(rf"\b{kernel.__name__}_param_", f"triton_{output}_param_", ptx)
    ptx = re.sub(r'(\.file\s+\d+\s+)"[^"]*/([^/"]+)"', r'\1"\2"', ptx)
    with open(f"{output}.ptx", "w") as file:
        file.write(ptx)
    print(f"kernels/triton/{output}.ptx", 32 * warps, "threads", compiled.metadata.shared, "bytes")

for output, original, pattern, replacement in MUTANTS:
    if sys.argv[1:] and output not in sys.argv[1:]:
        continue
    with open(f"{original}.ptx") as file:
        ptx = file.read().replace(original, output)
    ptx, count = re.subn(pattern, replacement, ptx)
    assert count, output
    with open(f"{output}.ptx", "w") as file:
        file.write(ptx)
    print(f"kernels/triton/{output}.ptx", count, "changes")
