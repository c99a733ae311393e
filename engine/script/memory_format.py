"""The scripts of the memory formats page."""

from __future__ import annotations

from engine.memory_format.spec import FormatSpec, FormatTimingSpec
from engine.models.spec import ModelSpec, describe
from engine.script.model import model_script
from engine.script.text import indented

FORMATS = '''\
def format_of(x: torch.Tensor) -> str:
    """contiguous, channels_last, both where sizes of 1 leave no difference, or other."""
    contiguous, last = x.is_contiguous(), x.is_contiguous(memory_format=torch.channels_last)
    return "both" if contiguous and last else "contiguous" if contiguous else "channels_last" if last else "other"


class Formats(TorchDispatchMode):
    """Prints every operation that returns a tensor (N, C, H, W)."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for x in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(x, torch.Tensor) and x.dim() == 4:
                print(func.name(), tuple(x.shape), x.stride(), format_of(x))
        return result'''

GRADIENTS = """\
for name, parameter in model.named_parameters():
    if parameter.grad is not None and parameter.grad.stride() != parameter.stride():
        print("differs", name, parameter.stride(), parameter.grad.stride())"""

TO_MODEL = "model.to(memory_format=torch.channels_last)"
TO_INPUT = 'inputs["x"] = inputs["x"].to(memory_format=torch.channels_last)'
LEFT_OUT = {"model only": TO_INPUT, "inputs only": TO_MODEL, "model and inputs": ""}


def script(spec: FormatSpec | FormatTimingSpec) -> str:
    """Print the format of every image an operation returns; or time both formats."""
    return _timing(spec) if isinstance(spec, FormatTimingSpec) else _formats(spec)


def _formats(spec: FormatSpec) -> str:
    parts = model_script(spec.model)
    parts.imports.add(("torch.utils._python_dispatch", "TorchDispatchMode", ""))
    parts.definitions.append(FORMATS)
    built, run = _split(parts.recipe, spec.model)
    left_out = LEFT_OUT[spec.converted]
    run = [*run, "loss.backward()"] if spec.backward else run
    parts.recipe = [line for line in built if line != left_out]
    parts.recipe += ["with Formats():", *indented(run), *([GRADIENTS] if spec.backward else [])]
    return parts.text(f"{describe(spec.model.architecture)}: the memory format of every operation, in plain torch.")


def _split(recipe: list[str], model: ModelSpec) -> tuple[list[str], list[str]]:
    """(what builds the model, what runs it): the second seed stands between them."""
    seed = f"torch.manual_seed({model.seed})"
    at = len(recipe) - 1 - recipe[::-1].index(seed)
    return recipe[: at + 1], recipe[at + 1 :]


def _timing(spec: FormatTimingSpec) -> str:
    parts = model_script(spec.model)
    parts.imports.add(("torch.utils.benchmark", "Timer", ""))
    built, run = _split(parts.recipe, spec.model)
    parts.recipe = [line for line in built if line not in (TO_MODEL, TO_INPUT)]
    body = [line for line in run if line.strip()]
    parts.recipe += ["", "", "def forward():", *indented(body), "    return loss", "", ""]
    parts.recipe += [
        "for layout in (torch.contiguous_format, torch.channels_last):",
        "    model.to(memory_format=layout)",
        "    inputs = {name: x.to(memory_format=layout) for name, x in inputs.items()}",
        '    print(layout, Timer("forward()", globals=globals()).blocked_autorange(min_run_time=0.5).median, "s")',
    ]
    return parts.text(f"{describe(spec.model.architecture)}: one forward and loss in both memory formats.")
