"""Learners by name: ours and those that other packages bring, none of which can take a name of ours."""

from importlib.metadata import EntryPoint

import pytest

from bitreplay.errors import InputError
from bitreplay.learners import GBM, LEARNERS
from bitreplay.learners import _registry as registry

GROUP = "bitreplay.learners"


@pytest.fixture
def brought(monkeypatch):
    points = [
        EntryPoint("Theirs", "bitreplay.learners.frozen._nearest_mean:NearestMean", GROUP),
        EntryPoint("GBM", "bitreplay.learners.frozen._nearest_mean:NearestMean", GROUP),
        EntryPoint("Nothing", "math:pi", GROUP),
        EntryPoint("Broken", "math:no_such_thing", GROUP),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == GROUP else [])
    return registry.Registry()


def test_ours_are_all_there_under_their_own_names():
    assert all(LEARNERS[name].name == name for name in registry.OURS)
    assert set(registry.OURS) <= set(LEARNERS)
    assert set(LEARNERS.on_frozen_encoders()) == {
        name for name, where in registry.OURS.items() if where.startswith("frozen.")
    } | {name for name in LEARNERS if name not in registry.OURS and LEARNERS[name]().uses}


def test_what_others_bring_comes_last_and_cannot_take_a_name_of_ours(brought):
    with pytest.warns(UserWarning, match="'GBM' of bitreplay.learners.frozen.* has the name of one of ours"):
        assert list(brought)[-3:] == ["Theirs", "Nothing", "Broken"]
    assert len(brought) == len(list(brought))
    assert brought["GBM"] is GBM
    assert brought["Theirs"].name == "NearestMean"


@pytest.mark.filterwarnings("ignore:the learner 'GBM'", "ignore:left out. the entry point")
def test_what_others_did_wrong_stops_nobody_else(brought):
    with pytest.warns(UserWarning, match="left out: the learner 'Broken' cannot be imported from math:no_such_thing"):
        assert brought.on_frozen_encoders()[-1] == "Theirs"
    with pytest.raises(InputError, match="'Broken' cannot be imported"):
        brought["Broken"]


@pytest.mark.filterwarnings("ignore:the learner 'GBM'")
def test_what_is_no_learner_is_refused_when_it_is_asked_for(brought):
    with pytest.raises(InputError, match=r"'Nothing'.* must name a FrozenMethod or a Learner"):
        brought["Nothing"]
    with pytest.raises(KeyError):
        brought["Nobody"]
