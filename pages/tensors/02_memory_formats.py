"""Memory formats: Where does a model lose channels_last, and what does it copy?

icon: view_column
"""

import streamlit as st

from engine.memory_format.spec import FormatSpec
from engine.models.shape import describe, has_images
from pages.shared.fields import field_value
from pages.shared.frame import draw_exports, draw_toolbar, model_or_stop
from pages.shared.jobs import compute, compute_beside
from pages.shared.pin import pinned_spec
from pages.shared.presets import apply_preset
from pages.tensors.memory_formats_exports import downloads
from pages.tensors.memory_formats_picture import CONVERTED, draw_headline, draw_options, draw_picture
from pages.tensors.memory_formats_presets import PRESETS
from pages.tensors.memory_formats_tables import draw_operations, draw_parameters
from pages.tensors.memory_formats_timing import draw_timing

HOW_TO_READ = (
    "An image (N, C, H, W) is *contiguous* when the pixels of one channel lie together, strides (C·H·W, H·W, W, 1), "
    "and *channels_last* when the channels of one pixel do, strides (C·H·W, 1, W·C, C). Shape and values are the same. "
    "Each mark is an operation as PyTorch's dispatcher ran it, coloured by the order it **writes**; a small mark is a "
    "view that writes nothing. Where a size is 1 both formats are the same memory and PyTorch answers yes to both, so "
    "such a tensor counts as neither. Images are followed through views that rename dimensions: after "
    "`permute(0, 2, 3, 1)` a channels_last image reads as contiguous, yet nothing moved.\n\n"
    "**What is seen of copies.** Copies that are operations of their own are dispatched and counted. Copies inside a "
    "kernel (a convolution whose image and weight lie differently) are what the profiler saw below it. What oneDNN "
    "reorders into its own blocked layouts is invisible to both."
)
TABS = ("Operations", "Parameters and gradients", "Contiguous or channels_last?", "How to read this")


def current_spec() -> FormatSpec:
    """The model of the sidebar, and what channels_last is applied to."""
    model = model_or_stop(PRESETS)
    if model.memory_format == "contiguous":
        return FormatSpec(model=model)
    return FormatSpec(model=model, converted=field_value(FormatSpec, "converted", CONVERTED))


spec = current_spec()
exports = draw_toolbar(spec, PRESETS)
if not has_images(spec.model.architecture):
    st.info(
        f"**{describe(spec.model.architecture)} has no images.** Memory formats order the four dimensions "
        "(N, C, H, W); choose *ResNet* or *Convolutional blocks* as model, or start from a question.",
        icon=":material/image:",
    )
    with st.container(horizontal=True):
        for number in (0, 1):
            st.button(
                PRESETS[number].question,
                key=f"formats.open.{number}",
                on_click=apply_preset,
                args=(PRESETS[number], number),
            )
    st.stop()
trace = compute(spec)
pinned = pinned_spec(FormatSpec)
before = compute_beside(pinned, "A", slot="pinned") if pinned else None
draw_exports(exports, downloads(spec, trace))

if trace.error is not None:
    st.error(f"PyTorch raised **{trace.error.type}** in {trace.error.stage}:", icon=":material/report:")
    st.code(trace.error.message, language=None, wrap_lines=True)
draw_headline(spec, trace)
draw_options(spec)
draw_picture(spec, pinned if before else None)
operations, parameters, timing, explanation = st.tabs(TABS, key="formats.details", on_change="rerun")
if operations.open:
    with operations:
        draw_operations(trace)
if parameters.open:
    with parameters:
        draw_parameters(trace)
if timing.open:
    with timing:
        draw_timing(spec.model)
if explanation.open:
    with explanation:
        st.markdown(HOW_TO_READ)
