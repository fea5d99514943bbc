"""The report of a released trip: whole, offline, escaped, and silent about the truth unless asked."""

import json
import re
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.release import Map, Policy, Stream
from discreet.release.leakage import leakage
from discreet.report.release import write_release_page


def trip(steps=8):
    across, up = np.meshgrid(np.arange(6), np.arange(6))
    points = np.stack([across.reshape(-1), up.reshape(-1)], axis=1) * 340.0
    near = np.abs(points[:, None] - points[None]).max(axis=2) <= 340
    world = Map(points, near / near.sum(axis=1, keepdims=True))
    policy = Policy.radius(world, 400.0)
    stream = Stream(world, policy, epsilon=1.0, start=14)
    truth = [14, 15, 21, 22, 22, 16, 10, 9][:steps]
    protection = [stream.step(state).protection for state in truth]
    shown = SimpleNamespace(
        name="<script>alert(1)</script>",
        times=np.arange(steps) * 60.0,
        start=stream.start,
        past=stream.past,
        truth=np.array(truth),
        protection=protection,
        leakage=leakage(stream),
    )
    return world, policy, stream.guarantee, shown


def story_of(page):
    return json.loads(re.search(r'id="story">(.*?)</script>', page, re.S)[1])


def test_the_public_page_does_not_know_the_truth():
    page = write_release_page(*trip(), owner=False)
    story = story_of(page)
    assert "owner" not in story
    assert "For its owner alone" not in page and "alert(1)" not in page
    assert len(story["steps"]) == 8


def test_the_owner_sees_the_truth_and_is_warned():
    world, policy, promise, shown = trip()
    page = write_release_page(world, policy, promise, shown, owner=True)
    assert story_of(page)["owner"]["truth"] == shown.truth.tolist()
    assert "For its owner alone" in page
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page


def test_the_page_asks_nobody_for_anything_and_runs_only_its_own_script():
    import base64
    import hashlib

    page = write_release_page(*trip(), owner=False)
    assert not re.search(r"https?://|<link|<img|@import|url\(|fetch\(|XMLHttp", page)
    script = re.search(r"<script>(.*)</script>", page, re.S)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page


def test_the_story_holds_what_is_drawn():
    world, policy, promise, shown = trip()
    story = story_of(write_release_page(world, policy, promise, shown, owner=False))
    first = story["scenes"][story["steps"][0]["scene"]]
    scene = shown.past[0].scenes[0]
    assert first["least"] == scene.degrees[scene.possible].min()
    hull = np.array(first["hull"])
    after = np.roll(hull, -1, axis=0)
    area = np.abs((hull[:, 0] * after[:, 1] - hull[:, 1] * after[:, 0]).sum()) / 2
    assert area == pytest.approx(scene.area, rel=1e-3)
    assert len(story["edges"]) == len(policy.pairs)


def test_a_page_that_is_not_private_says_so():
    world, policy, _, shown = trip()
    promise = Stream(world, policy, epsilon=1.0, start=14, random_state=1).guarantee
    assert "Not private" in write_release_page(world, policy, promise, shown, owner=False)


@pytest.mark.slow
def test_the_map_is_drawn_in_a_browser(tmp_path):
    """A blank or failing script would leave the counter empty; needs Chromium, and is skipped without."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("no Chromium here")
    (tmp_path / "page.html").write_text(write_release_page(*trip(), owner=True))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    command = [browser, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    seen = subprocess.run(
        [*command, (tmp_path / "page.html").as_uri() + "#3"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "step 4 of 8" in seen.stdout
    assert "protection of the true state" in seen.stdout
