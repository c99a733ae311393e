"""Equations are read as torch.einsum reads them, and its output is what the loop nest says."""

from __future__ import annotations

import itertools
import math
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from engine import run
from engine.broadcasting.costs import (
    cheapest_path,
    left_to_right,
    naive_cost,
    path_cost,
    path_in_words,
)
from engine.broadcasting.equation import EquationError, operand_shape, parse_equation, parse_sizes
from engine.broadcasting.loops import loop_nest
from engine.broadcasting.results import Einsum
from engine.broadcasting.spec import EinsumSpec, IndexSize

LETTERS = "abijAZ"


@st.composite
def equations(draw) -> str:
    """1 to 3 operands over a few letters, implicit or explicit, with repeated letters and ellipses."""
    operand = st.text(LETTERS, min_size=0, max_size=3)
    inputs = [draw(operand) for _ in range(draw(st.integers(1, 3)))]
    dotted = [draw(st.booleans()) and draw(st.booleans()) for _ in inputs]
    text = ",".join(("..." if dots else "") + letters for dots, letters in zip(dotted, inputs, strict=True))
    if draw(st.booleans()):
        used = sorted(set("".join(inputs)))
        output = "".join(draw(st.permutations(used)))[: draw(st.integers(0, 3))] if used else ""
        text += "->" + ("..." if any(dotted) and draw(st.booleans()) else "") + output
    return text


def traced(equation: str, **sizes: int) -> Einsum:
    given_sizes = tuple(IndexSize(letter, size) for letter, size in sizes.items())
    return run(EinsumSpec(equation=equation, sizes=given_sizes, other_size=3), inline=True)


def by_loops(equation: str, operands: list[torch.Tensor], spec: EinsumSpec) -> torch.Tensor:
    """The sum over every index, element by element, with `...` written out as the letters that it hides."""
    parsed = parse_equation(equation)
    lengths = {letter: spec.length_of(letter) for letter in parsed.letters}
    out = torch.zeros([lengths[letter] for letter in parsed.output], dtype=torch.float64)
    for values in itertools.product(*(range(length) for length in lengths.values())):
        at = dict(zip(lengths, values, strict=True))
        out[tuple(at[letter] for letter in parsed.output)] += math.prod(
            operand[tuple(at[letter] for letter in letters)].item()
            for operand, letters in zip(operands, parsed.inputs, strict=True)
        )
    return out


@settings(max_examples=120, deadline=None)
@given(equations(), st.integers(0, 2**31 - 1))
def test_a_random_equation_is_the_loop_nest(text, seed):
    spec = EinsumSpec(
        equation=text, sizes=(IndexSize("a", 2), IndexSize("i", 1)), other_size=3, dtype="float64", seed=seed
    )
    outcome = run(spec, inline=True)
    assert outcome.error is None
    generator = torch.Generator().manual_seed(seed)
    parsed = parse_equation(text)
    shapes = [operand_shape(letters, spec.size_of, spec.ellipsis) for letters in parsed.inputs]
    operands = [torch.randint(-3, 4, shape, generator=generator).double() for shape in shapes]
    assert torch.equal(by_loops(text, operands, spec), torch.einsum(text, *operands))
    assert outcome.loop_max_abs_error == 0.0
    assert outcome.shape == operand_shape(parsed.output, spec.size_of, spec.ellipsis)


BROKEN = st.text("ij.,->A1 é\"'\\", max_size=12)


@settings(max_examples=150, deadline=None)
@given(BROKEN)
def test_an_equation_is_refused_by_us_where_pytorch_refuses_it(text):
    outcome = run(EinsumSpec(equation=text, other_size=2), inline=True)
    if outcome.complaint:
        assert outcome.error is not None
        assert "einsum()" in outcome.error.message, (text, outcome.complaint)
    else:
        assert outcome.error is None, (text, outcome.error)


@pytest.mark.parametrize(
    ("text", "words", "position"),
    [
        ("i1,jk", "'1' is no index", 1),
        ("ij,jk->il", "index l stands in the output, but in no operand", 8),
        ("ij,jk->ikk", "index k stands twice in the output", 8),
        ("i..j", "three of an ellipsis", 1),
        ("...i...", "at most one ellipsis", 4),
        ("ij->i->j", "'-' is no index", 5),
    ],
)
def test_what_is_wrong_is_said_with_its_position(text, words, position):
    with pytest.raises(EquationError, match="character") as caught:
        parse_equation(text)
    assert words in str(caught.value)
    assert caught.value.position == position


def test_roles():
    equation = parse_equation("bij,bjk->bik")
    assert [equation.role(letter) for letter in "bikj"] == ["batch", "free", "free", "summed"]
    assert parse_equation("ijk,k->i").role("j") == "summed"
    assert parse_equation("ii->i").is_diagonal("i")
    assert parse_equation("bij,bjk").role("b") == "summed"
    assert [parse_equation("ijk,k->i").is_shared(letter) for letter in "ijk"] == [False, False, True]


def test_implicit_output_is_alphabetic_with_capitals_first():
    assert "".join(parse_equation("ba,Za").output) == "Zb"
    assert run(EinsumSpec(equation="ba,Za", sizes=(IndexSize("Z", 7),)), inline=True).shape == (7, 4)


