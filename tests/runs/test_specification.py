"""Specifications: what people type means one learner, and a wrong word is named with the nearest right one."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from bitreplay.errors import InputError
from bitreplay.learners import LEARNERS
from bitreplay.runs import Specification


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("GBM", {}),
        ("GBM:", {}),
        ("GBM:head=replay,bits=8", {"head": "replay", "bits": 8}),
        ("FeTrIL:tol=1e-3,C=2", {"tol": 0.001, "C": 2}),
        ("GBM:n_jobs=null,blend=.5", {"n_jobs": None, "blend": 0.5}),
    ],
)
def test_text_means_name_and_options(text: str, options: dict[str, object]) -> None:
    specification = Specification.parse(text)
    assert (specification.name, specification.options) == (text.partition(":")[0], options)
    assert [type(value) for value in specification.options.values()] == [type(value) for value in options.values()]
    made = specification.make(3)
    assert type(made) is LEARNERS[specification.name]
    assert {option: getattr(made, option) for option in options} == options
    assert made.seed == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["GBM", "GBM:head=replay,bits=8", "FeTrIL:tol=1e-05", "GBM:n_jobs=null", "Joint:p=2"])
def test_text_and_object_are_each_others_inverse(text: str) -> None:
    assert str(Specification.parse(text)) == text
    assert Specification.parse(str(Specification.parse(text))) == Specification.parse(text)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_default_can_be_typed(name: str) -> None:
    defaults = Specification(name, {}).all_options()
    assert "seed" not in defaults
    written = Specification(name, defaults)
    assert Specification.parse(str(written)) == written
    assert Specification.parse(str(written)).all_options() == defaults


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("GMB", r"no learner 'GMB'; there are GBM, .*; did you mean GBM\?$"),
        ("fetril", r"did you mean FeTrIL\?$"),
        ("xyzzy", r"no learner 'xyzzy'; there are GBM, .*LatentReplay"),
        ("", r"no learner ''"),
        ("GBM:protoypes=4", r"GBM has no option 'protoypes'; it has prototypes, .*; did you mean prototypes\?$"),
        ("GBM:xyzzy=4", r"GBM has no option 'xyzzy'; it has prototypes, .*n_jobs$"),
        ("GBM:seed=4", "the seed is not an option of GBM"),
        ("GBM:bits", "options are written option=value; got 'bits'"),
        ("GBM:bits=3,bits=4", "'bits' is given twice"),
        ("GBM:bits=many", "bits"),
        ("GBM:bits=2.5", "bits"),
        ("GBM:head=closed", "head must be one of closed_form, replay, bayes"),
        ("FeTrIL:C=nan", "C must be a number"),
    ],
)
def test_what_means_nothing_is_refused_at_once(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Specification.parse(text)


def test_the_source_of_a_method_from_another_package_is_part_of_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "from bitreplay.learners import LEARNERS\n\nclass Own(LEARNERS['NearestMean']):\n    name = 'Own'\n"
    monkeypatch.syspath_prepend(tmp_path)
    versions = []
    for number, more in enumerate(("", "    tried = 1\n")):
        (tmp_path / f"own_{number}.py").write_text(source + more)
        point = EntryPoint("Own", f"own_{number}:Own", "bitreplay.learners")
        monkeypatch.setitem(vars(LEARNERS), "_brought", {"Own": point})
        versions.append(Specification.parse("Own").version)
    assert versions[0] != versions[1]
    assert all(version.startswith(Specification.parse("NearestMean").version + ", ") for version in versions)
    assert Specification.parse("NearestMean").version == "1"
