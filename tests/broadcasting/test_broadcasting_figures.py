"""What the pictures link is what PyTorch reads: addresses of expanded cells, and the cells that a result is made of."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import run
from engine.broadcasting.equation import parse_equation
from engine.broadcasting.rule import operation_alignment
from engine.broadcasting.spec import BroadcastSpec, EinsumSpec, IndexSize, Operand
from engine.figures.broadcasting_cells import broadcast_scene, drawn_operands, is_cut
from engine.figures.broadcasting_sizes import MOST_CELLS, MOST_EINSUM_CELLS, cut_sizes, drawn_shapes
from engine.figures.broadcasting_table import alignment_html, alignment_rows
from engine.figures.cells import encode_cells, find_panel
from engine.figures.cells_svg import cells_svg
from engine.figures.einsum_cells import einsum_scene, lengths_drawn, shaded_letters
from engine.figures.einsum_indices import equation_html, index_rows
from tests.broadcasting.test_einsum import equations
from tests.broadcasting.test_rule import random_shapes


def spec_of(operation: str, *shapes: tuple[int, ...]) -> BroadcastSpec:
    operands = [Operand(shape) for shape in shapes]
    if operation == "where":
        operands[0] = Operand(shapes[0], "bool")
    return BroadcastSpec(operation=operation, operands=tuple(operands))


def cells_read(result: torch.Tensor, operands: list[torch.Tensor]) -> list[set[int]]:
    """For every element of the result the numbers of the operands' elements with a gradient, counted through."""
    found = []
    for element in result.reshape(-1):
        gradients = torch.autograd.grad(element, operands, retain_graph=True, allow_unused=True)
        flat = [torch.zeros_like(o) if g is None else g for g, o in zip(gradients, operands, strict=True)]
        together = torch.cat([gradient.reshape(-1) for gradient in flat])
        found.append(set(together.nonzero().reshape(-1).tolist()))
    return found


def test_an_expanded_cell_owns_the_address_that_torch_reads():
    chooser = random.Random(6)
    drawn = 0
    for _ in range(80):
        spec = spec_of("add", *random_shapes(chooser))
        operands, result = drawn_operands(spec)
        if result is None or 0 in result:
            continue
        scene = broadcast_scene(spec)
        tensors = [
            torch.arange(o.first, o.first + max(1, torch.Size(o.shape).numel())).reshape(o.shape) for o in operands
        ]
        for operand, expanded in zip(operands, torch.broadcast_tensors(*tensors), strict=True):
            panel = find_panel(scene, f"{operand.name} expanded") or find_panel(scene, operand.name)
            assert list(panel.owns) == expanded.reshape(-1).tolist()
            drawn += 1
        encode_cells(scene)
    assert drawn > 40


@pytest.mark.parametrize(
    ("operation", "shapes"),
    [
        ("add", ((2, 1, 3), (2, 1))),
        ("mul", ((3, 1), (4,), ())),
        ("matmul", ((2, 1, 2, 3), (3, 3, 2))),
        ("matmul", ((3,), (2, 3, 2))),
        ("matmul", ((2, 2, 3), (3,))),
        ("matmul", ((3,), (3,))),
    ],
)
def test_a_result_cell_reads_what_its_gradient_reaches(operation, shapes):
    spec = spec_of(operation, *shapes)
    assert not is_cut(spec)
    tensors = [torch.rand(shape).add(0.5).requires_grad_() for shape in shapes]
    result = tensors[0]
    for other in tensors[1:]:
        result = {"add": torch.add, "mul": torch.mul, "matmul": torch.matmul}[operation](result, other)
    panel = find_panel(broadcast_scene(spec), "result")
    assert list(map(set, panel.reads)) == cells_read(result, tensors)


@settings(max_examples=40, deadline=None)
@given(equations())
def test_an_output_cell_of_an_einsum_reads_what_its_gradient_reaches(text):
    spec = EinsumSpec(equation=text, other_size=2, sizes=(IndexSize("a", 3),), ellipsis=(2,))
    equation = parse_equation(text)
    scene = einsum_scene(spec, equation)
    drawn = lengths_drawn(spec, equation)
    shapes = [tuple(drawn[letter] for letter in letters) for letters in equation.inputs]
    tensors = [torch.rand(shape, dtype=torch.float64).add(0.5).requires_grad_() for shape in shapes]
    panel = find_panel(scene, "out")
    assert list(map(set, panel.reads)) == cells_read(torch.einsum(text, *tensors), tensors)
    assert len(encode_cells(scene)) > 0


def test_cells_never_read_are_marked_and_products_share_a_colour():
    diagonal = find_panel(einsum_scene(EinsumSpec(equation="ii->i"), parse_equation("ii->i")), "a")
    assert [mark == "gap" for mark in diagonal.marks] == [i != j for i in range(4) for j in range(4)]
    scene = einsum_scene(EinsumSpec(), parse_equation("ij,jk->ik"))
    a, b = find_panel(scene, "a"), find_panel(scene, "b")
    assert [a.shades[j] for j in range(4)] == [b.shades[4 * j] for j in range(4)]


