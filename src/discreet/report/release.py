"""The report of a released trip: one HTML file with a map, a time slider and curves; it opens offline.

**Reveals**, in the public view, what everybody can compute: the map, the policy, what was released, and what
it gives away. In the owner's view also the true trace, the hull around the true state, and how well it was
hidden: that page is for its owner alone, and says so.

The page forbids itself all requests; the only script that may run is ours, by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet.report.atlas import ATLAS
from discreet.report.style import STYLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.release import Map, Policy
    from discreet.release.leakage import Leakage
    from discreet.release.promise import Promise
    from discreet.release.scene import Scene
    from discreet.release.stream import Past

__all__ = ["Trip", "write_release_page"]

_MOST_EDGES = 40_000
_SHADES = 255
_EXTRA = """
.atlas canvas { display: block; width: 100%; border-radius: 6px; touch-action: none; }
.bar { display: flex; flex-wrap: wrap; gap: .6rem; align-items: center; margin: .8rem 0 0; font-size: .9rem; }
.bar input[type=range] { flex: 1 1 12rem; }
.bar label { white-space: nowrap; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; color: var(--soft); font-size: .83rem;
  margin-top: .6rem; }
.legend i { display: inline-block; width: .8rem; height: .8rem; margin-right: .35rem; border-radius: 2px;
  vertical-align: -.1rem; }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .6rem; margin: 1rem
0; } .numbers div { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .5rem
.8rem; } .numbers b { display: block; font-size: 1.15rem; font-variant-numeric: tabular-nums; }
.numbers span { color: var(--soft); font-size: .8rem; }
"""


class Trip(Protocol):
    """What a page is about: `discreet.jobs.release.Shown`."""

    name: str
    times: NDArray[np.float64]
    past: list[Past]
    truth: NDArray[np.int64]
    protection: list[int]
    leakage: Leakage


def write_release_page(world: Map, policy: Policy, promise: Promise, trip: Any, owner: bool) -> str:
    """The whole page."""
    title = (
        f"A trip of {len(trip.past)} steps, released"
        if not owner
        else f"The trip of {trip.name}, and its release"
    )
    digest = base64.b64encode(hashlib.sha256(ATLAS.encode()).digest()).decode()
    allowed = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; base-uri 'none'; "
        "form-action 'none'"
    )
    story = json.dumps(_story(world, policy, trip, owner), allow_nan=False).replace("<", "\\u003c")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{allowed}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(title)}</title>
<style>{STYLE}{_EXTRA}</style>
</head>
<body>
<main>
{_header(title, promise, owner)}
{_banner(promise, owner)}
{_atlas(owner)}
{_over_time(trip.leakage)}
{_promise(policy, promise)}
<footer>Written by discreet from what was released{" and from the true trace" if owner else ""}.
This page makes no requests; its one script draws the map.</footer>
</main>
<script type="application/json" id="story">{story}</script>
<script>{ATLAS}</script>
</body>
</html>
"""


def _header(title: str, promise: Promise, owner: bool) -> str:
    chips = [f"ε = {promise.epsilon:g} a step", promise.joined, "owner's view" if owner else "public view"]
    items = "".join(
        f'<li class="main">{escape(chip)}</li>' if index == 0 else f"<li>{escape(chip)}</li>"
        for index, chip in enumerate(chips)
    )
    kind = "A released trip" if promise.private else "A released trip that is not private"
    return (
        f'<p class="kicker">discreet report · {kind}</p>\n<h1>{escape(title)}</h1>\n'
        f'<ul class="chips">{items}</ul>'
    )


def _banner(promise: Promise, owner: bool) -> str:
    text = ""
    if not promise.private:
        text += (
            '<div class="banner" role="alert"><strong>Not private</strong>'
            f"{escape(promise.words().splitlines()[0])}</div>"
        )
    if owner:
        text += (
            '<div class="banner" role="alert"><strong>For its owner alone</strong>'
            "This page shows the true trace beside the released one. Do not hand it out.</div>"
        )
    return text


def _atlas(owner: bool) -> str:
    dots = " Dots are the true error and the protection of the true state." if owner else ""
    mine = (
        '<span><i style="background:#d64550"></i>true place, with the hull around it</span>' if owner else ""
    )
    return f"""<figure class="atlas">
<canvas id="map" role="img" aria-label="The states, and what everybody believes at the chosen step"></canvas>
<div class="bar"><button id="play" type="button">play</button>
<input id="step" type="range" min="0" value="0" aria-label="step"><output id="at"></output>
<label>colour <select id="colour"><option value="belief">belief after the release</option>
<option value="degrees">protection</option></select></label>
<label><input id="edges" type="checkbox"> policy edges</label></div>
<div class="legend"><span><i style="background:#f2a33a"></i>released point</span>
<span><i style="border:2px solid #e0218a"></i>exposed before repair</span>
<span><i style="border-top:2px dashed #e0218a;height:0"></i>repair edge</span>
<span><i style="border:1px solid #3f8f9b"></i>hull around the released point</span>{mine}
<span>states in grey are not possible at this step</span></div>
</figure>
<div class="numbers" id="numbers"></div>
<figure class="atlas"><canvas id="curves" role="img" aria-label="Error, protection and leakage"></canvas>
<figcaption>Over time: the expected error of a release, the least and the typical protection of possible
states, and how far the odds of joined states moved at each step where people probably were, by all releases
together (the dashed line is what one release may do).{dots}</figcaption></figure>"""


