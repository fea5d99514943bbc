"""What a report of word models is made of: the released vocabulary, and which words sound alike by it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.models.blend import Blend
from discreet.models.categorical import Categorical
from discreet.randomness import generator, seeded
from discreet.report.paper import Paper

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.models.vocabulary import Vocabulary

__all__ = ["WordsPaper"]

_DRAWN = 8
_LONGEST = 200


@dataclass(frozen=True, kw_only=True)
class WordsPaper(Paper):
    """Everything a report of word models may show."""

    vocabulary: Vocabulary

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """How many frames a word lasts by its own model, where states are left; else 50."""
        found: list[int] = []
        for model in self.vocabulary.models:
            stays = np.diag(model.chain.transition)
            left = stays[:-1] if len(stays) > 1 else stays
            if self.vocabulary.topology == "left-right" and len(stays) > 1 and (left < 1).all():
                steps = float((1 / (1 - left)).sum()) * len(stays) / len(left)
                found.append(int(min(max(round(steps), 5), _LONGEST)))
            else:
                found.append(50)
        return tuple(found)

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """How many nats a frame other words are behind, on features drawn from each word's model (W, W).

        Computed from the released models and nothing else. Rows are the words that were drawn.
        """
        draw = generator(seeded(0))
        table = np.zeros((len(self.vocabulary.words),) * 2)
        for number, (model, frames) in enumerate(zip(self.vocabulary.models, self.lengths, strict=True)):
            rows, _ = model.sample(np.full(_DRAWN, frames, dtype=np.intp), draw)
            drawn = [part.reshape(-1) if self.vocabulary.symbols else part for part in np.split(rows, _DRAWN)]
            scores = self.vocabulary.scores_of(drawn)
            table[number] = ((scores[:, [number]] - scores) / frames).mean(axis=0)
        return table

    def nearest(self, word: int) -> int | None:
        """The word that is most like this one; none in a vocabulary of one."""
        if len(self.vocabulary.words) < 2:
            return None
        row = self.distances[word].copy()
        row[word] = np.inf
        return int(np.argmin(row))

    @cached_property
    def centers(self) -> NDArray[np.float64]:
        """The mean row of each state of each word, (W, N, d); for symbols the emissions, (W, N, M)."""
        each: list[NDArray[np.float64]] = []
        for model in self.vocabulary.models:
            emission: Any = model.emission
            if isinstance(emission, Categorical):
                each.append(emission.probabilities)
            elif isinstance(emission, Blend):
                means = emission.components.means.reshape(*emission.weights.shape, -1)
                each.append(np.einsum("nk,nkd->nd", emission.weights, means))
            else:
                each.append(emission.means)
        return np.stack(each)

    def to_dict(self) -> dict[str, Any]:
        """The vocabulary and its guarantee as plain data; tensors stay in their file."""
        made = self.vocabulary
        return {
            "words": list(made.words),
            "states": made.states,
            "topology": made.topology,
            "emissions": made.emissions,
            "front": dict(made.front),
            "frames": list(self.lengths),
            "distances": self.distances.tolist() if np.isfinite(self.distances).all() else None,
            **super().to_dict(),
        }
