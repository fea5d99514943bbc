"""The published rotation runs as printed and is read by programs; ours on the same people shows nothing."""

import json

import numpy as np
import pytest
from tests.models.test_signs import PAPER

from discreet.audit import breach, rotation
from discreet.audit.breach import Quiet, breaches, invent, quiet, report, words_of
from discreet.audit.rotation import Handover
from discreet.audit.wiretap import judge_masks
from discreet.crypto.narrow import pack, unpack
from discreet.errors import ParameterError
from discreet.jobs import break_rotation
from discreet.protocols.step import run_parties
from discreet.randomness import seeded

ROWS = 300
AGREED = Handover(ROWS, (((0, 2), (1,)), ((2,), (0, 1))))


@pytest.fixture(scope="module")
def people():
    draw = np.random.default_rng(5)
    return [np.where(draw.random((ROWS, width)) < 0.3, 1, -1) for width in (3, 2)]


def run(people, seed=1):
    out, transcript = run_parties(
        {
            "first": rotation.be_first(people[0].astype(float), AGREED, seeded(seed)),
            "second": rotation.be_second(people[1].astype(float), AGREED),
            "third": rotation.be_third(AGREED),
        }
    )
    seen = [np.asarray(record.arrays["columns"]) for record in transcript.seen_by("third")]
    return out["third"], seen, bytes(transcript.seen_by("second")[0].arrays["key"])


def table(columns):
    """Counts of all combinations of columns, +1 first."""
    counts = np.zeros((2,) * columns.shape[1], dtype=np.int64)
    np.add.at(counts, tuple((columns < 0).T.astype(int)), 1)
    return counts


def test_the_published_way_counts_rightly(people):
    products, seen, _ = run(people)
    assert seen[0].shape[1] == 4 and seen[1].shape[1] == 4
    for family in AGREED.families:
        columns = np.concatenate([people[site][:, list(family[site])] for site in (0, 1)], axis=1)
        assert np.array_equal(rotation.counts_of(AGREED.pips(products, family)), table(columns))


def test_the_system_of_signs_is_the_printed_one():
    """Section 3.1: eight equations for the counts a ... h, and their right-hand side."""
    z, x, y = np.where(np.random.default_rng(2).random((3, 500)) < 0.4, 1, -1)
    sides = [z, x, y, z * x, z * y, z * x * y, x * y, np.ones(500)]
    pips = np.array([side.sum() for side in sides])
    solved = np.linalg.solve(PAPER.astype(float), pips)
    ours = rotation.counts_of(np.array([[[pips[7], pips[2]], [pips[1], pips[6]]],
                                        [[pips[0], pips[4]], [pips[3], pips[5]]]]))  # fmt: skip
    printed_order = ours[::-1, ::-1, ::-1]  # the paper begins with -1, and z is the slowest
    assert np.array_equal(np.rint(solved), printed_order.reshape(-1))
    assert np.array_equal(ours, table(np.stack([z, x, y], axis=1)))


def test_who_knows_the_rotation_reads_everything(people):
    _, seen, key = run(people)
    for site in (0, 1):
        read = rotation.undo(rotation.rotation_of(ROWS, key), seen[site])
        assert np.array_equal(read, rotation.subset_products(people[site].astype(float), AGREED.sent(site)))
    wrong = rotation.undo(rotation.rotation_of(ROWS, bytes(16)), seen[0])
    assert (np.abs(wrong) == 1).mean() < 0.7  # another key reads nothing


def test_rotations_are_orthogonal_and_hide_single_vectors(people):
    matrix = rotation.random_rotation(64, seeded(1))
    assert np.abs(matrix @ matrix.T - np.eye(64)).max() < 1e-12
    _, seen, _ = run(people)
    assert np.abs(seen[0] - np.rint(seen[0])).mean() > 0.1


def test_the_third_party_has_all_pairs_also_within_a_site(people):
    _, seen, _ = run(people)
    both = np.concatenate(seen, axis=1)
    one, two = AGREED.sent(0), AGREED.sent(1)
    places = [one.index((0,)), one.index((2,)), 4 + two.index((0,)), 4 + two.index((1,))]
    truth = np.concatenate([people[0][:, [0, 2]], people[1]], axis=1)
    tables = rotation.pair_tables(both, 0, places)
    for i in range(4):
        for j in range(4):
            if i != j:
                assert np.array_equal(tables[i, j], table(truth[:, [i, j]]))


def test_a_single_person_is_found():
    tables = np.full((3, 3, 2, 2), 7)
    tables[0, 2, 1, 0] = tables[2, 0, 0, 1] = 1
    assert rotation.singled_out(tables) == [(0, 1, 2, 0)]


@pytest.mark.parametrize("person", [0, 17, ROWS - 1])
def test_a_row_that_changed_is_read_in_every_column(people, person):
    changed = [people[0].copy(), people[1]]
    changed[0][person, 2] *= -1
    _, before, _ = run(people)
    _, after, _ = run(changed)
    place = AGREED.sent(0).index((2,))
    both = np.concatenate(before, axis=1)
    read = rotation.read_person(before[0][:, place], after[0][:, place], both, 0)
    wanted = [
        rotation.subset_products(people[site].astype(float), AGREED.sent(site))[person] for site in (0, 1)
    ]
    assert np.array_equal(read, np.concatenate(wanted))


