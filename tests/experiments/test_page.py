"""The page of experiments: it needs nothing else, reads on a phone, and says everything with a verdict."""

import re
from html.parser import HTMLParser

import pytest

from bitreplay.experiments import Measured, Request, write_outcome
from bitreplay.experiments._page import MANY, experiments_page
from tests.experiments.outcomes import an_experiment, outcome, table

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(HTMLParser):
    """Elements of a page with their attributes, and its text; refuses elements that do not close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data

    def named(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> list[Measured]:
    many = table([[f"row {i}", i, i / 100, i, float(i)] for i in range(MANY + 1)], "many")
    parts = {"table-8": {}, "table-9": {"tables": [table(), many]}}
    request = Request("cpu", tmp_path_factory.mktemp("runs"))
    return [
        write_outcome(
            tmp_path_factory.mktemp(name), name, an_experiment(f"Title of {name}"), outcome(**own), request, 75.0
        )
        for name, own in parts.items()
    ]


@pytest.fixture(scope="module")
def text(measured) -> str:
    return experiments_page(measured, "All & more", {"table-5": "needs <data>"})


def test_it_needs_nothing_else(text):
    page = Page(text)
    assert not {"script", "link", "iframe", "img", "object"} & {tag for tag, _ in page.elements}
    addresses = [v for _, own in page.elements for k, v in own.items() if k in ("src", "href", "xlink:href", "data")]
    assert addresses  # markers of the figures, and the names in the overview
    assert all(address.startswith(("#", "data:image/")) for address in addresses)
    assert not re.search(r"@import|url\((?!#)", text)
    namespaces = re.sub(r'xmlns(:xlink)?="http://www\.w3\.org/[^"]+"', "", text)
    assert "http" not in namespaces


def test_ids_are_unique_and_what_is_referred_to_is_there(text):
    ids = [own["id"] for _, own in Page(text).elements if "id" in own]
    assert len(ids) == len(set(ids))
    assert {"table-8", "table-9"} <= set(ids)
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', text)) <= set(ids)


def test_it_reads_on_a_phone(text):
    page = Page(text)
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.named("meta")
    assert all("width" not in own for own in page.named("svg"))  # as wide as the page
    # Whatever is wide scrolls by itself: the page does not.
    assert len(re.findall(r'<div class="scroll"><(?:table|svg)', text)) == len(page.named("table")) + len(
        page.named("svg")
    )


def test_all_claims_have_a_verdict_twice_and_alone_once(measured, text):
    words = ("holds", "does not hold", "inconclusive")
    for page, times in ((text, 2 * len(measured)), (experiments_page(measured[:1], "One"), 1)):
        assert [len(re.findall(f'<span class="label( yes| no)?">{word}</span>', page)) for word in words] == [times] * 3


def test_everything_said_is_on_it(measured, text):
    page = Page(text)
    for one in measured:
        said = [one.title, one.shows, one.command, one.machine, one.date, "75 s", *one.remarks, *one.drawings.values()]
        said += [part for claim in one.claims for part in (claim.paper, claim.measured)]
        said += [cell for table in one.tables for row in table.shown() for cell in row]
        assert [words for words in said if words not in page.text] == []
    assert "All & more" in page.text
    assert "needs <data>" in page.text
    assert [own["aria-label"] for own in page.named("svg")] == ['What "rises" < what falls'] * 2


def test_long_tables_fold(text):
    assert len(Page(text).named("details")) == 1
    folded = text[text.index("<details>") : text.index("</details>")]
    assert f"row {MANY}" in folded
    assert "66.3" not in folded


def test_nothing_is_missing(measured):
    assert "Not measured" not in experiments_page(measured, "All")
    assert "Not measured" not in experiments_page(measured, "All", {})
