"""Questions of the sparse page."""

from __future__ import annotations

from pages.shared.presets import Preset

PRESETS = (
    Preset(
        "Where does CSR keep row 3?",
        "8 x 12 cells, 13 of them stored. Predict which entries of `values()` belong to row 3, and which two numbers "
        "of `crow_indices()` say so.",
        "`crow_indices[3]` is where row 3 starts and `crow_indices[4]` where it ends: subtract them for the number of "
        "entries. Point at a pointer to light up its row. An empty row costs nothing but its pointer; COO keeps a row "
        "index per entry instead.",
        settings={
            "sparse.section": "Layout",
            "sparse.layout": "CSR",
            "sparse.pattern": "random",
            "sparse.rows": 8,
            "sparse.columns": 12,
            "sparse.density": 0.15,
            "sparse.dtype": "float32",
            "sparse.index_dtype": "int64",
            "sparse.seed": 0,
        },
    ),
    Preset(
        "Why is the square of a sparse tensor wrong?",
        "Entries 3 and 4 share the place [0, 2]. Predict what squaring the raw values gives there, and what `s * s` "
        "gives.",
        "Raw values square to 9 and 16, which add up to 25; `s * s` gives 49. `values()` refuses until `coalesce()` "
        "has added up what shares a place, and `s + s` keeps the three entries: it does not coalesce either.",
        settings={
            "sparse.section": "Coalesce",
            "sparse.pattern": "typed entries",
            "sparse.rows": 2,
            "sparse.columns": 3,
            "sparse.entries": "0, 2, 3\n0, 2, 4\n1, 0, 5",
            "sparse.dtype": "float32",
        },
    ),
    Preset(
        "At what density does CSR take fewer bytes than dense?",
        "256 x 256 float32 with int64 indices. Predict up to which share of stored cells CSR is the smaller one.",
        "Up to 33 %: an entry costs 12 bytes (8 for its column, 4 for its value) where a dense cell costs 4. COO "
        "costs 20 and wins to 20 %. Pin this run, set *index dtype* to int32: 50 %. With *dtype* bool it is 11 %.",
        settings={
            "sparse.section": "Bytes",
            "sparse.weights.rows": 256,
            "sparse.weights.columns": 256,
            "sparse.weights.dtype": "float32",
            "sparse.weights.index_dtype": "int64",
            "sparse.weights.clustered": False,
        },
    ),
    Preset(
        "At what density does CSR multiply faster than dense?",
        "1024 x 1024 times 1024 x 64. Predict up to which density the sparse product is faster, for CSR and for COO.",
        "The break-even is measured on this machine, now, so read it off the picture: below the dashed line sparse is "
        "faster. COO usually gives up at a far lower density than CSR. Time and bytes turn at densities of their own: "
        "CSR takes fewer bytes up to 33 %, whatever the product costs.",
        settings={
            "sparse.section": "Timing",
            "sparse.timing.size": 1024,
            "sparse.timing.right_columns": 64,
            "sparse.timing.layouts": ["CSR", "COO"],
        },
    ),
    Preset(
        "What does a broken index do when nobody checks?",
        "A pointer in the middle of `crow_indices()` is made too small. Predict: an error, wrong values, or worse?",
        "With `check_invariants=True` the exact condition is named. Without it construction succeeds, and "
        "`to_dense()` reads foreign memory: the worker process ends by a memory fault, the page goes on. Try "
        "*duplicate index*: silently another matrix.",
        settings={
            "sparse.section": "Invariants",
            "sparse.layout": "CSR",
            "sparse.pattern": "random",
            "sparse.rows": 8,
            "sparse.columns": 12,
            "sparse.density": 0.15,
            "sparse.dtype": "float32",
            "sparse.corruption": "pointers not monotonic",
        },
    ),
    Preset(
        "Which operations keep a tensor sparse?",
        "Predict for COO and CSR: does `x.exp()` work? And `x + 1`, `x + dense`, `x @ dense`, `x[1:3]`?",
        "What keeps zeros at zero stays sparse; `exp` and `x + 1` would fill every cell and are refused, not "
        "densified. `dense + x` and every product with a dense matrix come back dense. COO refuses `x + dense`, yet "
        "takes `dense + x`. Slicing is refused in every layout.",
        settings={
            "sparse.section": "Operations",
            "sparse.support.dtype": "float32",
            "sparse.topic": "every topic",
            "sparse.operation": "x + dense",
        },
    ),
    Preset(
        "When do blocks pay?",
        "The entries come in blocks of 2 x 3. Predict how many bytes BSR takes beside CSR, and how much of it is "
        "padding.",
        "No padding at all: a block has one index instead of six. Switch the pattern to *random* and the same blocks "
        "are mostly padding zeros, which are hatched.",
        settings={
            "sparse.section": "Layout",
            "sparse.layout": "BSR",
            "sparse.pattern": "blocks",
            "sparse.rows": 12,
            "sparse.columns": 24,
            "sparse.density": 0.25,
            "sparse.dtype": "float32",
            "sparse.index_dtype": "int64",
            "sparse.block_rows": 2,
            "sparse.block_columns": 3,
            "sparse.seed": 0,
        },
    ),
    Preset(
        "Why does Adam refuse my embedding's gradient?",
        "An embedding with `sparse=True`, rows 1, 3, 1 looked up. Predict nnz of `weight.grad`, and which optimizers "
        "take it.",
        "nnz is 3: row 1 is there twice until `coalesce()`. Adam raises and names SparseAdam; SGD and Adagrad take "
        "it. With five rows the sparse gradient is even larger than the dense one: it pays when few of many rows are "
        "looked up.",
        settings={
            "sparse.section": "Embedding gradients",
            "sparse.embedding.num_embeddings": 5,
            "sparse.embedding.embedding_dim": 2,
            "sparse.embedding.lookups": "typed",
            "sparse.embedding.indices": "1, 3, 1",
        },
    ),
)