def _over_time(leakage: Leakage) -> str:
    lines = leakage.words().splitlines()
    parts = [
        f'<div class="banner" role="alert"><strong>Leakage over time</strong>{escape(line[9:])}</div>'
        if line.startswith("WARNING: ")
        else f"<p>{escape(line)}</p>"
        for line in lines
    ]
    return "<h2>What all releases say together</h2>\n" + "\n".join(parts)


def _promise(policy: Policy, promise: Promise) -> str:
    entries: list[str] = []
    for line in promise.words().splitlines():
        name, colon, text = line.partition(": ")
        if colon and name != "WARNING":
            entries.append(f"<dt>{escape(name)}</dt><dd>{escape(text[:1].upper() + text[1:])}</dd>")
    return (
        f'<h2>What is promised</h2>\n<dl class="card promise">{"".join(entries)}</dl>\n'
        f"<h2>The policy</h2>\n<p>{escape(policy.describe())}</p>"
    )


def _story(world: Map, policy: Policy, trip: Any, owner: bool) -> dict[str, Any]:
    """Everything that the script draws, as plain data."""
    from discreet.release.track import smooth

    scenes = [past.scenes[0] for past in trip.past]
    logs = smooth(world, trip.start, trip.past)
    numbered: dict[int, int] = {}
    for scene in scenes:
        numbered.setdefault(id(scene), len(numbered))
    kept = {numbered[id(scene)]: scene for scene in scenes}
    cell = world.grid.cell if world.grid is not None else _pitch(world.points)
    story: dict[str, Any] = {
        "points": np.round(_plane(world.points), 2).tolist(),
        "cell": cell,
        "edges": policy.pairs[:_MOST_EDGES].tolist(),
        "scenes": [_scene(kept[index]) for index in range(len(kept))],
        "steps": [
            {
                "scene": numbered[id(scene)],
                "released": np.round(_plane(scene.query.points(past.units[0])[None])[0], 1).tolist(),
                "belief": _shades(np.exp(after)),
                "time": float(time),
                "leak": [leak.at_release, min(leak.typical, 1e6), leak.promised, min(leak.at_end, 1e6)],
            }
            for scene, past, after, time, leak in zip(
                scenes, trip.past, logs.after, trip.times, trip.leakage.steps, strict=True
            )
        ],
    }
    if owner:
        answers = scenes[0].query.answers[trip.truth]
        released = np.array([past.scenes[0].query.points(past.units[0]) for past in trip.past])
        story["owner"] = {
            "truth": trip.truth.tolist(),
            "protection": list(trip.protection),
            "error": np.linalg.norm(released - answers, axis=1).round(1).tolist(),
        }
    return story


def _scene(scene: Scene) -> dict[str, Any]:
    inside = scene.degrees[scene.possible]
    return {
        "hull": np.round(_outline(scene), 1).tolist(),
        "possible": base64.b64encode(np.packbits(scene.possible, bitorder="little").tobytes()).decode(),
        "degrees": _shades(scene.degrees.astype(np.float64)),
        "most": int(inside.max()),
        "least": int(inside.min()),
        "typical": float(np.median(inside)),
        "exposed": list(scene.exposed),
        "repaired": [list(edge) for edge in scene.repaired],
        "error": round(scene.error, 2),
        "area": scene.area,
    }


def _outline(scene: Scene) -> NDArray[np.float64]:
    """The corners of the hull in order, in the units of the query (of its first two numbers)."""
    corners = np.concatenate([scene.body.corners, -scene.body.corners]) * scene.query.step
    plane = _plane(corners)
    if scene.body.dimension > 2:
        from scipy.spatial import ConvexHull

        plane = plane[ConvexHull(plane).vertices]
    return plane[np.argsort(np.arctan2(plane[:, 1], plane[:, 0]))]


def _plane(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first two numbers; a second of 0 where there is one."""
    if points.shape[1] == 1:
        return np.concatenate([points, np.zeros_like(points)], axis=1)
    return points[:, :2]


def _pitch(points: NDArray[np.float64]) -> float:
    """About how far apart states lie."""
    extent = np.ptp(_plane(points), axis=0)
    return float(max(extent.max(), 1e-9) / max(1.0, np.sqrt(len(points))))


def _shades(values: Sequence[float] | NDArray[np.float64]) -> str:
    """A byte a state, relative to the largest; square roots, so that small ones are seen."""
    array = np.asarray(values, dtype=np.float64)
    top = array.max() or 1.0
    return base64.b64encode(np.rint(np.sqrt(array / top) * _SHADES).astype(np.uint8).tobytes()).decode()