@pytest.mark.parametrize(
    ("equation", "sizes", "multiplications", "additions"),
    [
        ("ij,jk->ik", {"i": 2, "j": 3, "k": 5}, 2 * 3 * 5, 2 * 3 * 5),
        ("i,j->ij", {"i": 2, "j": 5}, 10, 0),
        ("ij->", {"i": 2, "j": 5}, 0, 10),
        ("ii->i", {"i": 5}, 0, 0),
        ("bij,bjk->bik", {"b": 4, "i": 2, "j": 3, "k": 5}, 4 * 30, 4 * 30),
    ],
)
def test_flops_counted_from_the_operators_called_are_those_by_hand(equation, sizes, multiplications, additions):
    outcome = traced(equation, **sizes)
    assert outcome.flops == multiplications + additions
    assert naive_cost(parse_equation(equation), sizes.__getitem__).flops == outcome.flops


@pytest.mark.parametrize("equation", ["ij,jk->ik", "bij,bjk->bik", "ij,jk,kl->il", "bhqd,bhkd->bhqk"])
def test_flops_of_products_are_those_of_torchs_own_counter(equation):
    letters = sorted(set(equation) - set(",->"))
    sizes = {letter: number + 2 for number, letter in enumerate(letters)}
    operands = [torch.ones([sizes[letter] for letter in part]) for part in equation.partition("->")[0].split(",")]
    with FlopCounterMode(display=False) as counter:
        torch.einsum(equation, *operands)
    assert traced(equation, **sizes).flops == counter.get_total_flops()


def test_a_chain_in_the_good_order_costs_what_hand_arithmetic_says():
    sizes = {"i": 100, "j": 10, "k": 10, "l": 1}
    equation = parse_equation("ij,jk,kl->il")
    left = path_cost(equation, sizes.__getitem__, left_to_right(equation))
    best = cheapest_path(equation, sizes.__getitem__)
    assert left.flops == 2 * 10_000 + 2 * 1_000
    assert best.flops == 2 * 100 + 2 * 1_000
    assert path_in_words(left.path, "abc") == "((a · b) · c)"
    assert path_in_words(best.path, "abc") == "((b · c) · a)"
    assert traced("ij,jk,kl->il", **sizes).flops == left.flops


def test_cheapest_is_never_above_left_to_right():
    chooser = random.Random(0)
    for _ in range(50):
        operands = ["".join(chooser.sample("ijklm", chooser.randint(1, 3))) for _ in range(4)]
        equation = parse_equation(",".join(operands) + "->" + operands[0][0])
        size_of = {letter: chooser.randint(1, 9) for letter in "ijklm"}.__getitem__
        assert cheapest_path(equation, size_of).flops <= path_cost(equation, size_of, left_to_right(equation)).flops


def test_what_aten_dispatches():
    names = {call.name for call in traced("bij,bjk->bik").dispatched if not call.is_view}
    assert names == {"aten.bmm.default"}
    copied = traced("bij,bjk->ik")
    assert "aten.clone.default" in {call.name for call in copied.dispatched}
    assert copied.intermediate_bytes >= 3 * 3 * 3 * 4
    view = traced("ii->i")
    assert view.output_is_view
    assert view.intermediate_bytes == 0


def test_bytes_between_are_those_of_the_intermediate_result():
    outcome = traced("ij,jk,kl->il", i=5, j=2, k=7, l=3)
    assert outcome.intermediate_bytes == 5 * 7 * 4
    assert outcome.output_bytes == 5 * 3 * 4


def test_sizes_too_large_to_make_are_read_from_the_meta_device():
    small, large = traced("ij,jk->ik"), run(EinsumSpec(other_size=4000), inline=True)
    assert [call.name for call in small.dispatched] == [call.name for call in large.dispatched]
    assert not large.computed
    assert large.flops == 2 * 4000**3


def test_the_loop_nest_runs_and_agrees():
    a, b = torch.rand(2, 3).tolist(), torch.rand(3, 4).tolist()
    code = loop_nest(parse_equation("ij,jk->ik"))
    assert code.splitlines()[2].strip().startswith("for j in range(a.shape[1]):")

    class Grid(dict):
        """A nested list under tuple indices."""

        def __init__(self, rows):
            super().__init__({(i, j): v for i, row in enumerate(rows) for j, v in enumerate(row)})
            self.shape = (len(rows), len(rows[0]))

    out = {(i, k): 0.0 for i in range(2) for k in range(4)}
    exec(code, {"a": Grid(a), "b": Grid(b), "out": out})
    expected = torch.tensor(a, dtype=torch.float64) @ torch.tensor(b, dtype=torch.float64)
    assert torch.allclose(
        torch.tensor([[out[i, k] for k in range(4)] for i in range(2)], dtype=torch.float64), expected
    )


def test_an_index_named_like_a_tensor_keeps_apart():
    assert "a[a_]" in loop_nest(parse_equation("a->"))


@pytest.mark.parametrize("text", ["i", "i=", "i=x", "i=-1", "ij=3", "i=99999999", "=3", "é=3"])
def test_sizes_that_cannot_be_read_are_refused_in_words(text):
    with pytest.raises(ValueError, match="received"):
        parse_sizes(text)


def test_sizes_are_read():
    assert parse_sizes("i=64, j = 32; ...=2x3") == ({"i": 64, "j": 32}, (2, 3))
    assert parse_sizes("") == ({}, None)