def test_only_operands_of_the_same_summed_indices_are_coloured():
    assert shaded_letters(parse_equation("ij,jk,k->i")) == ("j",)
    assert shaded_letters(parse_equation("bij,bjk")) == ("b", "j")
    assert shaded_letters(parse_equation("ijk,k->i")) == ("k",)
    assert shaded_letters(parse_equation("ij->ji")) == ()


def test_the_picture_is_small_and_keeps_what_is_at_fault():
    chooser = random.Random(7)
    for _ in range(300):
        shapes = tuple(tuple(size * chooser.choice((1, 7)) for size in shape) for shape in random_shapes(chooser))
        drawn = drawn_shapes("add", shapes)
        before, after = operation_alignment("add", shapes), operation_alignment("add", drawn)
        assert before.faults == after.faults
        for row, small in zip(shapes, drawn, strict=True):
            assert [size == 1 for size in row] == [size == 1 for size in small]
            assert all(size <= 6 for size in small)
    assert cut_sizes((100, 50, 1, 0), 6) == {100: 6, 50: 5, 1: 1, 0: 0}


def test_large_sizes_are_drawn_in_few_cells():
    scene = broadcast_scene(spec_of("sub", (100_000, 1), (100_000,)))
    assert max(len(panel.owns) for panel in scene.panels) <= MOST_CELLS
    equation = parse_equation("bhqd,bhkd->bhqk")
    scene = einsum_scene(EinsumSpec(equation="bhqd,bhkd->bhqk", other_size=1000), equation)
    assert max(len(panel.owns) for panel in scene.panels) <= MOST_EINSUM_CELLS
    assert cells_svg(scene, "dark").startswith("<svg")


def words(spec: BroadcastSpec) -> tuple[tuple[str, ...], ...]:
    return alignment_rows(spec, run(spec, inline=True))


def test_the_table_says_new_stretched_and_the_real_stride():
    assert words(spec_of("add", (2, 1, 4), (3, 1))) == (
        ("a", "2, stride 4", "1, stride 0, stretched", "4, stride 1"),
        ("b", "–, stride 0, new", "3, stride 1", "1, stride 0, stretched"),
        ("result", "2", "3", "4"),
    )


def test_the_table_marks_the_pair_at_fault():
    spec = spec_of("add", (2, 3), (2,))
    assert words(spec) == (
        ("a", "2, stride 3", "3, stride 1, conflict"),
        ("b", "–, new", "2, stride 1, conflict"),
        ("result", "2", ""),
    )
    html = alignment_html(spec, run(spec, inline=True), "light")
    assert "≠" in html
    assert "3 in a, 2 in b" in html


def test_the_table_of_a_product_tells_matrix_dims_from_batch_dims():
    spec = spec_of("matmul", (2, 1, 3, 4), (5, 4, 6))
    assert words(spec)[0] == ("a", "2, stride 12", "1, stride 0, stretched", "3, stride 4", "4, stride 1", "")
    assert words(spec)[2] == ("result", "2", "5", "3", "", "6")
    html = alignment_html(spec, run(spec, inline=True), "dark")
    assert html.count("summed over") == 1
    assert "−2, rows of a" in html
    assert "0-dim" in alignment_html(
        spec_of("matmul", (), (4, 5)), run(spec_of("matmul", (), (4, 5)), inline=True), "light"
    )


def test_indices_keep_their_colour_and_summed_ones_are_hatched():
    spec = EinsumSpec(equation="bij,bjk->bik")
    html = equation_html(spec, parse_equation(spec.equation), "light")
    assert html.count("repeating-linear-gradient") == 2
    assert html.count(">summed<") == 2
    rows = {row[0]: row for row in index_rows(spec, parse_equation(spec.equation))}
    assert rows["b"][2].startswith("batch")
    assert rows["j"][2:] == ("summed", "a, b")


@settings(max_examples=60, deadline=None)
@given(equations())
def test_an_index_has_the_same_word_on_its_chip_and_in_the_table(text):
    spec, equation = EinsumSpec(equation=text, other_size=2), parse_equation(text)
    html = equation_html(spec, equation, "light")
    for letter, _, words, _ in index_rows(spec, equation):
        times = sum(letters.count(letter) for letters in (*equation.inputs, equation.output))
        chips = [chip for chip in html.split("display:inline-block")[1:] if f">{letter}</b>" in chip]
        assert [f">{words}</span>" in chip for chip in chips] == [True] * times
        assert words.startswith("summed") == (letter not in equation.output)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(["add", "sub", "mul", "matmul"]), st.integers(0, 10**6))
def test_every_picture_and_table_can_be_drawn(operation, seed):
    shapes = random_shapes(random.Random(seed))[:2]
    spec = spec_of(operation, *shapes)
    outcome = run(spec, inline=True)
    assert encode_cells(broadcast_scene(spec))
    assert alignment_html(spec, outcome, "light")
    assert alignment_rows(spec, outcome)
