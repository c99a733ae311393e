"""What the questions of the sparse page tell people to notice is what PyTorch does."""

from __future__ import annotations

import msgspec
import pytest

from engine import run
from engine.sparse.entries import parse_entries
from engine.sparse.matrix import LAYOUTS, Matrix
from engine.sparse.spec import (
    EmbeddingGradSpec,
    InvariantsSpec,
    MatmulTimingSpec,
    SparseSpec,
    SupportSpec,
    UncheckedSpec,
    WeightsSpec,
)
from pages.shared.fields import parse_ints
from pages.tensors.sparse_layouts_controls import ENTRIES, SECTION, SECTIONS
from pages.tensors.sparse_layouts_presets import PRESETS

QUESTIONS = {preset.question: preset for preset in PRESETS}


def fields(question, prefix, kind):
    """The preset's settings below a prefix that are fields of `kind`."""
    settings = QUESTIONS[question].settings
    named = {key.removeprefix(prefix): value for key, value in settings.items() if key.startswith(prefix)}
    return {name: value for name, value in named.items() if name in kind.__struct_fields__ and name != "entries"}


def matrix(question, **changes):
    settings = QUESTIONS[question].settings
    entries = {"entries": parse_entries(settings[ENTRIES])} if ENTRIES in settings else {}
    return Matrix(**(fields(question, "sparse.", Matrix) | entries | changes))


def test_every_section_has_a_question_and_each_sets_known_things():
    assert len(PRESETS) >= 6
    assert {preset.settings[SECTION] for preset in PRESETS} == set(SECTIONS)
    assert all(preset.question.endswith("?") for preset in PRESETS)


def test_row_three_lies_between_two_pointers():
    question = "Where does CSR keep row 3?"
    found = run(SparseSpec(matrix=matrix(question)), inline=True)
    csr = found.layout("csr")
    pointers = csr.member("crow_indices").numbers
    assert csr.nnz == 13
    row = [text for text in found.dense.texts[3 * 12 : 4 * 12] if text != "0"]
    assert list(csr.member("values").texts[pointers[3] : pointers[4]]) == row


def test_the_square_of_raw_values_is_wrong():
    found = run(SparseSpec(matrix=matrix("Why is the square of a sparse tensor wrong?")), inline=True)
    coalesce = found.coalesce
    assert coalesce.square_of_values[:2] == ("9", "16")
    assert coalesce.square[0] == "49"
    assert coalesce.values_error is not None
    assert coalesce.sum_nnz == coalesce.before.nnz == 3


def test_csr_takes_fewer_bytes_up_to_a_third():
    question = "At what density does CSR take fewer bytes than dense?"
    spec = WeightsSpec(**fields(question, "sparse.weights.", WeightsSpec))

    def percent(layout, **changes):
        weights = run(msgspec.structs.replace(spec, **changes), inline=True)
        most = next(curve.most_nnz for curve in weights.curves if curve.layout == layout)
        return round(100 * most / weights.cells)

    assert percent("csr") == 33
    assert percent("coo") == 20
    assert percent("csr", index_dtype="int32") == 50
    assert percent("csr", dtype="bool") == 11


def test_the_timing_question_asks_for_what_can_be_timed():
    question = "At what density does CSR multiply faster than dense?"
    settings = fields(question, "sparse.timing.", MatmulTimingSpec)
    settings["layouts"] = tuple(name.lower() for name in settings["layouts"])
    assert MatmulTimingSpec(**settings) == MatmulTimingSpec()


def test_a_broken_pointer_is_named_by_the_check_and_a_duplicate_is_silent():
    question = "What does a broken index do when nobody checks?"
    found = run(InvariantsSpec(matrix=matrix(question), layout="csr"), inline=True)
    name = QUESTIONS[question].settings["sparse.corruption"]
    complaint = next(violation.complaint for violation in found.violations if violation.name == name)
    assert "crow_indices" in complaint.message
    silent = run(UncheckedSpec(matrix=matrix(question), corruption="duplicate index"), inline=True)
    assert silent.is_silently_wrong


def test_operations_that_keep_sparse_and_those_that_do_not():
    probes = {
        layout: {p.operation: p for p in run(SupportSpec(layouts=(layout,)), inline=True).supports[0].probes}
        for layout in LAYOUTS
    }
    for found in probes.values():
        assert {found[name].outcome for name in ("x.exp()", "x + 1", "x[1:3]")} == {"refused"}
    coo, csr = probes["coo"], probes["csr"]
    assert {found["x @ dense"].outcome for found in (coo, csr)} == {"dense"}
    assert (coo["x + dense"].outcome, coo["dense + x"].outcome) == ("refused", "dense")


def test_blocks_pay_when_entries_come_in_blocks():
    question = "When do blocks pay?"
    blocks, random = (
        run(SparseSpec(matrix=matrix(question, pattern=pattern)), inline=True) for pattern in ("blocks", "random")
    )
    assert blocks.layout("bsr").bytes < blocks.layout("csr").bytes
    assert blocks.layout("bsr").stored == blocks.nonzeros
    assert random.layout("bsr").stored > 2 * random.nonzeros
    assert random.layout("bsr").bytes > random.layout("csr").bytes


def test_adam_names_sparse_adam_and_a_small_table_does_not_pay():
    question = "Why does Adam refuse my embedding's gradient?"
    asked = fields(question, "sparse.embedding.", EmbeddingGradSpec)
    found = run(EmbeddingGradSpec(**asked | {"indices": parse_ints(asked["indices"], "indices")}), inline=True)
    trials = {trial.name: trial for trial in found.optimizers}
    assert found.nnz == 3
    assert "SparseAdam" in trials["Adam"].error.message
    assert trials["SGD"].accepted
    assert trials["Adagrad"].accepted
    assert found.sparse_bytes > found.dense_bytes


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.question)
def test_a_question_fits_into_a_link(preset):
    assert sum(len(key) + len(str(value)) for key, value in preset.link_values().items()) < 2000
