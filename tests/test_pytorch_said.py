"""What PyTorch said is kept in its words, without the C++ frames: addresses and paths that differ in every process."""

from __future__ import annotations

import pytest
import torch

from engine.pytorch_said import PyTorchSaid, attempt, said
from engine.runner.faults import error_text, torch_error

FRAMES = (
    "\nException raised from wrap at /builds/c10/core/WrapDimMinimal.cpp:12 (most recent call first):"
    "\nframe #0: c10::Error::Error(c10::SourceLocation) + 0x9d (0x7f99d1779b8d in /anywhere/torch/lib/libc10.so)"
    "\n<omitting python frames>"
    "\nframe #18: <unknown function> + 0x2724a (0x7f9b40a4524a in /lib/libc.so.6)\n"
)
TEXTS = {
    f"no such dimension{FRAMES}": "no such dimension",
    f"while doing this{FRAMES}and this": "while doing this\nand this",
    f"one{FRAMES}two{FRAMES}": "one\ntwo",
    f"{FRAMES[1:]}": "",
    "known\n\nC++ CapturedTraceback:\n#4 at::f() from ??:0\n#5 at::g() from /b/x.cpp:7\n": "known",
    "lines\n\n  stay as they are \n": "lines\n\n  stay as they are \n",
    "the Exception raised from here\nframe #1: kept": "the Exception raised from here\nframe #1: kept",
}


@pytest.mark.parametrize("text", TEXTS)
def test_cpp_frames_are_cut_and_nothing_else(text):
    error = RuntimeError(text)
    assert said(error).message == torch_error(error).detail == TEXTS[text]


@pytest.mark.parametrize("sizes", [(1, 1), (-1,), (2, 3)])
def test_the_refusal_of_unflatten_is_two_lines(sizes):
    with pytest.raises(RuntimeError) as caught:
        torch.tensor(1.0).unflatten(0, sizes)
    assert "Exception raised from" in str(caught.value)  # as PyTorch has it
    wanted = "unflatten got an unexpected error:\nDimension specified as 0 but tensor has no dimensions"
    assert said(caught.value).message == torch_error(caught.value).detail == wanted


def test_an_attempt_gives_the_value_or_the_words_and_lets_refusals_of_our_own_and_lack_of_memory_through():
    assert attempt(lambda: 7) == (7, None)
    assert attempt(lambda: [][0]) == (None, PyTorchSaid("IndexError", "list index out of range"))
    with pytest.raises(IndexError):
        attempt(lambda: [][0], ours=(IndexError,))
    with pytest.raises(MemoryError):
        attempt(_no_memory)


def _no_memory():
    raise MemoryError


def test_where_kernels_were_registered_is_cut_and_the_message_stays():
    sparse = torch.ones(2, 2).to_sparse()
    with pytest.raises(NotImplementedError) as caught:
        torch.linalg.vector_norm(sparse)
    assert "registered at" in str(caught.value)
    text = error_text(caught.value)
    assert text.startswith("Could not run 'aten::linalg_vector_norm' with arguments from the 'SparseCPU' backend.")
    assert text.endswith("PythonDispatcher].")
    assert "registered at" not in text
