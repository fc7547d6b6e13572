"""The report's files: complete, self-contained, well-formed, the same for the same runs."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.image import imread

from bitreplay import metrics
from bitreplay._pages.methods import gather
from bitreplay._pages.words import findings
from bitreplay.errors import InputError
from bitreplay.report import csv_table, markdown_table, write_report
from tests.report.examples import comparison, one_state, run

CONFIGURATION = {
    "dataset": "cifar100",
    "learner": {"prototypes": 8, "em": {"tol": 1e-3}},
    "seeds": [0, 1, 2],
    "command": "bitreplay compare <a> & b",
    "folder": Path("runs"),
    "nothing": {},
}
VOID = {"meta", "br"}


class Page(HTMLParser):
    """Checks that every element is closed in order, and collects what is of interest."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.references, self.tags, self.words = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        values = dict(attributes)
        if "id" in values:
            self.ids.append(values["id"])
        self.references += [values[name] for name in ("src", "href", "xlink:href", "srcset") if name in values]
        self.references += re.findall(r"url\(([^)]*)\)", " ".join(filter(None, values.values())))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag) if tag not in VOID else None

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def runs():
    return comparison(seeds=(0, 1))


@pytest.fixture(scope="module")
def written(runs, tmp_path_factory):
    return write_report(runs, tmp_path_factory.mktemp("report") / "new" / "folder", "Digits <1> & more", CONFIGURATION)


@pytest.fixture(scope="module")
def page(written):
    return Page(written.read_text(encoding="utf-8"))


def test_all_files_are_there_and_nothing_else(written, runs):
    assert written.name == "report.html"
    folder = written.parent
    assert {path.name for path in folder.iterdir()} == {"report.html", "table.md", "table.csv", "states.csv", "plots"}
    whole = {f"{name}.{kind}" for name in ("curves", "stability", "memory") for kind in ("svg", "png")}
    own = {
        f"{name}-{file}.svg" for name in ("tasks", "confusion") for file in ("gbm-k-8", "a-b-c", "finetuning", "joint")
    }
    assert {path.name for path in (folder / "plots").iterdir()} == whole | own
    assert (folder / "table.md").read_text(encoding="utf-8") == markdown_table(runs)
    assert (folder / "table.csv").read_text(encoding="utf-8") == csv_table(runs)
    for path in (folder / "plots").glob("*.svg"):
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
    for path in (folder / "plots").glob("*.png"):
        height, width = imread(path).shape[:2]
        assert width == 1360
        assert height > 400