def test_a_new_rotation_each_time_does_not_give_a_row_away(people):
    changed = [people[0].copy(), people[1]]
    changed[0][5, 2] *= -1
    _, before, _ = run(people, 1)
    _, after, _ = run(changed, 2)
    place = AGREED.sent(0).index((2,))
    along = (after[0][:, place] - before[0][:, place]) @ np.concatenate(before, axis=1) / 2
    assert np.abs(np.abs(along) - 1).max() > 0.2


def test_the_fast_rotation_gives_all_rows_away(people):
    both = np.concatenate([np.ones((ROWS, 1)), *people], axis=1)
    spun = rotation.spin(both, seeded(8))
    assert spun.shape == (512, 6)
    assert np.abs(spun.T @ spun - both.T @ both).max() < 1e-8  # it is a rotation: inner products survive
    read = rotation.unspin(spun, 0)
    assert sorted(map(tuple, read.tolist())) == sorted(map(tuple, both.astype(int).tolist()))
    assert not np.array_equal(read, both)


def test_every_reading_is_right_and_ours_is_quiet():
    first, second = invent(600, seeded(4))
    found = {one.attack: one for one in breaches(first, second, seeded(5))}
    assert set(found) == {
        "R is known", "counts of pairs", "people singled out", "R is used again", "fast rotation"
    }  # fmt: skip
    for one in found.values():
        assert one.right == one.asked
    assert found["R is known"].asked == 600 * 6
    assert found["fast rotation"].asked == 600
    ours = quiet(first, second, seeded(6))
    assert ours.counts_right and not ours.leaks


def test_ours_is_uniform_over_many_runs_also_where_one_run_is_short():
    """Keys and the helper's tables of ten words, whoever sees them, over many runs on the same people."""
    first, second = invent(100, seeded(4))
    kept, run_in_memory = [], breach.run_parties

    def keep(roles):
        out, transcript = run_in_memory(roles)
        kept.append(transcript)
        return out, transcript

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(breach, "run_parties", keep)
        for seed in range(40):
            quiet(first, second, seeded(100 + seed))
    seen = {}
    for transcript in kept:
        for record in transcript:
            for key, value in record.arrays.items():
                seen.setdefault((record.receiver, record.name, key), []).append(value)
    assert {"helper"}.isdisjoint(receiver for receiver, _, _ in seen)
    for (_, name, _), values in seen.items():
        if isinstance(values[0], bytes):
            finding = judge_masks(np.frombuffer(b"".join(values), dtype=np.uint8))
        elif name.endswith("tables"):  # six cells and more in one group of 64 words of 8 bits
            cells = [unpack(value, (64,), 8)[:6] for value in values]
            finding = judge_masks(np.concatenate(cells), bits=8)
        else:
            finding = judge_masks(np.concatenate([words_of(value, 8) for value in values]), bits=8)
        assert not finding.leaks(), (name, finding)


def test_a_protocol_that_leaks_would_be_noticed(monkeypatch):
    """The same search on columns that are sent in the clear."""
    first, second = invent(600, seeded(4))

    class Clear:
        receiver, arrays = "second", {"words": pack(first[:, 2].astype(np.uint32), 11)}

    monkeypatch.setattr(breach, "run_parties", lambda roles, run=breach.run_parties: (run(roles)[0], [Clear]))
    assert quiet(first, second, seeded(1)).leaks


def test_findings_are_told_in_words():
    loud = Quiet("balance of bit 0", 0.0, 8, True)
    assert loud.leaks and "not uniform" in loud.words()
    calm = Quiet("balance of bit 0", 0.3, 8, False)
    assert not calm.leaks and "WRONG" in calm.words()


def test_reports_are_plain_data_and_a_seed_repeats_them():
    found = break_rotation(200, random_state=3)
    assert found == report(200, seeded(3))
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["rows"] == 200 and plain["ours"]["leaks"] is False
    assert plain["breaches"][0]["attack"] == "R is known"


def test_the_command_tells_what_was_read():
    from typer.testing import CliRunner

    from discreet.cli import app

    done = CliRunner().invoke(app, ["audit", "rotation", "--rows", "200", "--random-state", "2"])
    assert done.exit_code == 0
    for words in (
        "R is known",
        "counts of pairs",
        "fast rotation",
        "Ours (masks from a helper)",
        "add noise",
    ):
        assert words in done.stdout
    done = CliRunner().invoke(app, ["audit", "rotation", "--rows", "200", "--random-state", "2", "--json"])
    assert json.loads(done.stdout)["rows"] == 200


@pytest.mark.parametrize("rows", [1, 5000])
def test_sizes_out_of_range_are_refused(rows):
    with pytest.raises(ParameterError, match="rows"):
        Handover(rows, (((0,), (0,)),))
    with pytest.raises(ParameterError, match="rows"):
        report(rows, seeded(1))
