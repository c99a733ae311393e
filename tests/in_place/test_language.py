"""The grammar of programs: what is read, what is refused and in which words, and that nothing is evaluated."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.in_place.families import FAMILIES
from engine.in_place.language import LONGEST_PROGRAM, MOST_STATEMENTS, MOST_TENSORS, parse_program
from engine.in_place.methods import METHODS
from engine.in_place.spec import DEFAULT_PROGRAM, FamilyName, FamilySpec, ProgramSpec
from engine.in_place.statements import Assign, Augment, Chain, Delete, Do, Store
from engine.in_place.values import LARGEST_TENSOR, StatementError

X = "x = ones(3)\n"


def test_each_kind_of_statement_is_read_with_its_line_text_and_modes():
    program = parse_program(
        "x = randn(3, requires_grad=True)  # a leaf\n"
        "a, b, c = x.unbind()\n"
        "with torch.no_grad():\n"
        "    x += 1\n"
        "    with enable_grad():\n"
        "        x[0, 1:] = 2\n"
        "\n"
        "x.data = x * 2\n"
        "x.add_(a, alpha=-0.1)\n"
        "del b, c\n"
    )
    assert [type(one.action) for one in program] == [Assign, Assign, Augment, Store, Store, Do, Delete]
    assert [one.line for one in program] == [1, 2, 4, 6, 8, 9, 10]
    assert [one.modes for one in program] == [(), (), ("no_grad",), ("no_grad", "enable_grad"), (), (), ()]
    assert program[0].text == "x = randn(3, requires_grad=True)"
    assert isinstance(program[5].action.value, Chain)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("", "empty"),
        ("x = ", "Line 1 cannot be read"),
        ("import os", "Line 1 is no statement"),
        ("x = __import__('os')", "not a function here"),
        (X + "y = x.__class__", "Line 2 asks for .__class__"),
        (X + "x.numpy()", "Line 2 calls .numpy"),
        (X + "getattr(x, 'data')", "Line 2"),
        (X + "y = (lambda: x)()", "Line 2"),
        (X + "y = [x for x in x]", "Line 2"),
        (X + "x.add_(1); x.add_(2)", "Line 2 holds two statements"),
        (X + "x + 1", "computes a value and drops it"),
        (X + "y = q * 2", "'q' is not known here"),
        (X + "del x\nx.add_(1)", "Line 3"),
        (X + "sin = x", "names a tensor"),
        (X + "torch = x", "names a tensor"),
        (X + "with open('f'):\n    x.add_(1)", "opens an unknown block"),
        (X + "x.add_()", "gives .add_() 0 arguments"),
        (X + "x.add_(1, beta=2)", "unknown option"),
        (X + "x[x] = 1", "whole numbers"),
        (X + "x.clone() = 1", "Line 2"),
        (f"x = ones({LARGEST_TENSOR + 1})", f"limit is {LARGEST_TENSOR}"),
        ("x = arange(1, 9, 0)", "more than"),
        ("x = ones(-1)", "sizes that are none"),
        (X + "for i in x:\n    x.add_(1)", "is no statement"),
        (X + "y = part_0", "not known here"),
        (X * (MOST_STATEMENTS + 1), f"at most {MOST_STATEMENTS}"),
        ("\n".join(f"x{i} = ones(1)" for i in range(MOST_TENSORS + 1)), f"more than {MOST_TENSORS} names"),
        ("#" * (LONGEST_PROGRAM + 1), f"at most {LONGEST_PROGRAM}"),
        ("x = ones(" + "(" * 400, "cannot be read"),
        ("x = " + "-" * 900 + "1", "deep"),
    ],
)
def test_what_is_not_in_the_grammar_is_refused_in_words(program, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        ProgramSpec(program=program)


@given(st.text(max_size=80) | st.text(alphabet="xy=().,+*_ \n01adsumgrtk[]:", max_size=80))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(StatementError):
        assert parse_program(text)


@pytest.mark.parametrize("program", [DEFAULT_PROGRAM, *(m.program for f in FAMILIES.values() for m in f.members)])
def test_every_program_of_the_page_is_read(program):
    assert parse_program(program)


def test_every_family_can_be_asked_for():
    assert set(FamilyName.__args__) == set(FAMILIES)
    assert FamilySpec().name in FAMILIES


def test_every_method_of_the_table_is_one_of_torch():
    import torch

    assert [name for name in METHODS if not callable(getattr(torch.Tensor, name, None))] == []
    written = [name for name, one in METHODS.items() if one.kind == "in place"]
    assert all(name.endswith("_") for name in written)
