"""The broken programs by name: what each shows, which file holds it, and what mends it; without torch."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from importlib import resources
from typing import Literal, NamedTuple, get_args

ProgramName = Literal[
    "to_non_leaf",
    "rewrapped_tensor",
    "item_in_the_middle",
    "through_numpy",
    "argmax_path",
    "detached_middle",
    "module_under_no_grad",
    "unused_output",
    "unused_parameters",
    "list_into_function",
    "reentrant_checkpoint",
    "where_nan",
    "divide_by_zero",
    "sqrt_at_zero",
    "log_of_zero",
    "softmax_without_max",
    "zero_times_inf",
    "norm_at_zero",
    "float16_overflow",
    "masked_row",
    "dead_relu",
    "saturated_sigmoid",
    "multiplied_by_zero",
    "rounded",
    "frozen_batch_norm",
    "batch_norm_sum",
    "mixed_dtypes",
    "dropout_recomputed",
    "hook_on_tied_weight",
    "hook_that_zeroes",
    "second_backward",
]


class Program(NamedTuple):
    """What a program shows, the module of engine.diagnostics.programs that holds it, and what its fix does."""

    title: str
    file: Literal["missing", "non_finite", "silent"]
    fix: str
    """"" where nothing is to be mended."""


PROGRAMS: dict[str, Program] = {
    "to_non_leaf": Program("None: .double() after requires_grad", "missing", "require the gradient after the cast"),
    "rewrapped_tensor": Program("None: torch.tensor(x) makes a copy", "missing", "use the tensor itself"),
    "item_in_the_middle": Program("None: .item() in the middle", "missing", "keep it a tensor"),
    "through_numpy": Program("None: a detour through numpy", "missing", "stay in torch: .sqrt()"),
    "argmax_path": Program("None: argmax gives integers", "missing", "softmax and a weighted sum"),
    "detached_middle": Program("None: detach() in the middle", "missing", "leave detach() out"),
    "module_under_no_grad": Program("None: a module under no_grad", "missing", "call it outside of no_grad"),
    "unused_output": Program("None: an output the loss leaves out", "missing", "add it to the loss"),
    "unused_parameters": Program("None: a layer that never runs", "missing", "freeze it, or find_unused_parameters"),
    "list_into_function": Program("None: tensors in a list for a Function", "missing", "hand them over one by one"),
    "reentrant_checkpoint": Program("None: reentrant checkpoint", "missing", "use_reentrant=False"),
    "where_nan": Program("NaN: where() with sqrt on the other side", "non_finite", "where() inside as well"),
    "divide_by_zero": Program("NaN: x / 0 and 0 / 0", "non_finite", "add a small number to the divisor"),
    "sqrt_at_zero": Program("NaN: the slope of sqrt at 0", "non_finite", "a small number under the root"),
    "log_of_zero": Program("NaN: 0 * log(0)", "non_finite", "clamp before log"),
    "softmax_without_max": Program(
        "NaN: softmax by hand overflows", "non_finite", "torch.softmax subtracts the maximum"
    ),
    "zero_times_inf": Program("NaN: a mask of 0 times infinity", "non_finite", "choose with where()"),
    "norm_at_zero": Program("NaN: a length at the origin", "non_finite", "torch.linalg.vector_norm"),
    "float16_overflow": Program("inf: float16 ends at 65504", "non_finite", "bfloat16 has float32's range"),
    "masked_row": Program("NaN: softmax over a row of -inf", "non_finite", "a large finite number, or no such row"),
    "dead_relu": Program("zero: ReLUs that never open", "silent", "LeakyReLU has a slope there"),
    "saturated_sigmoid": Program("zero: a saturated sigmoid", "silent", "the loss with logits"),
    "multiplied_by_zero": Program("zero: a factor of 0", "silent", "start the gate above 0"),
    "rounded": Program("zero: round() has no slope", "silent", "straight-through estimator"),
    "frozen_batch_norm": Program(
        "large: BatchNorm in eval with variance 0", "silent", "train(), so that batches count"
    ),
    "batch_norm_sum": Program("zero: BatchNorm over equal rows", "silent", "rows that differ"),
    "mixed_dtypes": Program("error: one layer in float64", "silent", "model.float()"),
    "dropout_recomputed": Program("wrong: another dropout mask on recompute", "silent", "preserve_rng_state=True"),
    "hook_on_tied_weight": Program("hooks: a weight used twice", "silent", ""),
    "hook_that_zeroes": Program("zero: a hook returns zeros", "silent", "remove the hook"),
    "second_backward": Program("error: backward a second time", "silent", "retain_graph=True in the first"),
}

_TOOL_COMMENT = re.compile(r"  # type: ignore.*$", re.MULTILINE)

NAMES: tuple[str, ...] = get_args(ProgramName)


@lru_cache
def program_source(name: str, mended: bool) -> tuple[str, tuple[str, ...]]:
    """(text of the file that holds the program, lines of its body without the `return`)."""
    wanted = f"{name}_fixed" if mended and PROGRAMS[name].fix else name
    text = resources.files("engine.diagnostics.programs").joinpath(f"{PROGRAMS[name].file}.py").read_text("utf-8")
    found = next(n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == wanted)
    first, last = found.body[0].lineno, found.body[-1].lineno
    lines = _TOOL_COMMENT.sub("", "\n".join(text.splitlines()[first - 1 : last - 1])).splitlines()
    return text, tuple(line.removeprefix("    ") for line in lines)
