"""Lines that build a ModelSpec in plain torch and run its forward and loss."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from engine.models.architecture import ConvNet, Embedding, Expression, Gpt, TwoTower, constructor_arguments
from engine.models.spec import ModelSpec
from engine.script.source import class_source
from engine.script.text import call, import_lines, indented

Imports = set[tuple[str, str, str]]


@dataclass
class ModelScript:
    """Parts of a script: what to import, the model's own source, and the recipe up to `loss`."""

    imports: Imports = field(default_factory=lambda: {("torch", "", "")})
    definitions: list[str] = field(default_factory=list)
    recipe: list[str] = field(default_factory=list)

    def text(self, title: str) -> str:
        """The whole script."""
        parts = [f'"""{title}"""', import_lines(sorted(self.imports))]
        return "\n\n".join(parts) + "\n\n\n" + "\n\n\n".join([*self.definitions, "\n".join(self.recipe)]) + "\n"


def model_script(model: ModelSpec) -> ModelScript:
    """Source and recipe of `model`; afterwards `model`, `inputs`, `outputs` and `loss` exist."""
    script = ModelScript()
    family, name = _where(model)
    if isinstance(model.architecture, ConvNet):
        _add_block(script, model.architecture)
    source = class_source(family, name)
    script.imports.update(source.imports)
    script.definitions += source.definitions
    script.recipe += [
        f"torch.manual_seed({model.seed})",
        *call(f"model = {name}", constructor_arguments(model.architecture)),
    ]
    script.recipe += [*_inputs(model), *_moves(model), *_modes(model)]
    script.recipe += [*_blocks(model, script.imports), "", f"torch.manual_seed({model.seed})", *_forward(model)]
    return script


def _add_block(script: ModelScript, architecture: ConvNet) -> None:
    """The one kind of block that is used, and the table of kinds with it alone."""
    source = class_source("conv_net", architecture.block_class)
    script.imports.update(source.imports)
    script.definitions += [*source.definitions, f'BLOCKS = {{"{architecture.block}": {architecture.block_class}}}']


def outputs_of(model: ModelSpec) -> str:
    """An argument list of every output tensor."""
    return "*outputs.values()" if isinstance(model.architecture, TwoTower) else "outputs"


def _where(model: ModelSpec) -> tuple[str, str]:
    if isinstance(model.architecture, Expression):
        return "expression", model.architecture.class_name
    name = type(model.architecture).__name__
    family = "resnet" if name == "ResNet" else re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
    return family, name


def _inputs(model: ModelSpec) -> list[str]:
    if isinstance(model.architecture, Expression):
        return [f"inputs = model.example_leaves(torch.{model.dtype})"]
    lines = [f"inputs = model.example_inputs({model.batch})"]
    return [*lines, f"target = model.example_target({model.batch})"] if model.loss == "cross_entropy" else lines


def _moves(model: ModelSpec) -> list[str]:
    """Device, dtype and memory format of model and inputs."""
    if isinstance(model.architecture, Expression):
        return _moved_leaves(model)
    to = ([f'"{model.device}"'] if model.device != "cpu" else []) + (
        [f"torch.{model.dtype}"] if model.dtype != "float32" else []
    )
    lines = [f"model.to({', '.join(to)})"] if to else []
    if isinstance(model.architecture, Gpt | Embedding):  # ids stay integers
        to = to[:1] if model.device != "cpu" else []
    if to:
        lines.append(f"inputs = {{name: x.to({', '.join(to)}) for name, x in inputs.items()}}")
    if model.loss == "cross_entropy" and model.device != "cpu":
        lines.append(f'target = target.to("{model.device}")')
    if model.memory_format == "channels_last":
        lines.append("model.to(memory_format=torch.channels_last)")
        lines.append('inputs["x"] = inputs["x"].to(memory_format=torch.channels_last)')
    return lines


def _moved_leaves(model: ModelSpec) -> list[str]:
    if model.device == "cpu":
        return []
    return [
        "for name, x in inputs.items():",
        f'    inputs[name] = x.detach().to("{model.device}").requires_grad_(x.requires_grad)',
    ]


