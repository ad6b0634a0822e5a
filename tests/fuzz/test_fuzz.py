"""A few seeded cases of every fuzzer, and the page that the long ones have written."""

import json
import subprocess
import sys

import pytest
from fuzz import __main__ as fuzz
from fuzz import certificates, eigenvalues, gradients
from fuzz.page import page


def test_hostile_files_and_arguments_end_in_a_sentence(tmp_path):
    # In a process of its own, which forks one for each case.
    code = (
        "import json; from fuzz import __main__ as f, hostile;"
        "print(json.dumps(hostile.run(f.SIZES['hostile'][0], seconds=300).as_dict()))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=fuzz.ROOT
    )
    assert ended.returncode == 0, ended.stderr
    outcome = json.loads(ended.stdout)
    assert outcome["tried"] == fuzz.SIZES["hostile"][0]
    assert outcome["failures"] == []


def test_eigenvalues_are_right_or_refused():
    assert eigenvalues.run(fuzz.SIZES["eigenvalues"][0]).failures == []


def test_theorem_2_holds():
    outcome = certificates.run(fuzz.SIZES["certificates"][0], methods=("theorem2",))
    assert outcome.failures == []


def test_a_fuzzer_finds_what_is_wrong(monkeypatch):
    # A fuzzer that cannot fail proves nothing.
    monkeypatch.setattr(gradients, "apply_pgso", lambda x, graph, S: 1.001 * x * S.sum())
    assert gradients.run(20).failures
    monkeypatch.setattr(certificates, "interval", lambda graph, S, method: (0.0, 0.1))
    assert certificates.run(20).failures
    monkeypatch.setattr(eigenvalues, "eigenvalues", lambda graph, S, k, which, tol: [0.5] * k)
    assert eigenvalues.run(1).failures


def test_the_page_is_what_the_fuzzers_have_written():
    outcomes = fuzz.read(fuzz.RESULTS)
    assert {outcome["name"] for outcome in outcomes} <= set(fuzz.SIZES)
    assert fuzz.PAGE.read_text() == page(outcomes)


def test_an_unknown_fuzzer_is_refused():
    with pytest.raises(SystemExit, match="unknown: bugs"):
        fuzz.main(["bugs"])
