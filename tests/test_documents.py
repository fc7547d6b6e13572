"""The code of the pages that have no test of their own runs, and prints what the page says."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
ELSEWHERE = {"binary.md", "data.md", "device.md", "format.md"}  # tests beside those of their packages
PAGES = [path for path in sorted(DOCS.glob("*.md")) if path.name not in ELSEWHERE and BLOCK.search(path.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(page.read_text())
    text = "\n".join(block for block in blocks if ">>>" in block)
    found = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    output: list[str] = []
    runner.run(found, out=output.append)
    assert not runner.failures, "".join(output)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_cannot_run_without_data_imports_what_exists(page):
    for block in BLOCK.findall(page.read_text()):
        if ">>>" in block:
            continue
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module:
                module = importlib.import_module(node.module)
                assert all(hasattr(module, alias.name) for alias in node.names)


def test_every_link_leads_somewhere():
    root = DOCS.parent
    for page in [*DOCS.glob("*.md"), *root.glob("*.md"), *root.glob("examples/*/*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target and not target.startswith("mailto:"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"
