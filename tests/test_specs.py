"""Every spec of every topic: it names its experiment and its result, and it validates itself."""

from __future__ import annotations

import importlib
import inspect
import math
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from engine.runner.contract import Limits, Price, Result, Spec, field_ranges
from tests.source_tree import ROOT, module_name

SPEC_FILES = sorted((ROOT / "engine").glob("*/spec.py"))
for spec_file in SPEC_FILES:
    importlib.import_module(module_name(spec_file))


def subclasses(kind: type) -> list[type]:
    below = [sub for direct in kind.__subclasses__() for sub in (direct, *subclasses(direct))]
    return [sub for sub in below if sub.__module__.startswith("engine.")]


def concrete(kind: type) -> list[type]:
    found = {sub.__qualname__: sub for sub in subclasses(kind) if "verb" in vars(sub)}
    return [found[name] for name in sorted(found)]


def structs_below(kind: Any) -> set[type]:
    """The Struct classes reachable through the fields of `kind`, itself included."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        hints = get_type_hints(kind)
        return {kind}.union(*(structs_below(hints[name]) for name in kind.__struct_fields__))
    return set().union(*(structs_below(inner) for inner in get_args(kind)))


SPECS = concrete(Spec)
ASKED = sorted({struct for spec in SPECS for struct in structs_below(spec)}, key=lambda kind: kind.__qualname__)
FIELDS = [(kind, name) for kind in ASKED for name in kind.__struct_fields__]


def is_limited(kind: type, name: str) -> bool:
    allowed = field_ranges(kind).get(name)
    return allowed is not None and bool(allowed.choices or allowed.low is not None or allowed.high is not None)


RANGED = [(kind, name) for kind, name in FIELDS if is_limited(kind, name)]


def label(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else str(value)


def test_specs_were_found():
    assert {module_name(path) for path in SPEC_FILES} >= {spec.__module__ for spec in SPECS}
    assert len(SPECS) >= 3


@pytest.mark.parametrize("spec", SPECS, ids=label)
def test_a_spec_names_its_experiment_and_result(spec):
    assert inspect.getdoc(spec)
    assert spec.__doc__
    assert issubclass(spec.result, Result)
    assert spec.result is not Result
    assert isinstance(spec.limits, Limits)
    experiment = importlib.import_module(spec.__module__.rpartition(".")[0] + ".experiment")
    verb = getattr(experiment, spec.verb)
    assert inspect.getdoc(verb)
    assert len(inspect.signature(verb).parameters) == 2
    if hasattr(experiment, "price"):
        assert isinstance(experiment.price(spec()), Price | None)


@pytest.mark.parametrize("spec", SPECS, ids=label)
def test_a_spec_is_plain_data(spec):
    default = spec()
    assert default == spec()
    assert hash(default) == hash(spec())
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(default), type=spec) == default
    with pytest.raises(AttributeError):
        setattr(default, spec.__struct_fields__[0] if spec.__struct_fields__ else "anything", None)


@pytest.mark.parametrize("kind", ASKED, ids=label)
def test_every_number_has_a_range_with_two_ends(kind):
    hints = get_type_hints(kind)
    numbers = [name for name in kind.__struct_fields__ if hints[name] in (int, float)]
    ranges = field_ranges(kind)
    unbounded = [n for n in numbers if n not in ranges or ranges[n].low is None or ranges[n].high is None]
    assert unbounded == []


def outside(kind: type, name: str) -> list[Any]:
    allowed = field_ranges(kind)[name]
    if allowed.choices:
        return ["no such choice", None]
    beyond = [allowed.low - 1] if allowed.low is not None else []
    beyond += [allowed.high + 1, math.inf] if allowed.high is not None else []
    return [*beyond, math.nan, "3", None, True]


def build(kind: type, /, **values: Any) -> Any:
    required = {n: None for n in kind.__struct_fields__ if n not in values}
    try:
        return kind(**values)
    except TypeError:
        return kind(**required, **values)


@pytest.mark.parametrize(("kind", "name"), RANGED, ids=label)
def test_a_value_outside_its_range_is_refused_in_words(kind, name):
    for value in outside(kind, name):
        with pytest.raises(ValueError, match=name) as caught:
            build(kind, **{name: value})
        message = str(caught.value)
        assert kind.__name__ in message
        assert "received" in message
        assert len(message.split(".")) >= 2
