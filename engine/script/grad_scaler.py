"""The script of the gradient scaling page: the training loop around torch.amp.GradScaler."""

from __future__ import annotations

from msgspec.structs import replace

from engine.grad_scaler.spec import GradScalerSpec
from engine.models.spec import describe
from engine.optimizer_names import ARGUMENTS
from engine.script.model import ModelScript, model_script
from engine.script.text import call, indented

FORMATS = '("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")'


def script(spec: GradScalerSpec) -> str:
    """Train as the page does; print scale and loss of every step, then how many gradients each format rounds to 0."""
    parts = _program(spec)
    parts.recipe += [*_optimizers(spec), *_scaler(spec), "", "gradients = []", *_loop(spec), "", *_shares(spec)]
    what = "one weight" if spec.model is None else describe(spec.model.architecture)
    return parts.text(f"{what}: trained under torch.amp.GradScaler, in plain torch.")


def _program(spec: GradScalerSpec) -> ModelScript:
    """`parameters` and `compute_loss(factor, autocast)`, where a factor is what is injected."""
    autocast = "bfloat16" if spec.autocast == "off" else spec.autocast
    enabled = "False" if spec.autocast == "off" else "autocast"
    begin = f'    with torch.autocast("cpu", dtype=torch.{autocast}, enabled={enabled}):'
    if spec.model is None:
        parts = ModelScript()
        more = ' + parameters["v"]' if spec.optimizers == 2 else ""
        names = '("w", "v")' if spec.optimizers == 2 else '("w",)'
        parts.recipe += [f"parameters = {{name: torch.nn.Parameter(torch.ones(1)) for name in {names}}}", "", ""]
        body = [begin, f'        return (parameters["w"] * ({spec.factor} if factor is None else factor){more}).sum()']
    else:
        parts = model_script(replace(spec.model, autocast="off"))
        cut = len(parts.recipe) - 1 - parts.recipe[::-1].index("")
        setup, forward = parts.recipe[:cut], parts.recipe[cut + 1 :]
        parts.recipe = [*setup, *_halved(spec)]
        parts.recipe += [
            "parameters = {name: one for name, one in model.named_parameters() if one.requires_grad}",
            "",
            "",
        ]
        body = [f"    {forward[0]}", begin, *indented(indented(forward[1:]))]
        body += ["    return loss if factor is None else loss * factor"]
    parts.recipe += ["def compute_loss(factor: float | None, autocast: bool = True) -> torch.Tensor:", *body, "", ""]
    return parts


def _halved(spec: GradScalerSpec) -> list[str]:
    if spec.mistake != "float16 parameters":
        return []
    convert = "inputs = {name: x.half() if x.is_floating_point() else x for name, x in inputs.items()}"
    return ["model.half()", convert]


def _optimizers(spec: GradScalerSpec) -> list[str]:
    kind, arguments = ARGUMENTS[spec.optimizer]
    given = "".join(f", {key}={value}" for key, value in arguments.items())
    values = "list(parameters.values())"
    if spec.optimizers == 1:
        return [f"optimizers = [torch.optim.{kind}({values}, lr={spec.lr}{given})]"]
    return [
        f"half = (len({values}) + 1) // 2",
        f"parts = [{values}[:half], {values}[half:]]",
        f"optimizers = [torch.optim.{kind}(part, lr={spec.lr}{given}) for part in parts]",
    ]


def _scaler(spec: GradScalerSpec) -> list[str]:
    names = ("init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled")
    given = {"device": spec.scaler_device} | {name: getattr(spec, name) for name in names}
    return call("scaler = torch.amp.GradScaler", given)


