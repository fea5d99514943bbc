"""The model card is Markdown that somebody else may render."""

import numpy as np
import pandas as pd

from discreet.fit import GaussianMixture


def test_names_of_columns_cannot_pass_for_markdown_or_html() -> None:
    draw = np.random.default_rng(0)
    named = pd.DataFrame({"<b>`x`": draw.normal(size=50), "<script>": np.arange(50)})
    model = GaussianMixture(epsilon=1.0, delta=1e-5, radius=5.0, columns=["<b>`x`"], person="<script>")
    card = model.fit(named).to_bundle().card
    assert "?b??x?" in card
    assert "?script?" in card
    assert "<" not in card
