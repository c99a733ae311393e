from functools import partial

import torch

from engine.operators import adamw_step_, sgd_step_
from tests.operators.case import Case

SHAPES = ((5, 37), (64,), (), (2, 3, 4), (0, 3))


def lists(make, count):
    """`count` lists of tensors of the same shapes; the second moments of AdamW must not be negative."""
    return [[make(*shape).abs_() if place >= 3 else make(*shape) for shape in SHAPES] for place in range(count)]


def flat(make, count):
    return tuple(tensor for tensors in lists(make, count) for tensor in tensors)


def on_copies(operator, count, *tensors, **settings):
    """What `operator` leaves in everything but the gradients, its inputs kept as they are."""
    size = len(SHAPES)
    # Clone first, then detach, so that a copy keeps its layout.
    columns = [[tensor.detach().clone() for tensor in tensors[i * size : (i + 1) * size]] for i in range(count)]
    operator(*columns, **settings)
    return tuple(tensor for i, column in enumerate(columns) if i != 1 for tensor in column)


def sgd_in_pytorch(params, grads, buffers=(), **settings):
    optimizer = torch.optim.SGD(params, foreach=False, **settings)
    for param, grad in zip(params, grads, strict=True):
        param.grad = grad
    for param, buffer in zip(params, buffers, strict=bool(buffers)):
        optimizer.state[param]["momentum_buffer"] = buffer
    optimizer.step()


def adamw_in_pytorch(params, grads, exp_avgs, exp_avg_sqs, largest=(), *, step, beta1, beta2, **settings):
    optimizer = torch.optim.AdamW(params, betas=(beta1, beta2), amsgrad=bool(largest), foreach=False, **settings)
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        param.grad = grad
        state = {"step": torch.tensor(step - 1.0), "exp_avg": exp_avgs[i], "exp_avg_sq": exp_avg_sqs[i]}
        optimizer.state[param] = state | ({"max_exp_avg_sq": largest[i]} if largest else {})
    optimizer.step()


def case(operator, in_pytorch, label, count, **settings):
    return Case(
        operator=operator.__name__,
        label=label,
        call=partial(on_copies, operator, count, **settings),
        reference=partial(on_copies, in_pytorch, count, **settings),
        inputs=partial(flat, count=count),
        differentiable=(),
    )


ADAMW = {"step": 3, "lr": 0.1, "beta1": 0.8, "beta2": 0.9, "eps": 1e-3, "weight_decay": 0.2}

CASES = (
    case(sgd_step_, sgd_in_pytorch, "plain", 2, lr=0.1, weight_decay=0.2),
    case(sgd_step_, sgd_in_pytorch, "momentum", 3, lr=0.1, momentum=0.9, dampening=0.3, maximize=True),
    case(sgd_step_, sgd_in_pytorch, "nesterov", 3, lr=0.1, momentum=0.9, weight_decay=0.2, nesterov=True),
    case(adamw_step_, adamw_in_pytorch, "", 4, **ADAMW),
    case(adamw_step_, adamw_in_pytorch, "amsgrad", 5, **ADAMW, maximize=True),
)
