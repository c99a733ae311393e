"""A tripwire: what engine.recorded reads under private names is still there and still means the same."""

import re
from pathlib import Path

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from engine import recorded
from engine.graph.wording import hook_name, is_checkpoint_hook, is_freed, versions_in

PRIVATE = re.compile(
    r"_raw_saved_|_input_metadata|\._sequence_nr|_get_sequence_nr|\._version\b|_backward_hooks\b|\._is_view|\._base\b|"
    r"_post_accumulate_grad_hooks|torch\._C\.|\._cdata|\._indices\(|\._values\("
)


def test_torch_is_a_version_these_names_were_checked_with():
    major, minor = (int(part) for part in torch.__version__.split(".")[:2])
    assert (2, 11) <= (major, minor) <= (2, 14), (
        f"engine.recorded was checked with torch 2.11 to 2.14, this is {torch.__version__}: "
        "read the tests of this file, then widen the range"
    )


def recording(path: Path) -> bool:
    """Whether a file is engine/recorded.py or a topic's engine/recorded_<topic>.py, which may read private names."""
    return path.parent == Path(recorded.__file__).parent and path.stem.split("_")[0] == "recorded"


def test_private_names_are_read_in_the_recording_modules_only():
    engine = Path(recorded.__file__).parent
    paths = [path for path in engine.rglob("*.py") if not recording(path) and path.parent.name != "script"]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    computing = {path: text for path, text in texts.items() if "\nimport torch" in text}
    assert len(computing) > 10
    assert [path.name for path, text in computing.items() if PRIVATE.search(text)] == []


@pytest.fixture
def product():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return x, x * x


def test_raw_slots_carry_data_and_hook(product):
    x, y = product
    layout = recorded.layout_of(y.grad_fn)
    assert [slot.name for slot in layout.slots] == ["other", "self"]
    for raw in layout.read_slots(y.grad_fn):
        assert raw.data is x
        assert raw.unpack_hook is None


def test_incoming_metadata_has_shape_dtype_device(product):
    _, y = product
    (metadata,) = recorded.read_incoming(y.grad_fn)
    assert recorded.read_metadata(metadata) == ([2], torch.float32, torch.device("cpu"))


def test_sequence_numbers_grow_by_one_and_accumulators_have_none(product):
    _, y = product
    first = recorded.next_sequence_nr()
    z = y.exp()
    assert recorded.read_sequence_nr(z.grad_fn) == first
    assert recorded.next_sequence_nr() == first + 1
    accumulator = y.grad_fn.next_functions[0][0]
    assert accumulator.name() == recorded.ACCUMULATE
    assert recorded.read_sequence_nr(accumulator) >= recorded.LEAF_SEQUENCE


def test_version_error_still_tells_both_versions(product):
    _, y = product
    node = y.exp_().grad_fn
    y.add_(1).add_(1)
    (slot,) = recorded.layout_of(node).slots
    with pytest.raises(RuntimeError) as raised:
        recorded.unpack_hookless(node, slot)
    assert versions_in(raised.value) == (3, 1)


def test_freed_slots_still_say_so(product):
    _, y = product
    node = y.grad_fn
    y.sum().backward()
    with pytest.raises(RuntimeError) as raised:
        recorded.unpack_hookless(node, recorded.layout_of(node).slots[0])
    assert is_freed(raised.value)


def test_only_a_saved_output_unpacks_to_its_own_node():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    (slot,) = recorded.layout_of(y.grad_fn).slots
    assert slot.is_output
    assert recorded.layout_of(y.grad_fn).read_slots(y.grad_fn).data.grad_fn is None
    assert recorded.unpack_hookless(y.grad_fn, slot).grad_fn is y.grad_fn


def test_checkpoint_hooks_are_recognised_by_their_module():
    x = torch.ones(2, requires_grad=True)
    node = checkpoint(lambda t: t * t, x, use_reentrant=False).grad_fn
    raw = recorded.layout_of(node).read_slots(node)[0]
    assert is_checkpoint_hook(raw.unpack_hook)
    with torch.autograd.graph.save_on_cpu():
        offloaded = (x * x).grad_fn
    raw = recorded.layout_of(offloaded).read_slots(offloaded)[0]
    assert not is_checkpoint_hook(raw.unpack_hook)
    assert hook_name(raw.unpack_hook) == "save_on_cpu"


def test_storage_identity_is_shared_by_views_only():
    a = torch.ones(4)
    assert recorded.storage_of(a) == recorded.storage_of(a[1:])
    assert recorded.storage_of(a)[0] != recorded.storage_of(a.clone())[0]
    assert recorded.storage_of(a)[1] == 16


def test_hooks_are_found_in_their_dictionaries():
    def seen(g):
        return None

    leaf = torch.ones(2, requires_grad=True)
    assert not recorded.leaf_hooks(leaf)
    leaf.register_post_accumulate_grad_hook(seen)
    assert recorded.leaf_hooks(leaf)
    assert recorded.read_tensor(leaf)[-1] is None
    leaf.register_hook(seen)
    assert recorded.read_tensor(leaf)[-1]
    assert recorded.tensor_hooks(leaf) == ("tensor hook seen", "post-accumulate hook seen")


def test_members_agree_with_the_public_iterators():
    shared = torch.nn.Linear(2, 2)
    model = torch.nn.Sequential(shared, torch.nn.BatchNorm1d(2), torch.nn.Sequential(shared, torch.nn.Linear(2, 3)))
    model[2][1].bias = None
    parameters, buffers = recorded.named_members(model)
    assert list(parameters.items()) == list(model.named_parameters())
    assert list(buffers.items()) == list(model.named_buffers())


def test_schemas_tell_views():
    assert recorded.is_view_operation("SelectBackward0")
    assert recorded.is_view_operation("ReshapeAliasBackward0")
    assert not recorded.is_view_operation("AddBackward0")  # add_ writes, add copies
    assert not recorded.is_view_operation("NoSuchThingBackward0")


def test_python_numbers_are_told_from_tensors():
    x = torch.ones(2, requires_grad=True)
    for number in (2.0, 3, 2j):
        node = (x * number).grad_fn  # a SavedTensor must not outlive its node
        assert recorded.is_python_number(recorded.layout_of(node).read_slots(node)[0].data)
    for dtype in (
        torch.float64,
        torch.float32,
        torch.float16,
        torch.int64,
        torch.int8,
        torch.complex64,
        torch.complex128,
    ):
        assert not recorded.is_python_number(torch.tensor(2.0, dtype=dtype))
