"""A checked plan in, a result and its receipt out: all that a front end may call.

The names are loaded when they are first used, so that a command line can import this and stay fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.jobs.ask import (
        Asked,
        Counted,
        Opened,
        ask_keyword,
        count_answers,
        rehearse_keyword,
        serve_words,
    )
    from discreet.jobs.demo import Demo, run_demo
    from discreet.jobs.forecast import Preview, preview
    from discreet.jobs.game import play_game
    from discreet.jobs.hmm import fit_hmm
    from discreet.jobs.join import Kept, check_join, demo_join, new_join, rehearse_join, run_join
    from discreet.jobs.joint import size_of
    from discreet.jobs.ledger import new_budget, open_ledger
    from discreet.jobs.mixture import fit_mixture
    from discreet.jobs.network import fit_network
    from discreet.jobs.party import new_party, parties, read_party, trust_party
    from discreet.jobs.plan import FitHMM, FitMixture, FitNetwork, FitPlan, JobPlan, make_plan, read_plan
    from discreet.jobs.prep import prepare_people
    from discreet.jobs.release import Explained, Released, explain_release, learn_map, run_release
    from discreet.jobs.result import Result
    from discreet.jobs.rotation import break_rotation
    from discreet.jobs.show import Shown, show_bundle
    from discreet.jobs.tones import make_tones
    from discreet.jobs.vocabulary import FitWords, fit_words, recognise

__all__ = [
    "Asked",
    "Counted",
    "Demo",
    "Explained",
    "FitHMM",
    "FitMixture",
    "FitNetwork",
    "FitPlan",
    "FitWords",
    "JobPlan",
    "Kept",
    "Opened",
    "Preview",
    "Released",
    "Result",
    "Shown",
    "ask_keyword",
    "break_rotation",
    "check_join",
    "count_answers",
    "demo_join",
    "explain_release",
    "fit_hmm",
    "fit_mixture",
    "fit_network",
    "fit_words",
    "learn_map",
    "make_plan",
    "make_tones",
    "new_budget",
    "new_join",
    "new_party",
    "open_ledger",
    "parties",
    "play_game",
    "prepare_people",
    "preview",
    "read_party",
    "read_plan",
    "recognise",
    "rehearse_join",
    "rehearse_keyword",
    "run_demo",
    "run_join",
    "run_release",
    "serve_words",
    "show_bundle",
    "size_of",
    "trust_party",
]

_HOMES = {
    "Asked": "ask",
    "Counted": "ask",
    "Opened": "ask",
    "ask_keyword": "ask",
    "count_answers": "ask",
    "rehearse_keyword": "ask",
    "serve_words": "ask",
    "Demo": "demo",
    "run_demo": "demo",
    "play_game": "game",
    "new_budget": "ledger",
    "open_ledger": "ledger",
    "fit_hmm": "hmm",
    "Kept": "join",
    "check_join": "join",
    "demo_join": "join",
    "new_join": "join",
    "rehearse_join": "join",
    "run_join": "join",
    "size_of": "joint",
    "fit_mixture": "mixture",
    "fit_network": "network",
    "new_party": "party",
    "parties": "party",
    "read_party": "party",
    "trust_party": "party",
    "FitHMM": "plan",
    "FitMixture": "plan",
    "FitNetwork": "plan",
    "JobPlan": "plan",
    "FitPlan": "plan",
    "make_plan": "plan",
    "read_plan": "plan",
    "prepare_people": "prep",
    "Result": "result",
    "break_rotation": "rotation",
    "Preview": "forecast",
    "preview": "forecast",
    "Explained": "release",
    "Released": "release",
    "explain_release": "release",
    "learn_map": "release",
    "run_release": "release",
    "Shown": "show",
    "show_bundle": "show",
    "make_tones": "tones",
    "FitWords": "vocabulary",
    "fit_words": "vocabulary",
    "recognise": "vocabulary",
}


def __getattr__(name: str) -> Any:
    """Load a name from the file it lives in."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
