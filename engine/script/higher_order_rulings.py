"""The calls of the section on what autograd.grad answers, as scripts."""

from __future__ import annotations

from engine.higher_order.spec import RulingSpec

UNUSED = """\
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
u = torch.tensor(1.0, requires_grad=True)
y = (x * x).sum()


def grad(of, **more):
    try:
        return torch.autograd.grad(y, of, retain_graph=True, **more)[0]
    except (RuntimeError, ValueError) as error:
        return error


print(grad(x).tolist())
print(grad(u))
print(grad(u, allow_unused=True))
print(grad(u, materialize_grads=True).tolist())
print(grad(u, allow_unused=False, materialize_grads=True))
for later in (-x, x.clone(), x.view(2), x[:1]):
    print(grad(later))
try:
    torch.autograd.grad(y.detach(), x)
except RuntimeError as error:
    print(error)
"""

LEAKS = """\
import gc
import warnings
import weakref

import torch

gc.disable()
warnings.simplefilter("ignore")


def run(how):
    x = torch.ones(3, requires_grad=True)
    y = x.tanh().sum()
    if how == "grad":
        torch.autograd.grad(y, x, create_graph=True)
    else:
        y.backward(create_graph=True)
    if how == "cut":
        x.grad = None
    return weakref.ref(x)


for how in ("backward", "cut", "grad"):
    alive = run(how)
    after_del = alive() is not None
    gc.collect()
    print(f"alive after del: {after_del}; alive after gc.collect(): {alive() is not None}")
"""

COMPLEX = """\
import torch


def grad(function, at):
    z = torch.tensor(at, requires_grad=True)
    return torch.autograd.grad(function(z), z)[0].item()


print(grad(lambda z: (z * z.conj()).real, 3 + 4j))
print(grad(lambda z: z.imag**2, 2j))
print(grad(lambda z: (z**2).real, 1 + 2j))
print(grad(lambda z: z.abs(), 0j))
try:
    (torch.tensor(1j, requires_grad=True) ** 2).backward()
except RuntimeError as error:
    print(error)
"""


def ruling_script(spec: RulingSpec) -> str:
    """One line per ruling, in the order of the page."""
    return {"unused and copies": UNUSED, "create_graph leaks": LEAKS, "complex numbers": COMPLEX}[spec.topic]