def _loop(spec: GradScalerSpec) -> list[str]:
    """The loop as the page runs it, its mistake included; PyTorch's error ends it."""
    body = [f"    if step in {spec.gradient_steps}:", *indented(_true_gradients())] if _is_float32(spec) else []
    body += indented(_zero_grad()) if spec.mistake != "zero_grad forgotten" else []
    body += indented(_backward(spec)) + indented(_injected_gradients(spec))
    body += indented(_zero_grad()) if spec.mistake == "zero_grad before step" else []
    body += [*indented(_clip(spec)), "    before = scaler.get_scale()", *indented(_steps(spec))]
    body += ["    scaler.update()"] if spec.mistake != "update() forgotten" else []
    body += ['    print("step", step, "scale", before, "to", scaler.get_scale(), "loss", total)']
    losses = {one.step: float(one.value) for one in spec.injections if one.place == "loss"}
    pairs = ", ".join(f'{step}: float("{value}")' for step, value in losses.items())
    head = [f"injected = {{{pairs}}}", f"for step in range(1, {spec.steps + 1}):"]
    return [*head, *body]


def _is_float32(spec: GradScalerSpec) -> bool:
    return spec.mistake != "float16 parameters"


def _true_gradients() -> list[str]:
    return [
        "    loss = compute_loss(None, autocast=False)",
        "    found = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)",
        "    gradients += [grad.coalesce().values() if grad.is_sparse else grad for grad in found if grad is not None]",
    ]


def _zero_grad() -> list[str]:
    return ["for optimizer in optimizers:", "    optimizer.zero_grad()"]


def _backward(spec: GradScalerSpec) -> list[str]:
    passes = spec.accumulation
    factor = "injected.get(step)" if passes == 1 else f"injected.get(step) if micro == {passes - 1} else None"
    divided = f" / {passes}" if passes > 1 else ""
    scaled = {
        "scale() forgotten": ["loss.backward()"],
        "scaled loss thrown away": ["scaler.scale(loss)", "loss.backward()"],
    }
    body = [f"loss = compute_loss({factor}){divided}", "total += loss.item()"]
    body += scaled.get(spec.mistake, ["scaler.scale(loss).backward()"])
    if spec.mistake == "unscale_ while accumulating":
        body += [f"if micro < {passes - 1}:", *indented(_each("scaler.unscale_(optimizer)"))]
    return ["total = 0.0", *([f"for micro in range({passes}):", *indented(body)] if passes > 1 else body)]


def _each(line: str) -> list[str]:
    return ["for optimizer in optimizers:", f"    {line}"]


def _injected_gradients(spec: GradScalerSpec) -> list[str]:
    lines = []
    for one in spec.injections:
        if one.place != "loss":
            lines += [f"if step == {one.step}:"]
            lines += [f'    parameters["{one.place}"].grad.view(-1)[0] = float("{one.value}")']
    return lines


def _clip(spec: GradScalerSpec) -> list[str]:
    twice = spec.mistake == "unscale_ twice"
    lines = _each("scaler.unscale_(optimizer)") if twice else []
    lines += _each("scaler.unscale_(optimizer)") if twice or spec.clipping == "unscale_ first" else []
    if spec.clipping != "none":
        lines += [f"torch.nn.utils.clip_grad_norm_(list(parameters.values()), {spec.max_norm})"]
    return lines


def _steps(spec: GradScalerSpec) -> list[str]:
    if spec.mistake == "optimizer.step() instead":
        return _each("optimizer.step()")
    again = ["    scaler.step(optimizer)"] if spec.mistake == "step twice" else []
    return _each("scaler.step(optimizer)") + again


def _shares(spec: GradScalerSpec) -> list[str]:
    if not _is_float32(spec):
        return []
    scales = f"(1.0, {spec.init_scale})" if spec.init_scale != 1 else "(1.0,)"
    return [
        "flat = torch.cat([grad.detach().reshape(-1).float() for grad in gradients])",
        "flat = flat[flat.isfinite() & (flat != 0)]",
        f"for scale in {scales}:",
        f"    for name in {FORMATS}:",
        "        became = (flat * scale).to(getattr(torch, name)).float()",
        '        print(name, "scale", scale, "rounds to 0:", int((became == 0).sum()), "of", flat.numel())',
    ]