def _modes(model: ModelSpec) -> list[str]:
    lines = [] if model.train else ["model.eval()"]
    if model.input_requires_grad:
        lines += ["for x in inputs.values():", "    x.requires_grad_()"]
    return lines + [f'model.get_submodule("{group}").requires_grad_(False)' for group in model.frozen]


def _blocks(model: ModelSpec, imports: Imports) -> list[str]:
    """Replace `run_blocks` where blocks are checkpointed or one of them runs under another gradient mode."""
    on_a_block = model.grad_mode != "grad" and model.grad_mode_block >= 0
    if model.checkpoint == "off" and not on_a_block:
        return []
    special = _special_block(model) if on_a_block else []
    body = indented(_loop(model, imports))
    define = ["def run_blocks(x: torch.Tensor) -> torch.Tensor:", *body]
    return ["steps = list(model.blocks)", *special, "", "", *define, "", "", "model.run_blocks = run_blocks"]


def _special_block(model: ModelSpec) -> list[str]:
    block = f"model.blocks[{model.grad_mode_block}](x)"
    if model.grad_mode == "detach":
        body = [f"return {block}.detach()"]
    else:
        body = [f"with torch.{model.grad_mode}():", f"    return {block}"]
    define = ["def cut_off(x: torch.Tensor) -> torch.Tensor:", *indented(body)]
    return ["", "", *define, "", "", f"steps[{model.grad_mode_block}] = cut_off"]


def _loop(model: ModelSpec, imports: Imports) -> list[str]:
    keep = f"use_reentrant={model.use_reentrant}, preserve_rng_state={model.preserve_rng_state}"
    if model.checkpoint == "off":
        return ["for step in steps:", "    x = step(x)", "return x"]
    name = "checkpoint_sequential" if model.checkpoint == "segments" else "checkpoint"
    imports.add(("torch.utils.checkpoint", name, ""))
    if model.checkpoint == "segments":
        return [f"return checkpoint_sequential(steps, {model.checkpoint_segments}, x, {keep})"]
    if model.checkpoint == "each_block":
        return ["for step in steps:", f"    x = checkpoint(step, x, {keep})", "return x"]
    condition = f"i % {model.checkpoint_k} == 0"
    chosen = f"checkpoint(step, x, {keep}) if {condition} else step(x)"
    return ["for i, step in enumerate(steps):", f"    x = {chosen}", "return x"]


def _forward(model: ModelSpec) -> list[str]:
    lines = [*_run(model), f"loss = {_loss(model)}"]
    if model.autocast == "off":
        return lines
    return [f'with torch.autocast("{model.device}", dtype=torch.{model.autocast}):', *indented(lines)]


def _run(model: ModelSpec) -> list[str]:
    run = "outputs = model(**inputs)"
    if model.grad_mode == "grad" or model.grad_mode_block >= 0:
        return [run]
    if model.grad_mode != "detach":
        return [f"with torch.{model.grad_mode}():", f"    {run}"]
    if isinstance(model.architecture, TwoTower):
        return [run, "outputs = {name: x.detach() for name, x in outputs.items()}"]
    return [f"{run}.detach()"]


def _loss(model: ModelSpec) -> str:
    a = model.architecture
    if isinstance(a, Expression):
        return "outputs"
    main = 'outputs["logits"]' if isinstance(a, TwoTower) else "outputs"
    rest = isinstance(a, TwoTower) and a.use_auxiliary_loss
    if model.loss == "cross_entropy":
        flat = ("outputs.flatten(0, 1)", "target.flatten()") if isinstance(a, Gpt) else (main, "target")
        return f"torch.nn.functional.cross_entropy({', '.join(flat)})" + (
            ' + outputs["auxiliary"].mean()' if rest else ""
        )
    return f"{main}.{model.loss}()" + (f' + outputs["auxiliary"].{model.loss}()' if rest else "")
