"""The script of a custom Function: the class written out, one call, one backward, what is saved, and gradcheck."""

from __future__ import annotations

from engine.custom_function.catalogue import TYPED
from engine.custom_function.spec import CustomFunctionSpec
from engine.script.custom_function_typed import own_forward, typed_class
from engine.script.source import class_source
from engine.script.text import import_lines

LINEAR_OUTPUTS = 2
LAYOUTS = {"expanded": ".expand(4)", "overlapping windows": ".as_strided((2, 2), (1, 1))"}
RUN = """\
outputs = call({names})
outputs = outputs if isinstance(outputs, tuple) else (outputs,)
print("outputs", [output.tolist() for output in outputs])
used = [output for output in outputs if output.requires_grad]
print("saved", [tuple(tensor.shape) for output in used[:1] for tensor in {saved}])
leaves = [leaf for leaf in {inputs} if leaf.requires_grad]
try:
    above = [torch.full_like(output, {grad_output!r}, requires_grad=False) for output in used]
    grads = torch.autograd.grad(used, leaves, above, allow_unused=True) if used else ()
    print("gradients", [None if grad is None else grad.tolist() for grad in grads])
except RuntimeError as error:
    print("backward", error)"""
CHECK = """\
torch.manual_seed({seed})
settings = {settings}
try:
    passed = torch.autograd.gradcheck(call, {inputs}, **settings)
    print("gradcheck", passed)
except Exception as error:
    print("gradcheck", type(error).__name__, str(error).splitlines()[0])"""


def script(spec: CustomFunctionSpec) -> str:
    """Print outputs, saved shapes, gradients and what gradcheck says of the Function of `spec`."""
    imports, definitions = _definitions(spec)
    names = ", ".join(_names(spec))
    inputs = f"({names})" if "," in names else f"({names},)"
    settings = ("eps", "atol", "rtol", "nondet_tol", "fast_mode")
    given = ", ".join(f'"{name}": {getattr(spec, name)!r}' for name in settings)
    saved = "getattr(output.grad_fn, 'saved_tensors', ())".replace("'", '"')
    parts = [
        f'"""{_title(spec)}: one call and gradcheck."""',
        import_lines({("torch", "", ""), *imports}),
        *(f"\n{definition}\n" for definition in definitions),
        "\n".join([f"torch.manual_seed({spec.seed})", *_inputs(spec)]),
        "\n".join(["", f"def call({names}):", f"    return {_call(spec)}", ""]),
        RUN.format(names=names, inputs=inputs, saved=saved, grad_output=spec.grad_output),
        CHECK.format(seed=spec.seed, inputs=inputs, settings="{" + given + "}"),
    ]
    return "\n\n".join(part.strip("\n") if number < 2 else part for number, part in enumerate(parts)) + "\n"


def _title(spec: CustomFunctionSpec) -> str:
    return "A Function of typed expressions" if spec.function == TYPED else f"{spec.function}, {spec.entry.what}"


def _definitions(spec: CustomFunctionSpec) -> tuple[set[tuple[str, str, str]], tuple[str, ...]]:
    """Imports and classes that the call needs."""
    if spec.function == TYPED:
        imports, text = typed_class(spec)
        return imports, (text,) if text else ()
    source = class_source(spec.entry.module, spec.function, "engine.custom_function")
    return {entry for entry in source.imports if entry[0] != "__future__"}, source.definitions


def _names(spec: CustomFunctionSpec) -> tuple[str, ...]:
    if spec.function == "LinearFunction":
        return "x", "weight", "bias"
    return ("x", "z") if spec.names_z else ("x",)


def _call(spec: CustomFunctionSpec) -> str:
    if spec.function != TYPED:
        return spec.call
    return f"MyFunction.apply({', '.join(_names(spec))})" if "backward" in spec.trees else own_forward(spec)


def _inputs(spec: CustomFunctionSpec) -> list[str]:
    values = f"torch.tensor({list(spec.values)}, dtype=torch.float64)"
    count = len(spec.values)
    if spec.dtype == "complex128":
        values = f"torch.complex({values}, 0.3 + 0.2 * torch.arange({count}, dtype=torch.float64))"
    cast = f".to(torch.{spec.dtype})" if spec.dtype == "float32" else ""
    lines = [f"x = {values}{cast}{LAYOUTS.get(spec.inputs, '')}"]
    if spec.function == "LinearFunction":
        return [*lines, *_linear(spec)]
    if spec.names_z:
        lines.append("z = torch.linspace(0.5, 1.5, max(1, x.numel()), dtype=torch.float64)[: x.numel()]")
        tracked = "backward" not in spec.trees or "backward_z" in spec.trees
        lines.append(f"z = z.to(x.dtype).view(x.shape){'.requires_grad_()' if tracked else ''}")
    return [*lines, "x.requires_grad_()"]


def _linear(spec: CustomFunctionSpec) -> list[str]:
    return [
        "x = (x if x.dim() == 2 else x[None]).requires_grad_()",
        f"generator = torch.Generator().manual_seed({spec.seed})",
        f"weight = torch.randn({LINEAR_OUTPUTS}, x.shape[1], generator=generator, dtype=torch.float64)",
        f"bias = torch.randn({LINEAR_OUTPUTS}, generator=generator, dtype=torch.float64)",
        "weight, bias = weight.to(x.dtype).requires_grad_(), bias.to(x.dtype).requires_grad_()",
    ]
