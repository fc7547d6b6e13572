"""A classifier through a file: the same predictions, also when learning goes on in a new process."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits

from bitreplay import BinaryMemory, EMOptions, GBMClassifier, Heaviside, Thermometer
from bitreplay.errors import FileFormatError, InputError
from bitreplay.heads import Bayes, ClosedForm, Replay

X, Y = load_digits(return_X_y=True)


def rows(*labels):
    chosen = np.isin(Y, labels)
    return X[chosen], Y[chosen]


@pytest.mark.parametrize(
    "options",
    [
        {"p": 4, "em": EMOptions(n_init=2)},
        {"head": "bayes", "bits": 32},
        {"head": "replay"},
        {"head": Replay(hidden=(20,), epochs=2)},
        {"binarizer": Heaviside(64, f=2, generator=torch.Generator().manual_seed(0))},
        {"reject": 0.8, "encoder_name": "pixels", "unknown": 99},
        {"p": 4, "refuse": 0.1, "refuse_by": "both"},
    ],
    ids=["closed_form", "bayes", "replay", "mlp", "heaviside", "reject", "refuse"],
)
@pytest.mark.filterwarnings("ignore:reject is deprecated")
def test_learning_goes_on_after_a_reload_as_without(tmp_path, options):
    clf = GBMClassifier(random_state=0, **options).partial_fit(*rows(0, 1)).partial_fit(*rows(2, 3))
    clf.save(tmp_path / "clf.safetensors")
    loaded = GBMClassifier.load(tmp_path / "clf.safetensors")
    assert np.array_equal(loaded.predict(X), clf.predict(X))
    clf.partial_fit(*rows(4, 5))
    loaded.partial_fit(*rows(4, 5))
    assert np.array_equal(loaded.predict(X), clf.predict(X))
    assert np.allclose(loaded.predict_proba(X), clf.predict_proba(X), atol=1e-5)
    assert loaded.memory_.fingerprint == clf.memory_.fingerprint


def test_learning_goes_on_in_a_new_process(tmp_path):
    clf = GBMClassifier(p=4, random_state=0).partial_fit(*rows(0, 1)).partial_fit(*rows(2, 3))
    clf.save(tmp_path / "clf.safetensors")
    script = (
        "import sys, numpy as np\n"
        "from sklearn.datasets import load_digits\n"
        "from bitreplay import GBMClassifier\n"
        "X, y = load_digits(return_X_y=True)\n"
        "clf = GBMClassifier.load(sys.argv[1] + '/clf.safetensors')\n"
        "clf.partial_fit(X[(y == 4) | (y == 5)], y[(y == 4) | (y == 5)])\n"
        "np.save(sys.argv[1] + '/answers.npy', clf.predict(X))\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    assert np.array_equal(np.load(tmp_path / "answers.npy"), clf.partial_fit(*rows(4, 5)).predict(X))


def test_feature_names_options_and_the_memory_inside_survive(tmp_path):
    pd = pytest.importorskip("pandas")

    frame = pd.DataFrame(X[:, :5], columns=[f"pixel {i}" for i in range(5)])
    clf = GBMClassifier(prototypes=4, bits=5, p=2, random_state=1).fit(frame, Y.astype(str))
    clf.save(tmp_path / "clf.safetensors")
    loaded = GBMClassifier.load(tmp_path / "clf.safetensors")
    assert loaded.feature_names_in_.tolist() == list(frame.columns)
    assert (loaded.prototypes, loaded.bits, loaded.p, loaded.random_state) == (4, 5, 2, 1)
    assert loaded.classes_.tolist() == clf.classes_.tolist()
    assert BinaryMemory.load(tmp_path / "clf.safetensors").labels == clf.memory_.labels


@pytest.mark.parametrize("head", ["closed_form", "bayes", "replay"])
def test_nothing_of_a_forgotten_class_is_in_the_file(tmp_path, head):
    y = np.where(Y == 3, "secretary", "class " + Y.astype(str).astype(object)).astype(str)
    clf = GBMClassifier(head=head, bits=8, random_state=0).fit(X, y)
    clf.save(tmp_path / "before.safetensors")
    codes = clf.memory_._table.codes[clf.memory_._table.rows(clf.memory_.labels.index("secretary"))]
    planes = [plane.tobytes() for prototype in codes for plane in prototype]
    clf.forget("secretary").save(tmp_path / "after.safetensors")
    before, after = (tmp_path / "before.safetensors").read_bytes(), (tmp_path / "after.safetensors").read_bytes()
    assert b"secretary" in before
    assert any(plane in before for plane in planes)  # D = 64: planes are whole bytes in the file
    assert b"secretary" not in after
    assert not any(plane in after for plane in planes if len(set(plane)) > 4)


def test_own_module_must_be_given_again(tmp_path):
    def module(n_inputs, n_classes):
        return torch.nn.Linear(n_inputs, n_classes, bias=False)

    head = Replay(module=module, epochs=1)
    clf = GBMClassifier(head=head, random_state=0).fit(X, Y)
    clf.save(tmp_path / "clf.safetensors")
    with pytest.raises(InputError, match="module"):
        GBMClassifier.load(tmp_path / "clf.safetensors")
    assert np.array_equal(GBMClassifier.load(tmp_path / "clf.safetensors", head=head).predict(X), clf.predict(X))


def test_a_memory_file_is_not_a_classifier(tmp_path):
    GBMClassifier().fit(X, Y).memory_.save(tmp_path / "memory.safetensors")
    with pytest.raises(FileFormatError, match="memory only"):
        GBMClassifier.load(tmp_path / "memory.safetensors")


def test_a_memory_beside_other_thresholds_is_refused(tmp_path):
    clf, other = (GBMClassifier(random_state=0).fit(scale * X, Y) for scale in (1, 2))
    state = replace(clf._fitted.state, binarizer=other.binarizer_)
    clf._fitted = clf._fitted.with_state(state)
    clf.save(tmp_path / "clf.safetensors")
    with pytest.raises(FileFormatError, match="thresholds that differ"):
        GBMClassifier.load(tmp_path / "clf.safetensors")


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "clf.safetensors"
    clf = GBMClassifier(head="replay", random_state=0).fit(X[:200], Y[:200])
    clf.save(path)
    raw, answers = path.read_bytes(), clf.predict(X)
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(raw)
        damaged[rng.integers(len(raw))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            loaded = GBMClassifier.load(path)
        except FileFormatError:
            continue
        assert np.array_equal(loaded.predict(X), answers)


def test_a_loaded_classifier_calibrates_anew_when_fitted_anew(tmp_path):
    clf = GBMClassifier(p=2, random_state=0).fit(X, Y)
    clf.save(tmp_path / "clf.safetensors")
    loaded = GBMClassifier.load(tmp_path / "clf.safetensors")
    assert np.array_equal(loaded.fit(10 * X - 5, Y).predict(10 * X - 5), clf.fit(10 * X - 5, Y).predict(10 * X - 5))


@pytest.mark.parametrize("target", ["", "missing/clf.safetensors"])
def test_a_place_that_cannot_be_written_is_named(tmp_path, target):
    clf = GBMClassifier().fit(X, Y)
    with pytest.raises(OSError, match="cannot write"):
        clf.save(tmp_path / target)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"head": ClosedForm(prior="empirical")},
        {"head": Bayes(strength=1)},
        {"binarizer": Thermometer(2, calibrated=True)},
    ],
    ids=["by name", "empirical", "bayes", "thermometer"],
)
def test_after_a_reload_fit_begins_as_it_did_before(tmp_path, options):
    clf = GBMClassifier(random_state=0, **options).fit(X, Y)
    clf.save(tmp_path / "clf.safetensors")
    loaded = clone(GBMClassifier.load(tmp_path / "clf.safetensors"))
    few = Y < 3
    expected = clone(clf).fit(100 * X[few], Y[few]).predict_proba(100 * X)
    assert np.array_equal(loaded.fit(100 * X[few], Y[few]).predict_proba(100 * X), expected)


@pytest.mark.parametrize(
    "options",
    [
        {"em": EMOptions(n_init=np.int64(2))},
        {"head": ClosedForm(blend=np.float32(0.8), ridge=np.int64(1))},
        {"head": Bayes(clamp=np.float32(0.1))},
        {"head": Replay(hidden=(np.int64(4),), epochs=np.int64(1))},
        {"binarizer": Thermometer(np.int64(2), calibrated=np.True_)},
    ],
    ids=["em", "closed_form", "bayes", "replay", "thermometer"],
)
def test_numbers_of_a_parameter_grid_can_be_saved(tmp_path, options):
    clf = GBMClassifier(random_state=0, **options).fit(X, Y)
    clf.save(tmp_path / "clf.safetensors")
    assert np.array_equal(GBMClassifier.load(tmp_path / "clf.safetensors").predict_proba(X), clf.predict_proba(X))


class Above(Thermometer):
    """A binarizer that a file cannot describe."""


@pytest.mark.parametrize("change", [{"n_jobs": 0}, {"p": 0}, {"refuse": 2}, {"binarizer": Above(2, calibrated=True)}])
def test_what_could_not_be_read_again_does_not_replace_a_file(tmp_path, change):
    path = tmp_path / "clf.safetensors"
    clf = GBMClassifier(random_state=0).fit(*rows(0, 1))
    clf.save(path)
    before = path.read_bytes()
    if "binarizer" in change:
        clf = GBMClassifier(**change).fit(*rows(0, 1))
    else:
        clf.set_params(**change)
    with pytest.raises(InputError):
        clf.save(path)
    assert path.read_bytes() == before


def test_a_file_keeps_the_name_of_the_encoder_that_made_its_bits(tmp_path):
    clf = GBMClassifier(encoder_name="pixels").fit(*rows(0, 1)).set_params(encoder_name="other")
    clf.save(tmp_path / "clf.safetensors")
    assert GBMClassifier.load(tmp_path / "clf.safetensors").encoder_name == "pixels"


@pytest.mark.parametrize("head", ["bayes", Replay()])
def test_a_head_of_another_kind_is_the_callers_mistake(tmp_path, head):
    GBMClassifier().fit(*rows(0, 1)).save(tmp_path / "clf.safetensors")
    with pytest.raises(InputError, match="has a head of kind closed_form") as raised:
        GBMClassifier.load(tmp_path / "clf.safetensors", head=head)
    assert not isinstance(raised.value, FileFormatError)
