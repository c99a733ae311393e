"""The storage page: its questions' claims, the chain editor, and the steps it offers."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest

from engine import run
from engine.storage.chain import format_chain, parse_chain
from engine.storage.operations import OPERATIONS
from engine.storage.spec import LayoutSpec, LayoutTrace
from pages.shared.fields import parse_ints
from pages.tensors import storage_starts
from pages.tensors.storage_and_views_presets import PRESETS
from pages.tensors.storage_controls import TENSOR_FIELDS, values_of
from pages.tensors.storage_numbers import address_words, key_numbers
from tests.app.pages_under_test import PAGES_FOLDER, errors, open_page

PAGE = PAGES_FOLDER / "tensors" / "01_storage_and_views.py"


def spec_of(question: str, **changes) -> LayoutSpec:
    values = next(preset.settings for preset in PRESETS if preset.question == question)
    asked = values["storage.view"]
    spec = LayoutSpec(
        shape=parse_ints(values["storage.shape"], "shape"),
        steps=parse_chain(values["storage.chain"]),
        view_shape=parse_ints(asked, "view") if asked else None,
        **{name: values[f"storage.{name}"] for name in (*TENSOR_FIELDS, "write", "write_step")},
    )
    assert values_of(spec) == values
    return msgspec.structs.replace(spec, **changes)


@cache
def traced(question: str, **changes) -> LayoutTrace:
    return run(spec_of(question, **changes), inline=True)


def number(trace: LayoutTrace, label: str) -> float:
    return next(one.value for one in key_numbers(trace) if one.label == label)


def test_the_failing_view_and_what_reshape_copies():
    question = "Why does this `.view` fail?"
    trace = traced(question)
    assert trace.layouts[-1].stride == (1, 6)
    assert trace.view.view is None
    assert "view size is not compatible" in trace.view.view_error.message
    assert trace.view.reshape_copied_bytes == 96
    assert traced(question, steps=()).view.view is not None


def test_reshape_copies_only_what_does_not_join():
    question = "How many bytes did reshape copy?"
    assert number(traced(question), "Copied") == 96
    assert number(traced(question, steps=parse_chain(".permute(2, 0, 1).reshape(4, 6)")), "Copied") == 0


def test_expand_costs_nothing_and_cannot_be_written_through():
    question = "What does `expand` cost?"
    trace = traced(question, write="mul_", write_step=1)
    assert (number(trace, "Elements"), number(trace, "Storage bytes")) == (400, 16)
    assert trace.layouts[-1].stride == (1, 0)
    assert trace.write.error is not None
    assert number(traced(question, steps=parse_chain(".repeat(1, 100)")), "Copied") == 1600


def test_a_slice_keeps_its_storage_and_a_clone_does_not():
    question = "Why is the file of a ten-element slice so large?"
    trace = traced(question)
    assert (number(trace, "View bytes"), number(trace, "Storage bytes")) == (40, 40_000)
    cloned = traced(question, steps=parse_chain("[2500:2510].clone()"))
    assert number(cloned, "Storage bytes") == 40
    assert number(trace, "Saved file") - 40_000 == pytest.approx(number(cloned, "Saved file") - 40, abs=200)
    assert (trace.saved.loaded_offset, trace.saved.loaded_storage_bytes) == (2500, 40_000)


def test_as_strided_reads_a_cell_three_times_without_copying():
    question = "Where does `as_strided` overlap?"
    trace = traced(question)
    read = [i + j for i in range(6) for j in range(3)]
    assert read.count(3) == 3
    assert trace.layouts[-1].stride == (1, 1)
    assert number(trace, "Copied") == 0
    written = traced(question, write="mul_", write_step=1).write
    assert (written.error, written.overlapping) == (None, 6)
    unfolded = traced(question, steps=parse_chain(".unfold(0, 3, 1)")).layouts[-1]
    assert (unfolded.shape, unfolded.stride) == (trace.layouts[-1].shape, trace.layouts[-1].stride)


def test_flip_copies_and_a_negative_step_is_refused():
    question = "Is flip a view, as in numpy?"
    assert [outcome.kind for outcome in traced(question).outcomes] == ["copy", "view"]
    refused = traced(question, steps=parse_chain("[::-1]"))
    assert refused.outcomes[-1].error.message == "step must be greater than zero"


def test_a_permuted_image_is_channels_last_without_a_copy():
    end = traced("When is a permuted tensor channels_last?").layouts[-1]
    assert (end.is_contiguous, end.is_channels_last, end.stride) == (False, True, (60, 1, 20, 5))


def test_a_write_changes_everything_that_reads_the_storage():
    question = "Who changes when I write through a view?"
    names = traced(question).write.names
    assert [name.changed for name in names] == [False, True, True, True]
    assert [name.version_after for name in names] == [0, 1, 1, 1]
    assert "CopySlices" in names[1].grad_fn_after
    assert "leaf" in traced(question, write_step=0).write.error.message


def test_the_real_part_is_a_view_of_every_second_number():
    trace = traced("What do complex numbers share with their real part?")
    assert (trace.layouts[-1].stride, trace.outcomes[-1].kind) == ((2,), "view")
    conjugate = traced("What do complex numbers share with their real part?", steps=parse_chain(".conj()"))
    assert (conjugate.layouts[-1].is_conj, conjugate.outcomes[-1].kind) == (True, "view")


def test_a_question_stands_where_its_link_leads():
    assert len(PRESETS) >= 5
    assert len({preset.question for preset in PRESETS}) == len(PRESETS)
    for preset in PRESETS:
        assert spec_of(preset.question)


def test_the_words_under_the_picture_count_lines_gaps_and_readers():
    def words(chain: str, shape=(4, 32)) -> str:
        return address_words(run(LayoutSpec(shape=shape, steps=parse_chain(chain)), inline=True).layouts[-1])

    # 32 floats are two lines of 64 bytes; a column of them steps two lines at a time
    assert words("").startswith("A row (last dimension) touches 2 cache lines of 64 bytes; all elements 8, ")
    assert words(".t()").startswith("A row (last dimension) touches 4 cache lines")
    # rows 0 and 2, every second column: 32 of the places 0 to 94
    assert "63 places between the first and the last are not read" in words("[:, ::2][::2]")
    assert "read by 3 indices" in words(".as_strided((6, 3), (1, 1))")
    assert words("[:0]") == ""


STARTS = [((4, 6), "float32"), ((5, 7), "float32"), ((2, 3, 4), "int64"), ((1, 3, 4, 4), "bool"), ((6, 2), "complex64")]
NEEDS_OTHER = {
    "to_memory_format": lambda shape, dtype: len(shape) != 4,
    "imag": lambda shape, dtype: not dtype.startswith("complex"),
}


@pytest.mark.parametrize(("shape", "dtype"), STARTS)
def test_what_is_added_works_on_the_tensor_it_is_added_to(monkeypatch, shape, dtype):
    monkeypatch.setattr(storage_starts, "run", lambda spec: run(spec, inline=True))
    spec = LayoutSpec(shape=shape, dtype=dtype)
    refused = []
    for name in OPERATIONS:
        step = storage_starts.starting_step(name, spec)
        trace = run(msgspec.structs.replace(spec, steps=(step,)), inline=True)
        if trace.outcomes[0].error is not None:
            refused.append(name)
    assert refused == [name for name in OPERATIONS if name in NEEDS_OTHER and NEEDS_OTHER[name](shape, dtype)]


def chain_of(app) -> str:
    return app.session_state["storage.chain"]


def test_steps_are_added_edited_moved_and_removed():
    app = open_page(PAGE)
    app.selectbox(key="storage.add.0").set_value("transpose").run()
    app.selectbox(key="storage.add.1").set_value("flip").run()
    assert chain_of(app) == format_chain(parse_chain(".transpose(0, 1).flip(0)"))
    app.text_input(key="storage.step.0").set_value(".permute(1, 0)").run()
    app.button(key="storage.step.1.Earlier").click().run()
    assert chain_of(app) == format_chain(parse_chain(".flip(0).permute(1, 0)"))
    app.button(key="storage.step.0.remove").click().run()
    assert chain_of(app) == format_chain(parse_chain(".permute(1, 0)"))
    assert errors(app) == []


@pytest.mark.parametrize("broken", [{"storage.shape": "abc"}, {"storage.chain": "[0"}])
def test_a_click_that_comes_with_text_that_cannot_be_read_harms_nothing(broken):
    """The browser sends what was typed together with the click that follows."""
    for clicked in ("storage.step.0.remove", "storage.step.0.Later", "storage.add.0", "storage.step.1"):
        app = open_page(PAGE, **{"storage.chain": ".transpose(0, 1).flip(0)"})
        for key, text in broken.items():
            app.text_input(key=key).set_value(text)
        if clicked == "storage.add.0":
            app.selectbox(key=clicked).set_value("roll")
        elif clicked == "storage.step.1":
            app.text_input(key=clicked).set_value(".flip(1)")
        else:
            app.button(key=clicked).click()
        app.run()
        assert errors(app) == []
        assert app.text_input(key="storage.chain").value


def shown_in_view_tab(chain: str, **query: str) -> str:
    app = open_page(PAGE, **{"storage.chain": chain, "storage.details": "Will .view() work?", **query})
    app.session_state["storage.details"] = "Will .view() work?"
    app.run()
    assert errors(app) == []
    tables = [table.value.to_string() for table in app.dataframe]
    return "\n".join([*(text.value for text in (*app.markdown, *app.caption, *app.code)), *tables])


def test_a_view_refused_inside_the_chain_is_explained_too():
    assert "stride[0] = 1 != 4 * 6 = 24" in shown_in_view_tab(".t().view(24)")
    assert "stride[-1] == 1" in shown_in_view_tab(".t().view(torch.int16)")
    assert "copying 96 B" in shown_in_view_tab(".t()", **{"storage.view": "24"})


def test_a_step_that_cannot_be_read_is_told_and_can_be_mended():
    app = open_page(PAGE, **{"storage.chain": ".transpose(0, 1).flip(0)"})
    app.text_input(key="storage.step.1").set_value(".flop(0)").run()
    assert "flop" in app.text[0].value
    assert errors(app) == []
    app.text_input(key="storage.chain").set_value(".transpose(0, 1).flip(1)").run()
    assert app.text_input(key="storage.step.1").value == ".flip(1)"