def test_the_page_needs_nothing_from_elsewhere(page, written):
    assert not {"script", "link", "iframe", "object", "img"} & set(page.tags)
    for reference in page.references:
        assert reference.startswith("data:image/png;base64,") or reference[1:] in page.ids, reference[:80]
    text = written.read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[^\"' <]*", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "@import" not in text
    assert len(text) < 2_000_000


def test_ids_differ_between_figures(page):
    assert page.ids
    assert len(page.ids) == len(set(page.ids))


def test_the_page_follows_light_and_dark_and_the_width(written):
    text = written.read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in text
    assert '<meta name="viewport"' in text
    drawings = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    assert len(drawings) == 3 + 2 * 4
    for drawing in drawings:
        assert "var(--ink)" in drawing
        assert "#222222" not in drawing
        opening = drawing[: drawing.index(">")]
        assert not re.search(r'\b(width|height)="', opening)
        assert "viewBox" in opening
        assert 'role="img"' in opening


def test_the_page_shows_numbers_labels_configuration_and_sentences(page, runs):
    assert "Digits <1> & more" in page.text
    for method in gather(runs):
        assert method.name in page.text
        for history in method.histories:
            assert " ".join(f"{100 * a:.1f}" for a in metrics.per_state(history)) in page.text
    assert "encoder: efficientnet_lite0 pretrained: ImageNet method average final" in page.text  # just above the table
    for said in ("learner.prototypes 8", "learner.em.tol 0.001", "seeds 0, 1, 2", "bitreplay compare <a> & b"):
        assert said in page.text
    for sentence in findings(gather(runs)):
        assert sentence in page.text
    assert "Mean ± standard deviation over 2 seeds (0, 1)." in page.text


def test_the_same_runs_give_the_same_files(tmp_path):
    runs = [run("a", seed, 0.7, sizes=(2, 1)) for seed in (0, 1)]
    first, second = (write_report(runs, tmp_path / name, "t", CONFIGURATION).parent for name in ("1", "2"))
    paths = sorted(path.relative_to(first) for path in first.rglob("*.*"))
    assert len(paths) == 4 + 4 + 2
    for path in paths:
        assert (first / path).read_bytes() == (second / path).read_bytes(), path


def test_different_labels_stand_beside_their_methods(tmp_path):
    runs = [run("a", 0, 0.5, notes={"pretrained": "ImageNet"}, sizes=(2, 1)), run("b", 0, 0.5, notes={}, sizes=(3,))]
    text = Page(write_report(runs, tmp_path, "t", {}).read_text(encoding="utf-8")).text
    assert "a pretrained: ImageNet" in text
    assert "The encoder of some methods was pretrained on ImageNet" in text
    assert "cannot be compared" in text  # other tasks


def test_a_single_task_has_no_curves(tmp_path):
    folder = write_report([one_state("only", 0, 80)], tmp_path, "t", {}).parent
    assert {path.name for path in (folder / "plots").iterdir()} == {"confusion-only.svg"}


def test_sentences_do_not_claim_more_than_is_known():
    several = " ".join(findings(gather(comparison())))
    assert "GBM, K=8 is best" in several
    assert "FineTuning (lower bound" in several
    assert "one seed" not in several
    single = " ".join(findings(gather(comparison(seeds=[0]))))
    assert "is best" not in single
    assert "has the highest average accuracy" in single
    assert "All results rest on one seed" in single
    assert re.search(r"[\d,]+ test samples in the end: an accuracy may be off by \d+\.\d points", single)
    one_seed = [run(name, 0, accuracy) for name, accuracy in (("a", 0.8), ("b", 0.79), ("c", 0.3))]
    assert re.search(r"[ab] is not distinguishable from it on this test set\.", " ".join(findings(gather(one_seed))))
    near = [run(name, seed, 0.8, loss=0.01 + 0.0001 * (name == "a")) for name in "ab" for seed in (0, 1)]
    assert "no other method is distinguishable from it" in " ".join(findings(gather(near)))
    tied = [r for r in near if r.name == "a"] + [run("b", s, 0.8, bits_per_class=10) for s in (0, 1)]
    tied += [run("c", s, 0.3) for s in (0, 1)]
    assert "not distinguishable from it. Of these, b needs the least memory: 90 bit." in " ".join(
        findings(gather(tied))
    )
    assert "pretrained" not in " ".join(findings(gather(comparison(notes={"pretrained": "no"}))))


def test_refusals_come_before_any_file(tmp_path, runs):
    with pytest.raises(InputError, match="at least one run"):
        write_report([], tmp_path / "new", "t", {})
    with pytest.raises(InputError, match="same seed"):
        write_report([runs[0], runs[0]], tmp_path / "new", "t", {})
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="is a file"):
        write_report(runs, tmp_path / "file", "t", {})
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_without_matplotlib_the_extra_is_named(tmp_path, runs, monkeypatch):
    for module in [name for name in sys.modules if name.startswith("bitreplay.report._")]:
        if not module.endswith(("_methods", "_numbers", "_tables", "_words", "_write")):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"a report needs matplotlib: pip install 'bitreplay\[cli\]'"):
        write_report(runs, tmp_path / "new", "t", {})
    assert not (tmp_path / "new").exists()
