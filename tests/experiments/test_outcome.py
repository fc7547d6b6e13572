"""Outcomes: their claims are tested together, and what a request ran is known."""

from dataclasses import replace

import pytest

from bitreplay.experiments import Claim, Outcome, Request
from bitreplay.experiments._verdict import Verdict
from bitreplay.runs import Setting


def test_claims_of_an_outcome_are_corrected_by_holm():
    alone = [Verdict(True, 0.02), Verdict(False, 0.01), Verdict(True, 0.03), Verdict(True, 0.004)]
    assert [verdict.holds for verdict in alone] == [True, False, True, True]
    claims = Outcome([], claims=[Claim(f"claim {i}", "", verdict) for i, verdict in enumerate(alone)]).claims
    assert [claim.paper for claim in claims] == [f"claim {i}" for i in range(4)]
    # 0.004 four times, 0.01 three times, 0.02 twice, and 0.03 once, but it is no surer than 0.02 is.
    assert [claim.verdict.p for claim in claims] == pytest.approx([0.04, 0.03, 0.04, 0.016])
    assert [claim.holds for claim in claims] == [True, False, True, True]
    five = Outcome([], claims=[*(Claim("", "", verdict) for verdict in alone), Claim("", "", Verdict(False, 0.4))])
    assert [claim.holds for claim in five.claims] == [None, False, None, True, None]


def test_a_copy_of_an_outcome_is_not_corrected_again():
    """`reproduce` adds remarks to the outcome of an experiment."""
    claims = [Claim("", "", Verdict(True, p)) for p in (0.01, 0.02, 0.3)]
    outcome = Outcome([], claims=claims)
    assert [claim.verdict.p for claim in outcome.claims] == pytest.approx([0.03, 0.04, 0.3])
    assert replace(outcome, remarks=["more"]).claims == outcome.claims


def test_facts_and_claims_about_other_data_cost_the_others_nothing():
    verdicts = [Verdict.fact(True), Verdict(True, 0.03), Verdict.inconclusive(), Verdict.fact(False)]
    claims = Outcome([], claims=[Claim("", "", verdict) for verdict in verdicts]).claims
    assert [claim.verdict for claim in claims] == verdicts
    assert [claim.holds for claim in claims] == [True, True, None, False]
    assert Outcome([]).claims == []


def test_a_request_knows_its_runs_and_what_they_took(small_request, tmp_path):
    request = Request("cpu", tmp_path / "runs", setting=small_request(tasks=1).setting)
    made = request.compare(Setting(**request.setting), ["NearestMean", "GBM:prototypes=1"], [0, 1])
    assert [run.config["seed"] for run in made] == [0, 1, 0, 1]
    assert {run.path for run in request.runs} == {run.path for run in made}
    assert len(request.runs) == 3  # nothing in NearestMean is random: it was run once
    [waited] = request.waited
    assert waited >= sum(run.history.made.seconds for run in request.runs) > 0
    assert replace(request, n_jobs=2).runs is request.runs  # a variation of the same experiment
