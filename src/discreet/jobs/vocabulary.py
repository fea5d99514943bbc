"""Word models by a plan: labelled recordings in, models and papers out; and what the models hear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import BeforeValidator, Field

from discreet.errors import DataError, ParameterError
from discreet.fit.words.estimator import WordModels
from discreet.jobs.order import Order, charge_of, place_of
from discreet.jobs.plan import FitPlan, Number, Whole
from discreet.jobs.purchase import hmm_purchases, hmm_sentence
from discreet.jobs.recordings import check_folder, find_audio, find_recordings, read_recordings, split_name
from discreet.jobs.result import Result, deliver
from discreet.jobs.words import names_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["FitWords", "Heard", "Recognised", "fit_words", "order_words", "recognise"]


class FitWords(FitPlan):
    """Word models wanted from labelled recordings; `discreet.fit.WordModels` says what each setting means."""

    kind: ClassVar[str] = "words"

    labels: str = Field("names", description="how recordings are labelled: names, folders or index")
    word: str = Field("word", description="the column of an index that says the word")
    speaker: str = Field("speaker", description="the column of an index that says who spoke")
    where: str | None = Field(None, description="which rows of an index: split=train")
    words: Annotated[tuple[str, ...] | None, BeforeValidator(names_of)] = Field(
        None, description="the words: yes,no. Private fits need them"
    )
    states: Whole = Field(5, description="hidden states of each word")
    covariance_type: str | None = Field(None, description="full, diag, tied or spherical")
    mixtures: Whole = Field(1, description="Gaussians a state, without privacy")
    topology: str = Field("left-right", description="left-right or full")
    rate: Whole = Field(8000, description="samples a second: 8000 or 16000")
    ceps: Whole = Field(13, description="cepstra a frame")
    deltas: Whole | None = Field(None, description="slopes: 0, 1 or 2")
    normalise: str | None = Field(None, description="mean, mean-variance or none")
    depth: Number | None = Field(None, description="leave out frames so many decibels below the loudest")
    codebook: Whole | None = Field(None, description="how many codewords frames are replaced by")
    max_frames: Whole | None = Field(None, description="the longest recording that counts, 100 a second")
    recordings_per_person: Number = Field(1.0, description="of one word, they weigh at most this much")
    words_per_person: Whole | None = Field(None, description="one person weighs as much as so many words")

    @property
    def row(self) -> tuple[str, str] | None:
        """The column and value of `where`."""
        if self.where is None:
            return None
        column, equals, value = self.where.partition("=")
        if not equals or not column:
            raise ParameterError("where cannot be understood", got=self.where, wanted="column=value")
        return column.strip(), value.strip()


@dataclass(frozen=True)
class Heard:
    """What was heard in one file: the likeliest word, the next, and by how many nats it is behind."""

    path: Path
    word: str
    margin: float | None
    second: str | None
    frames: int
    said: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**vars(self), "path": str(self.path)}


@dataclass(frozen=True)
class Recognised:
    """What was heard in all files, and how many of those whose names say a word were right."""

    heard: tuple[Heard, ...]

    @property
    def right(self) -> int:
        """Files whose word is the one in their name."""
        return sum(one.word == one.said for one in self.heard)

    @property
    def known(self) -> int:
        """Files whose name says a word."""
        return sum(one.said is not None for one in self.heard)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"heard": [one.to_dict() for one in self.heard], "right": self.right, "known": self.known}


def fit_words(plan: FitWords, progress: Callable[[int, int], None] | None = None) -> Result:
    """Run a plan.

    **Reveals** the models, with their guarantee and receipt. **Costs** what the plan says, charged to the
    ledger before noise is drawn. **Trusts** whoever runs it.
    """
    model = order_words(plan).model
    place = place_of(plan)
    found = find_recordings(plan.data[0], plan.labels, word=plan.word, speaker=plan.speaker, where=plan.row)
    speakers = None
    if plan.person is not None:
        speakers = [one.speaker for one in found]
        if None in speakers:
            raise DataError(
                "a recording does not say who spoke",
                wanted="SPEAKER_TAKE.wav in the folder of a word, WORD_SPEAKER_TAKE.wav, or a column",
            )
    said = [one.word for one in found]
    model.fit(read_recordings(found, plan.rate), said, speakers, progress=progress)
    return deliver(model, place)


def order_words(plan: FitWords) -> Order[WordModels]:
    """The estimator that a plan asks for, and what it would promise; no file is opened."""
    for name in ("columns", "bounds", "radius", "center", "workers"):
        if getattr(plan, name) is not None:
            raise ParameterError(f"{name} is not for words", remedy="Leave it out.")
    if len(plan.data) != 1:
        raise ParameterError(
            "recordings lie in one folder", got=f"{len(plan.data)} paths", wanted="one folder"
        )
    check_folder(plan.data[0])
    ledger, dataset = charge_of(plan)
    model = WordModels(
        plan.states,
        epsilon=plan.epsilon,
        delta=plan.delta,
        covariance_type=plan.covariance_type,
        n_mix=plan.mixtures,
        topology=plan.topology,
        rate=plan.rate,
        ceps=plan.ceps,
        deltas=plan.deltas,
        normalise=plan.normalise,
        depth=plan.depth,
        codebook=plan.codebook,
        max_frames=plan.max_frames,
        vocabulary=plan.words,
        person=plan.person,
        recordings_per_person=plan.recordings_per_person,
        words_per_person=plan.words_per_person,
        noise=plan.noise,
        n_rounds=plan.rounds,
        ledger=ledger,
        dataset=dataset,
        random_state=plan.random_state,
    )
    guarantee = model.plan()
    bought = hmm_purchases(guarantee)
    return Order(model, (), guarantee, bought, hmm_sentence(guarantee, bought))


def recognise(bundle: str, audio: list[str], *, method: str = "forward", named: bool = False) -> Recognised:
    """The likeliest word of each sound file, by plain models: whoever runs this sees models and recordings.

    With ``named`` the word in the name of each file (WORD_SPEAKER_TAKE.wav) is compared.
    """
    models = WordModels.load(bundle)
    if models.input != "sound":
        raise DataError(
            "these models do not take sound", got=models.input, remedy="Use WordModels in Python."
        )
    paths = find_audio(audio)
    asked: Any = method
    heard: list[Heard] = []
    for path in paths:
        features = models.features([path])
        scores = models.vocabulary_.scores(features[0], asked)
        order = np.argsort(-scores, kind="stable")
        words: tuple[str, ...] = models.vocabulary_.words
        margin = float(scores[order[0]] - scores[order[1]]) if len(words) > 1 else None
        split = split_name(path) if named else None
        if named and split is None:
            raise DataError(f"{path.name} does not say what was said", wanted="WORD_SPEAKER_TAKE.wav")
        heard.append(
            Heard(
                path,
                words[int(order[0])],
                margin if margin is not None and np.isfinite(margin) else None,
                words[int(order[1])] if len(words) > 1 else None,
                len(features[0]),
                split[0] if split else None,
            )
        )
    return Recognised(tuple(heard))
