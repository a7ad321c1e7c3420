"""What a GPU kernel does, told by its name: a table of patterns that a user can put rows in front of.

The order of the table matters. Patterns meet the base name (no template or parameter text), because those hold words
of other classes: an attention kernel takes a ``KVCacheDataType``, an element-wise one a ``copy`` functor. Only wrappers
whose base name says nothing (``cutlass::Kernel2``) and mangled names are matched in full.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.errors import UsageError
from whystall.model.text import Text

from .trace import KERNEL, GpuWork, used


class KernelClass(msgspec.Struct, frozen=True):
    """``family`` is the coarse class of the report's first table."""

    id: str
    family: str
    pattern: str
    title: Text


TABLE = (
    KernelClass(
        "collective",
        "collective",
        r"nccl|rccl|cross_device_reduce|multimem|(one|two)_?shot|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|nvshmem"
        r"|deep_?ep|lamport|quick_?reduce|symm_mem|sendrecv|intranode|internode",
        Text("collective", "集合通信"),
    ),
    KernelClass("copy", "copy", r"^mem(cpy|set)|^copybuffer|fillbuffer", Text("copy and set", "拷贝与清零")),
    KernelClass(
        "kv_write",
        "kv_write",
        r"reshape_and_cache|concat_and_cache|store_kv_?cache|copy_blocks|swap_blocks|append_paged|kv_indices|set_kv_buffer"
        r"|write_kv",
        Text("KV write", "KV 写入"),
    ),
    KernelClass(
        "attention",
        "attention",
        r"flash|fmha|paged_?attention|attention|mha|attn|batch(prefill|decode)|single(prefill|decode)|mergestate|merge_state|mla"
        r"|sdpa|reduce_segments",
        Text("attention", "注意力"),
    ),
    KernelClass(
        "moe_routing",
        "moe",
        r"topk_?gating|topkgating|moe_align|expert_?offset|moe_sort|moe_?permute|moe_?unpermute|routing|permute_?tokens"
        r"|moe_?sum|grouped_?topk|expandinput|finalizemoe|bincount|bitmatrix|^_topk_forward|^moe::",
        Text("MoE routing", "MoE 路由"),
    ),
    KernelClass(
        "moe_gemm",
        "moe",
        r"fused_?moe|_matmul_ogs|finalize_matmul|fmoe|moe.*(gemm|mm|wna|mul)|grouped?_?gemm|^bmm_\w*(e2m1|e4m3)",
        Text("MoE GEMM", "MoE GEMM"),
    ),
    KernelClass(
        "gemm",
        "gemm",
        r"gemm|nvjet|cublas|cutlass|xmma|cijk_|matmul|volta_|ampere_|turing_|split_?k|gemv|marlin|machete|wvsplit|dot_kernel",
        Text("GEMM", "GEMM"),
    ),
    KernelClass(
        "conv",
        "gemm",
        r"conv(olve|olution|\d|_|fwd|bwd)|winograd|wgrad|dgrad|im2col|scudnn|cudnn|causal_conv",
        Text("convolution", "卷积"),
    ),
    KernelClass(
        "norm", "norm_activation", r"norm|welford|triton_red.*rsqrt|triton_per.*rsqrt", Text("normalisation", "归一化")
    ),
    KernelClass("rope", "norm_activation", r"rotary|rope", Text("rotary embedding", "旋转位置编码")),
    KernelClass(
        "activation",
        "norm_activation",
        r"act_and_mul|silu|gelu|relu|swiglu|sigmoid|tanh",
        Text("activation", "激活函数"),
    ),
    KernelClass(
        "quantisation", "quantisation", r"quant|scaled_fp8|fp8_cvt|cvt_.*fp4|_scale_", Text("quantisation", "量化")
    ),
    KernelClass("softmax", "attention", r"softmax", Text("softmax", "softmax")),
    KernelClass(
        "sampling",
        "sampling",
        r"sampl|argmax|top_?k|top_?p|multinomial|exponential|gumbel|penalt|bitmask|logprob|reject|distribution"
        r"|gathertopk|cumsum|philox|temperature",
        Text("sampling", "采样"),
    ),
    KernelClass(
        "gather", "elementwise", r"gather|scatter|index|embedding|_slot_mapping|block_table", Text("gather", "索引收集")
    ),
    KernelClass("sort", "sampling", r"sort|scan|radix", Text("sort and scan", "排序与扫描")),
    KernelClass(
        "elementwise",
        "elementwise",
        r"elementwise|triton_|vectorized|multi_tensor|reduce_kernel|fill|cat_?array|catarray|unrolled|arange|copy|cast|add|mul"
        r"|prepare|expand|combine|update|apply_write|bookkeep|clamp|resolve|pool",
        Text("element-wise", "逐元素"),
    ),
    KernelClass("other", "other", r"", Text("other", "其他")),
)

