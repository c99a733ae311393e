"""The broadcasting rule is PyTorch's: over random shapes, for products of matrices, and in what its fixes promise."""

from __future__ import annotations

import random

import pytest
import torch

from engine.broadcasting.fixes import suggest_fixes
from engine.broadcasting.rule import align, align_matmul, fault_in_words, operation_alignment

QUICK = 500
THOROUGH = 10_000


def random_shapes(chooser: random.Random) -> list[tuple[int, ...]]:
    """2 to 4 shapes that fit about half of the time: mostly cut from one shape with 1s in it, sizes 0 to 4."""
    whole = [chooser.choice((0, 1, 2, 3, 4)) for _ in range(chooser.randint(0, 6))]
    shapes = []
    for _ in range(chooser.randint(2, 4)):
        own = whole[chooser.randint(0, len(whole)) :]
        own = [1 if chooser.random() < 0.3 else size for size in own]
        if own and chooser.random() < 0.2:
            own[chooser.randrange(len(own))] = chooser.randint(0, 4)
        shapes.append(tuple(own))
    return shapes


def said_by_torch(call):
    try:
        return tuple(call().shape)
    except RuntimeError:
        return None


def check_against_torch(seed: int, count: int) -> tuple[int, int]:
    chooser = random.Random(seed)
    fitting = 0
    for _ in range(count):
        shapes = random_shapes(chooser)
        try:
            expected = tuple(torch.broadcast_shapes(*shapes))
        except RuntimeError:
            expected = None
        assert align(shapes).shape == expected, shapes
        assert bool(fault_in_words(align(shapes))) == (expected is None)
        fitting += expected is not None
    return fitting, count - fitting


def test_the_rule_is_torch_broadcast_shapes():
    fitting, refused = check_against_torch(0, QUICK)
    assert min(fitting, refused) > QUICK // 10


@pytest.mark.slow
def test_the_rule_is_torch_broadcast_shapes_ten_thousand_times():
    fitting, refused = check_against_torch(1, THOROUGH)
    assert min(fitting, refused) > THOROUGH // 10


def test_the_matmul_rule_is_torch_matmul():
    chooser = random.Random(2)
    seen = {True: 0, False: 0}
    for _ in range(400):
        a, b = (tuple(chooser.choice((1, 1, 2, 3)) for _ in range(chooser.randint(0, 4))) for _ in range(2))
        if a and b and chooser.random() < 0.6:
            b = (*b[:-2], a[-1], *b[-1:]) if len(b) > 1 else (a[-1],)
        expected = said_by_torch(lambda a=a, b=b: torch.zeros(a) @ torch.zeros(b))
        assert align_matmul(a, b).shape == expected, (a, b)
        seen[expected is not None] += 1
    assert min(seen.values()) > 50


def test_the_fault_is_the_pair_that_pytorch_names():
    chooser = random.Random(3)
    faults = 0
    for _ in range(4000):
        shapes = random_shapes(chooser)[:2]
        alignment = align(shapes)
        if not alignment.faults:
            continue
        faults += 1
        first = alignment.faults[0]
        sizes = alignment.columns[first].sizes
        with pytest.raises(RuntimeError) as caught:
            torch.zeros(shapes[0]) + torch.zeros(shapes[1])
        named = f"tensor a ({sizes[0]}) must match the size of tensor b ({sizes[1]}) at non-singleton dimension {first}"
        assert named in str(caught.value)
    assert faults > 50


@pytest.mark.parametrize("operation", ["add", "matmul"])
def test_every_suggested_fix_really_fits(operation):
    chooser = random.Random(4)
    tried = 0
    for _ in range(900):
        shapes = random_shapes(chooser)[:2]
        if max(map(len, shapes)) > 4 or operation_alignment(operation, shapes).shape is not None:
            continue
        for fix in suggest_fixes(operation, shapes):
            tensors = [torch.zeros(shape) for shape in shapes]
            name = "ab"[fix.operand]
            # The page's own text, as a reader would type it.
            changed = eval(fix.code, {"a": tensors[0], "b": tensors[1]})
            assert fix.code.startswith(name)
            assert tuple(changed.shape) == fix.applied(shapes[fix.operand])
            tensors[fix.operand] = changed
            result = tensors[0] + tensors[1] if operation == "add" else tensors[0] @ tensors[1]
            candidate = [tuple(tensor.shape) for tensor in tensors]
            assert tuple(result.shape) == operation_alignment(operation, candidate).shape
            tried += 1
    assert tried > 20


@pytest.mark.parametrize(
    ("operation", "shapes", "best"),
    [
        ("add", ((2, 3, 4, 4), (3,)), "b[:, None, None]"),
        ("add", ((4, 3), (4,)), "b.unsqueeze(-1)"),
        ("add", ((3, 4), (4, 3)), "b.mT"),
        ("matmul", ((3, 4), (3, 5)), "a.mT"),
        ("matmul", ((2, 3, 4, 5), (2, 5, 6)), "b.unsqueeze(1)"),
    ],
)
def test_the_best_fix_is_the_one_a_person_would_take(operation, shapes, best):
    assert suggest_fixes(operation, shapes)[0].code == best


def test_a_product_without_a_common_size_has_no_fix():
    assert suggest_fixes("matmul", ((3, 5), (4, 6))) == ()


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        (((3, 1, 5), (4, 2)), "At dimension −1, a has 5 and b has 2"),
        (((3, 4), (2, 4)), "At dimension −2, a has 3 and b has 2"),
        (((1, 4), (3, 1), (5,)), "At dimension −1, a has 4 and c has 5"),
    ],
)
def test_the_fault_is_said_counted_from_the_right(shapes, words):
    assert words in fault_in_words(align(shapes))


def test_a_product_says_that_one_does_not_stretch_inside():
    assert "does not stretch" in fault_in_words(align_matmul((3, 1), (4, 5)))
    assert "batch dimension −1" in fault_in_words(align_matmul((3, 2, 4), (5, 4, 6)))
    assert "0-dim" in fault_in_words(align_matmul((), (4, 5)))
