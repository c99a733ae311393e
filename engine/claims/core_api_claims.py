"""What the article "PyTorch's core API in depth" claims, sets up as a comparison, or prints as code that works."""

from __future__ import annotations

from engine.claims import spec as specs
from engine.claims.claim import CORE_API, Claim, CountRule, Link, RefusalRule, TimeRule
from engine.models.spec import Expression, Mlp, ModelSpec

CORE_API_CLAIMS = (
    Claim(
        key="cube",
        title="Derivatives of x³",
        sentence="Differentiating twice with create_graph=True gives 3x² and then 6x.",
        article=CORE_API,
        kind=specs.CubeSpec,
        experiment="x in float64, x ** 3, torch.autograd.grad twice; the distance to 3x² and 6x is counted.",
        rules=(CountRule("the result is compared with the formula", "relative error", high=1e-12),),
        link=Link("autograd-graph", model=ModelSpec(architecture=Expression(name="grad_of_grad"))),
        lesson="The graph of the first derivative is itself differentiable, because create_graph recorded it.",
    ),
    Claim(
        key="depth",
        title="Depth chosen in forward",
        sentence="forward(x, depth=2) uses just the first two layers, and the graph follows.",
        article=CORE_API,
        kind=specs.DepthSpec,
        experiment="The article's model with depth 1, 2 and 3: the call as printed, and the nodes of a repaired model.",
        rules=(
            RefusalRule("depth is 3, all layers", "model(x, depth=3) as printed"),
            RefusalRule("depth is 2, as the article calls it", "model(x, depth=2) as printed"),
            CountRule("residual is set to None first", "nodes at depth 2", low=6, high=17),
        ),
        link=Link("autograd-graph", model=ModelSpec(architecture=Mlp(layers=3, depth=2))),
        lesson="With depth 2 no iteration assigns `residual` before it is read. The graph does follow the depth once "
        "the name is assigned: {nodes at depth 1}, {nodes at depth 2} and {nodes at depth 3} nodes.",
    ),
    Claim(
        key="clipped_sigmoid",
        title="Clipping a sigmoid's derivative",
        sentence="Clipping the derivative of sigmoid(beta x) to ±0.1 prevents exploding gradients.",
        article=CORE_API,
        kind=specs.ClippedSigmoidSpec,
        experiment="2001 values of x in float64: the true derivative, the clipped one, gradcheck, and the gradient of "
        "a loss of 1000 y.",
        rules=(
            CountRule("the gradient of 1000 y is below 1", "largest gradient of 1000 y", high=1.0),
            RefusalRule("the gradient is still the derivative (gradcheck)", "gradcheck(ClippedSigmoid.apply)"),
        ),
        link=Link("operators", {"operators.operator": "clipped_sigmoid", "operators.work": "forward + backward"}),
        lesson="The derivative is at most beta / 4 without any clip, {largest true derivative} here. The clip leaves "
        "{largest clipped derivative}, flat where the function is steepest, and still lets a large incoming gradient "
        "through: {largest gradient of 1000 y}.",
    ),
    Claim(
        key="in_place_update",
        title="Updating parameters in place",
        sentence="An in-place update of the parameters under no_grad saves allocations.",
        article=CORE_API,
        kind=specs.InPlaceUpdateSpec,
        experiment="One gradient step over all tensors, param.add_(grad, alpha=-lr) against param - lr * grad: "
        "storages made are counted below autograd, then both are timed.",
        rules=(
            CountRule("allocations are counted", "allocations in place", high=0),
            TimeRule("a step is timed", "one step", high=1.0, variant="in place"),
        ),
        link=Link("timing", question="Where does memory get expensive?"),
        lesson="Out of place makes two storages per tensor, the scaled gradient and the new values: {allocations out "
        "of place} in one step, against {allocations in place}.",
    ),
    Claim(
        key="row_sums",
        title="einsum against a loop",
        sentence="einsum is much faster than a loop over elements and agrees with it to rtol=1e-6.",
        article=CORE_API,
        kind=specs.RowSumsSpec,
        experiment="Weighted row sums of a matrix by the article's double loop, by a loop over rows and by einsum. The "
        "article's 10000 x 1000 would take the loop minutes; sizes here are smaller, which favours the loop.",
        rules=(
            TimeRule("time is compared, element loop", "row sums", high=0.1, variant="einsum"),
            CountRule("agreement is checked at rtol=1e-6", "allclose(rtol=1e-6)", low=1),
        ),
        link=Link("broadcasting", question="How far is a Python loop behind einsum?"),
        lesson="Both are right to float32 rounding, off by {largest error of the loop} and {largest error of einsum} "
        "at most; they add in another order, and rtol=1e-6 is tighter than that.",
    ),
    Claim(
        key="checkpoint",
        title="A checkpoint every fifth layer",
        sentence="Checkpointing every fifth layer of a deep stack trades time for memory.",
        article=CORE_API,
        kind=specs.CheckpointSpec,
        experiment="Bytes that saved tensors hold between forward and backward, parameters left out, and the time of "
        "both: a stack of Linear + ReLU as in the article, one of LayerNorm + Linear + GELU + Dropout, and the same in "
        "about √n segments. The article's width is 1024 with a batch of 1.",
        rules=(
            CountRule("every fifth Linear of Linear + ReLU: bytes saved", "Linear + ReLU saved share", low=0.05),
            CountRule("every fifth block of several tensors: bytes saved", "blocks saved share", low=0.05),
            CountRule("√n segments of such blocks: bytes saved", "segments saved share", low=0.05),
        ),
        link=Link("autograd-graph", question="Why did memory not drop?"),
        quick=False,
        lesson="A checkpointed Linear keeps its input, which is all it would have saved: the layer is "
        "computed twice for {Linear + ReLU saved share} of the bytes. Segments drop everything inside them: "
        "{segments saved share}.",
    ),
    Claim(
        key="wrapped_matmul",
        title="A C++ extension around matmul",
        sentence="A matrix product as a C++ extension improves performance.",
        article=CORE_API,
        kind=specs.WrappedMatmulSpec,
        experiment="The article's operator, whose body calls at::matmul, compiled and loaded here, against "
        "torch.matmul on the same matrices; beside it the project's gemm, which packs panels itself. Building is in "
        "no ratio.",
        rules=(
            TimeRule("it calls at::matmul, as the article's", "matrix product", high=1.0, variant="C++ extension"),
            TimeRule("it has a packed kernel of its own", "matrix product", high=1.0, variant="packed gemm"),
        ),
        link=Link("operators", question="How close is our gemm to the machine's peak?"),
        quick=False,
        lesson="In the article's operator the same kernel runs either way; a wrapper can only add to it. A kernel of "
        "one's own is another matter: {matrix product: packed gemm}.",
    ),
    Claim(
        key="scripted_gelu",
        title="Fused GELU by torch.jit.script",
        sentence="A scripted tanh-GELU with an approximate backward is faster than F.gelu.",
        article=CORE_API,
        kind=specs.ScriptedGeluSpec,
        experiment="Forward and backward on a square matrix: F.gelu, its tanh form, the formula composed of operators, "
        "and the article's Function. Its backward is compared with the derivative of its forward in float64.",
        rules=(
            TimeRule(
                "compared with F.gelu", "forward and backward", high=1.0, variant="scripted, approximate backward"
            ),
            RefusalRule("the backward is the derivative (gradcheck)", "gradcheck(ApproximateGelu.apply)"),
        ),
        link=Link("operators", question="Is the article's GELU backward a derivative?"),
        lesson="The backward is that of x · sigmoid(1.702 x), another function: off by up to {largest error of the "
        "derivative}.",
    ),
    Claim(
        key="two_ranks",
        title="Data parallel over two processes",
        sentence="DistributedDataParallel speeds up training.",
        article=CORE_API,
        kind=specs.TwoRanksSpec,
        experiment="Two gloo processes on this machine, one thread and half the batch each, against one process with "
        "the whole batch and one thread. Real processes over loopback; wall time is judged.",
        rules=(
            TimeRule("the batch is small", "small batch", high=1.0, variant="two ranks, 1 thread each"),
            TimeRule("the batch is large", "large batch", high=1.0, variant="two ranks, 1 thread each"),
        ),
        link=Link("timing", question="Do two threads help?"),
        quick=False,
        lesson="Every step pays for averaging the gradients, which does not grow with the batch. The article's last "
        "lines start torch.cuda.device_count() processes: {processes that the article starts here} here.",
    ),
    Claim(
        key="autocast",
        title="Mixed precision",
        sentence="Mixed precision speeds up training and saves memory.",
        article=CORE_API,
        kind=specs.AutocastSpec,
        experiment="A training step with Adam in float32 and under bfloat16 CPU autocast, wide and small; bytes held "
        "for backward, parameters left out. The article uses float16 on a GPU with a GradScaler.",
        rules=(
            TimeRule("layers are wide: time", "wide", high=1.0),
            TimeRule("layers are small: time", "small", high=1.0),
            CountRule("layers are wide: held bytes saved", "wide saved share", low=0.05),
            CountRule("layers are small: held bytes saved", "small saved share", low=0.05),
        ),
        link=Link("timing", question="Is autocast bfloat16 faster on this CPU?"),
        lesson="The casts cost time and the cast copies of the weights are held until backward. It pays where the "
        "processor multiplies bfloat16 in hardware and the matrices are large.",
    ),
    Claim(
        key="channels_last",
        title="channels_last for convolutions",
        sentence="channels_last suits convolutions.",
        article=CORE_API,
        kind=specs.ConvolutionFormatSpec,
        experiment="A 3 x 3 convolution, images and weight in either format, forward and with backward. The article "
        "converts a tensor of three dimensions.",
        rules=(
            TimeRule("forward is timed", "forward", high=1.0),
            TimeRule("forward and backward are timed", "forward and backward", high=1.0),
        ),
        link=Link("memory-formats", question="Where did channels_last go?"),
        lesson="channels_last is an order of four dimensions; the article's tensor of three has none, and PyTorch "
        "refuses it.",
    ),
)