FAMILIES = {
    "attention": Text("attention", "注意力"),
    "gemm": Text("GEMM", "GEMM"),
    "moe": Text("MoE", "MoE"),
    "norm_activation": Text("norm and activation", "归一化与激活"),
    "kv_write": Text("KV write", "KV 写入"),
    "sampling": Text("sampling", "采样"),
    "collective": Text("collective", "集合通信"),
    "copy": Text("copy", "拷贝"),
    "quantisation": Text("quantisation", "量化"),
    "elementwise": Text("element-wise", "逐元素"),
    "other": Text("other", "其他"),
}

_WRAPPER = re.compile(r"(^|::)(kernel2?|device_kernel|kernel_func|kernel_entry|run|launch)$|^_Z", re.IGNORECASE)
_ANONYMOUS = re.compile(r"\(anonymous namespace\)::|\{anonymous\}::|\(anonymous\)::|<unnamed>::")
_BRACKETS = re.compile(r"([<>()])")
_TRANSFERS = ("Memcpy", "Memset")
_LONGEST_NAME = 4096  # of a name, for matching: a hostile one may be megabytes long


def base_name(name: str) -> str:
    """The function's own name: without return type, template arguments and parameters."""
    if name.startswith(_TRANSFERS):
        return name[:_LONGEST_NAME]
    kept: list[str] = []
    angles = rounds = 0
    for part in _BRACKETS.split(_ANONYMOUS.sub("", name[:_LONGEST_NAME])):
        if part == "(":
            if not angles:
                break  # parameters
            rounds += 1
        elif part == ")":
            rounds = max(rounds - 1, 0)
        elif part in ("<", ">") and not rounds:  # inside parentheses it is a comparison
            angles = max(angles + (1 if part == "<" else -1), 0)
        elif not angles:
            kept.append(part)
    words = "".join(kept).split()
    return words[-1] if words else name[:_LONGEST_NAME]


class Classifier:
    """Names to classes. ``extra`` rows come first, in their order."""

    def __init__(self, extra: Sequence[KernelClass] = ()) -> None:
        self.table = (*extra, *TABLE)
        self._patterns = [re.compile(row.pattern, re.IGNORECASE) for row in self.table]

    @property
    def ids(self) -> tuple[str, ...]:
        """Class ids, each once, in the table's order."""
        return tuple(dict.fromkeys(row.id for row in self.table))

    def family(self, id: str) -> str:
        return next((row.family for row in self.table if row.id == id), "other")

    def classify(self, name: str) -> str:
        """The class of one kernel, copy or set by its name."""
        base = base_name(name)
        text = name[:_LONGEST_NAME] if _WRAPPER.search(base) else base
        return next(
            row.id for row, pattern in zip(self.table, self._patterns, strict=True) if pattern.search(text) is not None
        )

    def columns(self, names: Sequence[str], work: GpuWork) -> NDArray[np.int16]:
        """The class of every row of ``work``, as its index in :attr:`ids`; copies and sets by kind, not by name."""
        index = {id: number for number, id in enumerate(self.ids)}
        classes = np.full(len(names), index["other"], dtype=np.int16)
        for number in used(work.name, len(names)):
            classes[number] = index[self.classify(names[number])]
        rows: NDArray[np.int16] = np.where(work.kind == KERNEL, classes[work.name], np.int16(index["copy"]))
        return rows


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    match: str
    id: str = msgspec.field(name="class")
    family: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    pattern: list[_Row]


def read_patterns(path: Path) -> tuple[KernelClass, ...]:
    """A user's rows: ``[[pattern]]`` tables with ``match`` (a regular expression), ``class`` and maybe ``family``.

    Raises :class:`UsageError` when the file is not that.
    """
    try:
        rows = msgspec.convert(tomllib.loads(path.read_text("utf-8")), _File).pattern
        for row in rows:
            re.compile(row.match)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "Check the path.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError, re.error) as error:
        hint = 'Write [[pattern]] tables: match = "my_kernel", class = "attention".'
        raise UsageError(f"{path}: not a pattern table: {error}", hint) from error
    known = {row.id: row for row in reversed(TABLE)}
    return tuple(_row(row, known.get(row.id)) for row in rows)


def _row(row: _Row, known: KernelClass | None) -> KernelClass:
    if known is not None:
        return KernelClass(row.id, row.family or known.family, row.match, known.title)
    return KernelClass(row.id, row.family or "other", row.match, Text(row.id))
