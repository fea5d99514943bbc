"""Answers are counted durably and exactly, by many threads and processes, and are never hidden."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from discreet.accounting.ledger import Ledger
from discreet.ask.answers import Allowance, Answers
from discreet.errors import LedgerError, OverspentError, ParameterError

LONG = os.environ.get("DISCREET_LONG") == "1"

CHARGER = """
import sys
from discreet.ask.answers import Allowance, Answers
from discreet.errors import OverspentError

answers = Answers.open(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    try:
        had = answers.charge(f"client {number % 2}", "model", 1 + number % 3, Allowance(int(sys.argv[2])))
    except OverspentError:
        print("refused", flush=True)
    else:
        print(f"had {had}.", 1 + number % 3, f"client {number % 2}", flush=True)
"""


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = 1e9

    def __call__(self):
        return self.now


def start(path, most, tries):
    command = [sys.executable, "-c", CHARGER, str(path), str(most), str(tries)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    assert process.stdout.readline() == "ready\n"
    return process


def granted(text):
    """Answers by client that a process was told of; a last line that a kill has cut does not count."""
    found = {"client 0": 0, "client 1": 0}
    for line in text.splitlines():
        if line.startswith("had") and line[-1] in "01" and line[-8:-1] == "client ":
            found[line[-8:]] += int(line.split()[2])
    return found


def test_no_client_gets_more_answers_than_allowed(tmp_path):
    answers = Answers.at(tmp_path / "a")
    allowed = Allowance(5)
    assert answers.charge("alice", "words", 3, allowed) == 3
    assert answers.left("alice", "words", allowed) == 2
    with pytest.raises(OverspentError, match="3 more, after 3"):
        answers.charge("alice", "words", 3, allowed)
    assert answers.charge("alice", "words", 2, allowed) == 5
    assert answers.left("alice", "words", allowed) == 0
    with pytest.raises(OverspentError):
        answers.charge("alice", "words", 1, allowed)
    assert Answers.open(tmp_path / "a").tallies() == answers.tallies()
    (tally,) = answers.tallies()
    assert (tally.client, tally.model, tally.answers, tally.charges) == ("alice", "words", 5, 2)


def test_clients_and_models_are_counted_apart(tmp_path):
    answers = Answers.at(tmp_path / "a")
    allowed = Allowance(1)
    for client, model in (("alice", "one"), ("alice", "two"), ("carl", "one")):
        assert answers.charge(client, model, 1, allowed) == 1
    assert answers.left("carl", "two", allowed) == 1
    assert [tally.answers for tally in answers.tallies()] == [1, 1, 1]


def test_without_a_limit_answers_are_counted_all_the_same(tmp_path):
    answers = Answers.at(tmp_path / "a")
    assert [answers.charge("alice", "words", 4) for _ in range(3)] == [4, 8, 12]
    assert answers.left("alice", "words", Allowance()) is None


def test_a_limit_for_a_period_is_renewed_and_a_clock_set_back_renews_nothing(tmp_path):
    clock = Clock()
    answers = Answers.at(tmp_path / "a", clock=clock)
    allowed = Allowance(3, 3600.0)
    answers.charge("alice", "words", 2, allowed)
    clock.now += 1800
    answers.charge("alice", "words", 1, allowed)
    with pytest.raises(OverspentError, match="in 3600 seconds"):
        answers.charge("alice", "words", 1, allowed)
    clock.now += 1801  # the first two are an hour old now
    assert answers.left("alice", "words", allowed) == 2
    answers.charge("alice", "words", 2, allowed)
    clock.now -= 86400
    with pytest.raises(OverspentError):
        answers.charge("alice", "words", 1, allowed)
    assert Answers.open(tmp_path / "a", clock=clock).left("alice", "words", allowed) == 0


@pytest.mark.parametrize(
    "wrong", [lambda: Allowance(-1), lambda: Allowance(1, 0.0), lambda: Allowance(1, float("nan"))]
)
def test_limits_that_are_none_are_refused(wrong):
    with pytest.raises(ParameterError):
        wrong()


def test_a_question_without_answers_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="has answers"):
        Answers.at(tmp_path / "a").charge("alice", "words", 0)


def test_a_ledger_of_privacy_is_not_one_of_answers_nor_the_other_way_round(tmp_path):
    Ledger.create(tmp_path / "privacy").budget("city", "row", 1.0, 0.0)
    with pytest.raises(LedgerError, match="does not count answers"):
        Answers.at(tmp_path / "privacy")
    Answers.at(tmp_path / "a").charge("alice", "words", 1)
    with pytest.raises(LedgerError):
        Ledger.open(tmp_path / "a").verify()


def test_what_was_changed_behind_its_back_is_found(tmp_path):
    answers = Answers.at(tmp_path / "a")
    answers.charge("alice", "words", 2)
    head = answers.verify()
    assert head.seq == 1
    with sqlite3.connect(tmp_path / "a") as connection:
        connection.execute("DROP TRIGGER entries_keep")
        connection.execute(
            "UPDATE entries SET body = replace(body, '\"count\":2', '\"count\":1') WHERE seq = 1"
        )
    connection.close()
    with pytest.raises(LedgerError):
        Answers.open(tmp_path / "a")


def test_threads_share_one_limit_exactly(tmp_path):
    answers = Answers.at(tmp_path / "a")
    had = []

    def charge():
        for _ in range(8):
            try:
                had.append(answers.charge("alice", "words", 1, Allowance(20)))
            except OverspentError:
                had.append(0)

    threads = [threading.Thread(target=charge) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one for one in had if one) == list(range(1, 21))
    assert had.count(0) == 12


@pytest.mark.slow
def test_many_processes_share_one_limit_exactly(tmp_path):
    answers = Answers.at(tmp_path / "a")
    most = 400 if LONG else 41
    processes = [start(answers.path, most, most // 2) for _ in range(6)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [granted(process.communicate(timeout=240)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0] * 6
    for client in ("client 0", "client 1"):
        sums = sum(one[client] for one in told)
        assert most - 2 <= sums <= most  # what is left may be less than what is asked for together
        assert {tally.client: tally.answers for tally in answers.tallies()}[client] == sums
    answers.verify()


@pytest.mark.slow
def test_a_kill_at_any_instant_hides_no_answer(tmp_path):
    answers = Answers.at(tmp_path / "a")
    pick = random.Random(3)
    kills, told = 60 if LONG else 8, 0
    for kill in range(kills):
        process = start(answers.path, 10**9, 10**6)
        process.stdin.write("go\n")
        process.stdin.flush()
        said = [process.stdout.readline() for _ in range(kill % 4)]
        time.sleep(pick.uniform(0.0, 0.03))
        process.send_signal(signal.SIGKILL)
        said.append(process.communicate(timeout=60)[0])
        told += sum(granted("".join(said)).values())
    kept = sum(tally.answers for tally in answers.tallies())
    assert told <= kept <= told + 3 * kills  # a kill can waste the charge under way
    answers.verify()


def test_only_one_of_many_that_begin_makes_the_file(tmp_path):
    found = []

    def begin():
        found.append(Answers.at(tmp_path / "a"))

    threads = [threading.Thread(target=begin) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    for answers in found:
        answers.charge("alice", "words", 1)
    assert found[0].tallies()[0].answers == 6
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_place_that_cannot_hold_the_file_is_refused(tmp_path):
    with pytest.raises(LedgerError, match="cannot be created"):
        Answers.at(tmp_path / "nowhere" / "a")
