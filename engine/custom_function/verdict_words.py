"""What to do about each verdict, and which refusals of PyTorch are about the shape or count of gradients."""

from __future__ import annotations

from engine.custom_function.results import VerdictKind

REMEDIES: dict[VerdictKind, str] = {
    "right": "Try a kink, saturated points and complex input too: gradcheck speaks only of the points it is given.",
    "nothing checked": "Give it points.",
    "not linear in grad_output": "Clamp in a hook or by torch.nn.utils.clip_grad_value_, where it is seen to happen.",
    "not multiplied by grad_output": "Multiply every term of backward by grad_output.",
    "not decided": "Lower atol below the entries (to 0 with a larger eps), or scale the input.",
    "input not checked": "Give z a backward of its own, or detach it where it needs no gradient.",
    "once differentiable": "Write backward in differentiable operations and drop the decorator to allow a second one.",
    "precision": "Check in float64 with the default eps, or loosen eps to 1e-2 and atol to 1e-2 for float32.",
    "not finite": "Check at points where forward and its derivative are finite.",
    "backward not finite": "Write backward so that it is finite there, as by torch.where on its input.",
    "kink": "Check at points beside the kink, and say in the docstring which subgradient backward takes there.",
    "non-deterministic": "Seed or remove the randomness, or allow for it by nondet_tol.",
    "overlapping memory": "Call .contiguous() (or .clone()) on the input before gradcheck.",
    "intended clip": "Check with the clip raised out of the way, to see that the rest of backward is right.",
    "intended surrogate": "Compare with the declared gradient in a test of your own; gradcheck cannot.",
    "wrong formula": "Derive backward again; the grey curve is autograd's derivative of the same forward.",
    "wrong shape": "Return a gradient of the shape of the input.",
    "wrong count": "Return one value per argument of forward, None for those that are no tensor.",
    "not tracked": "Give the tensors to apply one by one, apply(*tensors), and detach nothing on the way.",
    "refused": "The whole message is under Why.",
}


def refusal_kind(message: str) -> VerdictKind:
    """What an error of backward is about."""
    if "incorrect number of gradients" in message:
        return "wrong count"
    if "invalid gradient at index" in message and "shape" in message:
        return "wrong shape"
    return "refused"
