"""Memory formats: Where does a model lose channels_last, and what does it copy?

icon: view_column
"""

import streamlit as st

from engine.memory_format.spec import FormatSpec
from engine.models.shape import has_images
from pages.shared.frame import draw_exports, draw_toolbar, model_or_stop
from pages.shared.jobs import compute, compute_beside
from pages.shared.page_end import end_page
from pages.shared.pin import pinned_spec
from pages.tensors.memory_formats_exports import downloads
from pages.tensors.memory_formats_picture import converted, draw_options, draw_picture
from pages.tensors.memory_formats_presets import PRESETS
from pages.tensors.memory_formats_sentence import draw_error, draw_headline, draw_no_images
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
    "kernel (a convolution whose image and weight lie differently) are what the profiler saw below it: a *reorder* "
    "where source and target order their dimensions differently by stride, a *cast* where only the dtype changes, "
    "which no memory format can spare. What oneDNN reorders into its own blocked layouts is invisible to both.\n\n"
    "**Tensors of other than four dimensions** have no format name. The order of their dimensions is read off the "
    "strides, from the largest to the smallest: a channels_last image reads 0, 2, 3, 1 (N, H, W, C), a contiguous one "
    "0, 1, 2, 3; the table of the chosen operation shows it for every tensor."
)
TABS = ("Operations", "Parameters and gradients", "Contiguous or channels_last?", "How to read this")


model = model_or_stop(PRESETS)
toolbar, sentence = st.container(), st.container()
if has_images(model.architecture):
    # Drawn before they are read: a link gives a widget its value when it is drawn.
    draw_options(model)
spec = FormatSpec(model=model, converted=converted(model))
with toolbar:
    exports = draw_toolbar(spec, PRESETS)
if not has_images(model.architecture):
    draw_no_images(model)
    end_page()
trace = compute(spec)
pinned = pinned_spec(FormatSpec)
before = compute_beside(pinned, "A", slot="pinned") if pinned else None
draw_exports(exports, downloads(spec, trace))

with sentence:
    draw_error(trace)
    draw_headline(spec, trace)
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
        draw_timing(model)
if explanation.open:
    with explanation:
        st.markdown(HOW_TO_READ)
