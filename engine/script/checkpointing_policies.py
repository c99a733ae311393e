"""Policies as functions of plain torch: `run_blocks(x)` for the blocks, hooks for what is moved away."""

from __future__ import annotations

from engine.checkpointing.policy import Policy, label_of
from engine.models.spec import ModelSpec, block_count
from engine.script.model import ModelScript, model_script
from engine.script.text import indented

KEEP = '''\
def keep_some(kept: list, context, operation, *args, **kwargs) -> CheckpointPolicy:
    """Keep the outputs of some operations instead of running them again."""
    if operation not in kept:
        return CheckpointPolicy.PREFER_RECOMPUTE
    out = context.op_output
    note(*(out if isinstance(out, tuple) else (out,)))
    return CheckpointPolicy.MUST_SAVE'''
IN_TURN = """\
def in_turn(x: torch.Tensor, first: int, after: int) -> torch.Tensor:
    for step in steps[first:after]:
        x = step(x)
    return x"""
ON_DISK = '''\
class InFile:
    """A saved tensor in a file of a temporary folder."""

    def __init__(self, x: torch.Tensor) -> None:
        self.path = f"{folder.name}/{len(moved)}"
        torch.save(x.detach(), self.path)
        moved.append(x.nbytes)

    def __del__(self) -> None:
        os.remove(self.path)


def write(x: torch.Tensor) -> torch.Tensor | InFile:
    return x if x.untyped_storage().data_ptr() in resident or not x.numel() else InFile(x)


def read(x: torch.Tensor | InFile) -> torch.Tensor:
    return torch.load(x.path) if isinstance(x, InFile) else x'''


def stepping(model: ModelSpec, policies: tuple[Policy, ...]) -> ModelScript:
    """The model, `steps`, `forward()`, and `policies`: label -> (run_blocks, hooks), in a script to go on with."""
    script = model_script(model)
    begin = len(script.recipe) - 1 - script.recipe[::-1].index(f"torch.manual_seed({model.seed})")
    forward = ["def forward():", *indented([*script.recipe[begin:], "return outputs, loss"])]
    del script.recipe[begin:]
    if block_count(model.architecture) and "steps = list(model.blocks)" not in script.recipe:
        script.recipe.append("steps = list(model.blocks)")
    script.recipe += ["", "", *forward]
    _add_definitions(script, policies)
    table = [
        f'    "{label_of(policy)}": ({_runner(script, n, policy)}, {_hooks(policy)}),'
        for n, policy in enumerate(policies)
    ]
    script.recipe += ["", "", "policies = {", *table, "}"]
    return script


def _add_definitions(script: ModelScript, policies: tuple[Policy, ...]) -> None:
    """What some policies need beside their own function."""
    kinds = {policy.kind for policy in policies}
    used = {"checkpoint"} if kinds & {"every_k", "each_block", "groups", "selective"} else set()
    used |= {"checkpoint_sequential"} if "segments" in kinds else set()
    if "selective" in kinds:
        used |= {"CheckpointPolicy", "create_selective_checkpoint_contexts"}
        script.imports.add(("functools", "partial", ""))
        script.recipe += ["", "", *KEEP.split("\n")]
    if "groups" in kinds:
        script.recipe += ["", "", *IN_TURN.split("\n")]
    script.imports |= {("torch.utils.checkpoint", name, "") for name in used}
    if "save_on_disk" in kinds:
        script.imports |= {("os", "", ""), ("tempfile", "", "")}
        script.recipe += ["", "", "folder = tempfile.TemporaryDirectory()", "", "", *ON_DISK.split("\n")]


def _runner(script: ModelScript, number: int, policy: Policy) -> str:
    """The name of the function that runs the blocks, which is added; None where they run as they are."""
    if not policy.is_checkpoint:
        return "None"
    name = f"{policy.kind}_{number}"
    script.recipe += ["", "", f"def {name}(x: torch.Tensor) -> torch.Tensor:", *indented(_body(policy))]
    return name


def _body(policy: Policy) -> list[str]:
    asked = f"use_reentrant={policy.use_reentrant}, preserve_rng_state={policy.preserve_rng_state}"
    match policy.kind:
        case "segments":
            return [f"return checkpoint_sequential(steps, {policy.segments}, x, {asked})"]
        case "every_k":
            chosen = f"checkpoint(step, x, {asked}) if i % {policy.k} == 0 else step(x)"
            return ["for i, step in enumerate(steps):", f"    x = {chosen}", "return x"]
        case "groups":
            return _groups(policy, asked)
        case "selective":
            kept = ", ".join(f"torch.ops.{name}" for name in policy.keep)
            contexts = f"partial(create_selective_checkpoint_contexts, partial(keep_some, [{kept}]))"
            loop = f"    x = checkpoint(step, x, context_fn=contexts, {asked})"
            return [f"contexts = {contexts}", "for step in steps:", loop, "return x"]
    return ["for step in steps:", f"    x = checkpoint(step, x, {asked})", "return x"]


def _groups(policy: Policy, asked: str) -> list[str]:
    return [
        f"after = {dict(policy.groups)}",
        "i = 0",
        "while i < len(steps):",
        f"    x = checkpoint(in_turn, x, i, after[i], {asked}) if i in after else steps[i](x)",
        "    i = after.get(i, i + 1)",
        "return x",
    ]


def _hooks(policy: Policy) -> str:
    if policy.kind == "save_on_cpu":
        return "torch.autograd.graph.save_on_cpu()"
    return "torch.autograd.graph.saved_tensors_hooks(write, read)" if policy.kind == "save_on_disk" else "None"
