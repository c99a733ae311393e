"""The article's hvp as a script: word for word, then corrected, in the chosen situation."""

from __future__ import annotations

from engine.higher_order.spec import ArticleSpec

LITERAL = """\
def hvp(model, loss, v):
    grads = torch.autograd.grad(loss, model.parameters(), create_graph=True)
    flat_grad = torch.cat([g.view(-1) for g in grads])
    return torch.autograd.grad(flat_grad, model.parameters(), grad_outputs=v)"""

CORRECTED = """\
def hvp_corrected(model, loss, v):
    ps = [p for p in model.parameters() if p.requires_grad]
    if isinstance(v, torch.Tensor):
        v = v.split([p.numel() for p in ps])
    vs = [part.view_as(p) for part, p in zip(v, ps)]
    gs = torch.autograd.grad(
        loss, ps, create_graph=True, materialize_grads=True
    )
    kept = [(g, u) for g, u in zip(gs, vs) if g.requires_grad]
    if not kept:
        return tuple(map(torch.zeros_like, ps))
    gs, vs = zip(*kept)
    return torch.autograd.grad(
        gs, ps, grad_outputs=vs, materialize_grads=True
    )"""

MLP = "model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))"
SQUARED = "loss = lambda: nn.functional.mse_loss(model(x), y)"
SETUPS: dict[str, tuple[str, ...]] = {
    "a parameter that the loss does not use": (
        'model = nn.ModuleDict({"used": nn.Linear(3, 1), "unused": nn.Linear(3, 1)})',
        'loss = lambda: nn.functional.mse_loss(model["used"](x), y)',
    ),
    "an output bias without a second derivative": (MLP, "loss = lambda: model(x).mean()"),
    "a channels_last convolution": (
        "images = torch.randn(2, 3, 5, 5).to(memory_format=torch.channels_last)",
        "model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh()).to(memory_format=torch.channels_last)",
        "loss = lambda: model(images).pow(2).mean()",
    ),
    "a frozen parameter": (MLP, "model[0].weight.requires_grad_(False)", SQUARED),
    "a linear loss": ("model = nn.Sequential(nn.Linear(3, 1))", "loss = lambda: model(x).sum()"),
}


def article_script(spec: ArticleSpec) -> str:
    """Both functions on one model; what the first raises is printed."""
    spent = ["before.backward()"] if spec.situation == "after loss.backward()" else []
    as_list = (
        ["v = [torch.randn_like(p) for p in model.parameters()]"] if spec.situation.startswith("v as a list") else []
    )
    lines = [
        "import torch",
        "from torch import nn",
        "",
        "",
        LITERAL,
        "",
        "",
        CORRECTED,
        "",
        "",
        "torch.set_default_dtype(torch.float64)",
        f"torch.manual_seed({spec.seed})",
        "x, y = torch.randn(5, 3), torch.randn(5, 1)",
        *SETUPS.get(spec.situation, (MLP, SQUARED)),
        *(as_list or ["v = torch.randn(sum(p.numel() for p in model.parameters() if p.requires_grad))"]),
        "before = loss()",
        *spent,
        "try:",
        '    print("article:", torch.cat([one.reshape(-1) for one in hvp(model, before, v)]).norm().item())',
        "except RuntimeError as error:",
        '    print("article:", error)',
        'print("corrected:", torch.cat([one.reshape(-1) for one in hvp_corrected(model, loss(), v)]).norm().item())',
    ]
    return "\n".join(lines) + "\n"
