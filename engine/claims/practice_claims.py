"""What the article "The design of PyTorch's API and modern practice" claims."""

from __future__ import annotations

from engine.claims import spec as specs
from engine.claims.claim import PRACTICE, Claim, CountRule, Link, RefusalRule, Rule, TimeRule
from engine.models.spec import DynamicBlock, Expression, Mlp, ModelSpec


def _recipe(name: str) -> tuple[Rule, ...]:
    """What is claimed of all remedies together, for one recipe."""
    return (
        TimeRule(f"{name}: speed", "training step", high=1 / 1.4, variant=name),
        CountRule(f"{name}: memory saved", f"saved share of everything, {name}", low=0.6),
        CountRule(f"{name}: accuracy kept of the baseline's", f"accuracy share kept, {name}", low=0.99),
    )


PRACTICE_CLAIMS = (
    Claim(
        key="image_bytes",
        title="One 8K image",
        sentence="With images of 1 x 3 x 7680 x 4320 layout becomes vital; permute in place of transpose is a remedy.",
        article=PRACTICE,
        kind=specs.ImageBytesSpec,
        experiment="Bytes of the image, of its transposed view and of a contiguous copy, on the meta device; whether "
        "permute gives another layout than transpose; view() of each.",
        rules=(
            CountRule("a copy is made by .contiguous()", "extra bytes of .contiguous()", low=1),
            CountRule("permute replaces transpose", "permuted.is_contiguous()", low=1),
        ),
        link=Link(
            "storage-and-views",
            {"storage.shape": "1, 3, 8, 6", "storage.chain": ".transpose(2, 3).contiguous()"},
        ),
        lesson="Transposing costs no byte, .contiguous() of it {extra bytes of .contiguous()}: the whole image again, "
        "unless height or width is 1, where a transposed image is contiguous. permute of the same dimensions has the "
        "same strides as transpose, so it remedies nothing.",
    ),
    Claim(
        key="operand_layout",
        title="Non-contiguous operands",
        sentence="Operations on non-contiguous tensors are about 15-30 % slower.",
        article=PRACTICE,
        kind=specs.OperandLayoutSpec,
        experiment="Five operations on a contiguous matrix and on a transposed one of the same size.",
        rules=(
            TimeRule("relu writes a result laid out alike", "relu, output laid out like the operand", 1.15, 1.30),
            TimeRule("it goes into a matrix product", "matrix product", 1.15, 1.30),
            TimeRule("rows are summed", "sum of each row", 1.15, 1.30),
            TimeRule("softmax runs along rows", "softmax of each row", 1.15, 1.30),
            TimeRule("two layouts are added", "sum of two matrices", 1.15, 1.30),
        ),
        link=Link("timing", question="When does a transposed operand cost?"),
        lesson="There is no one figure: it costs nothing where order does not matter, and many times where every "
        "element read is a cache line apart.",
    ),
    Claim(
        key="sparse",
        title="Sparse storage and products",
        sentence="Sparse layouts store sparse data more efficiently, and CSR suits matrix products.",
        article=PRACTICE,
        kind=specs.SparseProductSpec,
        experiment="A square matrix with random entries at four densities: bytes of all arrays, and its product with a "
        "dense matrix, dense against CSR and COO.",
        rules=(
            *(
                CountRule(f"CSR bytes at {density}", f"CSR share of dense at density {density}", high=0.999)
                for density in ("0.1 %", "20 %", "50 %")
            ),
            *(
                CountRule(f"COO bytes at {density}", f"COO share of dense at density {density}", high=0.999)
                for density in ("5 %", "20 %")
            ),
            *(
                TimeRule(f"CSR product at {density}", density, high=1.0, variant="CSR")
                for density in ("0.1 %", "5 %", "20 %", "50 %")
            ),
            *(TimeRule(f"COO product at {density}", density, high=1.0, variant="COO") for density in ("0.1 %", "5 %")),
        ),
        link=Link("sparse-layouts", question="At what density does CSR take fewer bytes than dense?"),
        lesson="An entry of COO takes 20 bytes against 4 dense, of CSR 12: they win below a fifth and a third.",
    ),
    Claim(
        key="safe_sigmoid",
        title="A safe sigmoid",
        sentence="SafeSigmoid is numerically stable by piecewise computing, and its clip prevents exploding gradients.",
        article=PRACTICE,
        kind=specs.SafeSigmoidSpec,
        experiment="4001 inputs in float32 and float16: values not finite, values lost to 0; then the gradient of a "
        "scaled loss against the true one, and gradcheck.",
        rules=(
            CountRule("values are finite", "values that are not finite", high=0),
            CountRule("nothing overflows inside", "exp(-x) that overflow", high=0),
            CountRule("float16 keeps what torch.sigmoid keeps", "float16 values lost to 0", high=0),
            RefusalRule("gradcheck of the function", "gradcheck(ClampedSigmoid.apply)"),
            RefusalRule("gradcheck of a scaled loss", "gradcheck of scale * y"),
        ),
        link=Link("autograd-graph", model=ModelSpec(architecture=Expression(name="custom_function"))),
        lesson="The code has no pieces: exp(-x) overflows to infinity {exp(-x) that overflow} times, and 1 / (1 + inf) "
        "happens to be 0. The clamp acts on the product with the incoming gradient, so a scaled loss makes gradients "
        "wrong: {wrong gradients share} of them.",
    ),
    Claim(
        key="hessian_product",
        title="Hessian-vector products",
        sentence="A Hessian-vector product needs about 90 % less memory than the Hessian and is 3-5 times faster.",
        article=PRACTICE,
        kind=specs.HessianProductSpec,
        experiment="A tanh MLP with a batch of 64: H v by two backward passes, against every row of H and then H @ v. "
        "Bytes alive at once are counted below autograd. 32 inputs with 80 hidden make 5,232 parameters.",
        rules=(
            CountRule("memory saved", "saved share", low=0.9),
            TimeRule("time is compared", "both ways", 1 / 5, 1 / 3, variant="product"),
        ),
        link=Link("autograd-graph", model=ModelSpec(architecture=Expression(name="grad_of_grad"))),
        lesson="Both grow with the number of parameters, so no fixed range fits: at {parameters} parameters the "
        "product is {both ways: product}. The printed function takes one flat vector only, and fails where a parameter "
        "has no second derivative.",
    ),
    Claim(
        key="dynamic_block",
        title="Skipping a branch",
        sentence="Leaving out the skip layer by condition speeds inference up by 20 % and keeps the model's quality.",
        article=PRACTICE,
        kind=specs.DynamicBlockSpec,
        experiment="The article's block in inference mode with use_skip on and off, wide and tiny; how far the output "
        "is from the full one.",
        rules=(
            TimeRule("the block is wide", "wide", high=1 / 1.2),
            TimeRule("the block is tiny", "tiny", high=1 / 1.2),
            CountRule("the output must stay within 5 %", "relative change of the output", high=0.05),
        ),
        link=Link("autograd-graph", model=ModelSpec(architecture=DynamicBlock(use_skip=False))),
        lesson="One of two equal products is left out, which shows in wide blocks: {wide: without}. The output "
        "changes by {relative change of the output} of its norm: whether quality is kept is a matter of training.",
    ),
    Claim(
        key="low_rank",
        title="LoRA of rank 4",
        sentence="LoRA fine-tunes a small share of the parameters at less cost.",
        article=PRACTICE,
        kind=specs.LowRankSpec,
        experiment="A linear layer with Adam, all of it or with rank-r matrices beside it: parameters, bytes of "
        "gradients and state, and a training step at two batch sizes.",
        rules=(
            CountRule("trainable parameters are counted", "trainable share", high=0.05),
            TimeRule("a step at the small batch", "small batch", high=1.0),
            TimeRule("a step at the large batch", "large batch", high=1.0),
        ),
        link=Link("autograd-graph", model=ModelSpec(architecture=Mlp(), frozen=("layers.0", "layers.1"))),
        lesson="The optimizer's work shrinks with the parameters; the products with the frozen weight remain.",
    ),
    Claim(
        key="compiled_step",
        title="torch.compile of a train step",
        sentence="torch.compile brings a significant speed-up of the training step.",
        article=PRACTICE,
        kind=specs.CompiledStepSpec,
        experiment="A small classifier with Adam; model and loss compiled or not. The first call, which compiles, is "
        "shown apart and is in no ratio. The article asks for CUDA graphs, which the CPU does not have.",
        rules=(TimeRule("the step is warm", "training step", high=1 / 1.1),),
        link=Link("timing", {"timing.section": "Model steps", "timing.compile": "A against A compiled"}),
        quick=False,
        lesson="A significant speed-up is taken as 1.1x. The cold start has to be earned back.",
    ),
    Claim(
        key="inference_mode",
        title="inference_mode in production",
        sentence="Running inference under torch.inference_mode() pays.",
        article=PRACTICE,
        kind=specs.InferenceModeSpec,
        experiment="Forward of a stack of linear layers, tiny and wide: gradients recorded, no_grad, inference_mode.",
        rules=(
            TimeRule("layers are tiny: time", "tiny", high=1.0, variant="inference_mode"),
            TimeRule("layers are wide: time", "wide", high=1.0, variant="inference_mode"),
            CountRule("held bytes are counted", "held bytes in inference_mode", high=0),
        ),
        link=Link("timing", question="Does inference_mode help a tiny model?"),
        lesson="What is saved is a fixed sum per operation, so wide layers hardly notice; the saved tensors are gone.",
    ),
    Claim(
        key="combined",
        title="Everything together",
        sentence="Together: training 40 % faster, 60 % less memory, accuracy kept above 99 %.",
        article=PRACTICE,
        kind=specs.CombinedSpec,
        experiment="A small transformer learns eight noisy patterns, as it stands and by two recipes: a fused "
        "optimizer, bfloat16 autocast and a checkpoint per block; or compiled operators (layer norm with residual, "
        "bias with GELU, dropout and residual, cross entropy, AdamW) and a checkpoint per block. Each is timed alone. "
        "Accuracy is kept when it is at least 99 % of what the run as it stands reaches after as many steps.",
        rules=tuple(rule for recipe in ("AMP and checkpoints", "compiled and checkpoints") for rule in _recipe(recipe)),
        link=Link("timing", question="What time does checkpointing cost?"),
        quick=False,
        lesson="Checkpoints buy memory with time, the more the deeper the model. Autocast pays only where bfloat16 is "
        "fast and the matrices large: {training step: autocast} alone. Compiled operators alone: {training step: "
        "compiled operators}. As it stands the run reaches {accuracy share as it stands}.",
    ),
)
