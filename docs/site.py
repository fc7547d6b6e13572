"""Builds the documentation site from docs/, the README and the other pages at the root: `make docs`.

Pages are written to be read in the repository too, so their links are those of the repository. Here they are copied
into one folder, links are changed to match, and the API's page is made from the packages' `__all__`.
"""

from __future__ import annotations

import base64
import importlib
import json
import logging
import re
import shutil
import sys
import tempfile
from pathlib import Path

from mkdocs.commands.build import build
from mkdocs.config import load_config

ROOT = Path(__file__).parent.parent
ROOT_PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
ROOT_PAGES |= {"REPRODUCIBILITY.md": "reproducibility.md", "examples/own_learner/README.md": "own_learner.md"}
NOTEBOOK = "examples/bitreplay.ipynb"
PACKAGES = (
    "",
    "binarizers",
    "bits",
    "memory",
    "mixture",
    "heads",
    "gbm",
    "images",
    "device",
    "exports",
    "classifier",
    "nn",
    "errors",
    "service",
    "data",
)
PACKAGES += ("backbones", "training", "encoder", "learners", "evaluation", "metrics", "report", "testing")
OTHER_SITE = re.compile(r"https://[^\"' ]*/iframe-worker/shim")  # a script that mkdocs-material's offline plugin names
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)]*)?\))")


def main() -> None:
    """Build the site into the folder given, or site/."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    with tempfile.TemporaryDirectory() as folder:
        pages = Path(folder)
        write_pages(pages)
        config = load_config(str(ROOT / "mkdocs.yml"), docs_dir=str(pages), site_dir=str(site.resolve()))
        build(config)
    without_other_sites(site)
    print(f"site: {site / 'index.html'}")


def without_other_sites(site: Path) -> None:
    """Let pages load a script of ours where mkdocs-material's offline plugin names another site's."""
    for page in site.rglob("*.html"):
        text = OTHER_SITE.sub("worker.js", page.read_text())
        if found := re.search(r"<(?:script|img|iframe|link rel=\"stylesheet\")[^>]*https?://[^>]*>", text):
            sys.exit(f"{page} loads something from another site: {found[0]}")
        page.write_text(text)


def write_pages(pages: Path) -> None:
    """Copy all pages and images into one folder."""
    for path in sorted((ROOT / "docs").glob("*.md")):
        (pages / path.name).write_text(relinked(path.read_text(), Path("docs")))
    for name, page in ROOT_PAGES.items():
        (pages / page).write_text(relinked((ROOT / name).read_text(), Path(name).parent))
    shutil.copytree(ROOT / "docs" / "images", pages / "images")
    shutil.copy(ROOT / "CITATION.cff", pages)
    for name in ("site.css", "worker.js"):
        shutil.copy(ROOT / "docs" / name, pages)
    (pages / "results").mkdir()
    for figure in (ROOT / "results").rglob("*.svg"):
        target = pages / figure.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(figure, target)
    (pages / "notebook.md").write_text(relinked(notebook(pages / "images"), Path("examples")))
    (pages / "api.md").write_text(api())


def notebook(images: Path) -> str:
    """The notebook as a page: its text, code, and what is stored of what it shows; pictures go to a folder."""
    parts = []
    for place, cell in enumerate(json.loads((ROOT / NOTEBOOK).read_text())["cells"]):
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for number, output in enumerate(cell.get("outputs", ())):
            if picture := output.get("data", {}).get("image/png"):
                name = f"notebook-{place}-{number}.png"
                (images / name).write_bytes(base64.b64decode(picture))
                parts.append(f"![What the cell shows](../docs/images/{name})")
            elif text := "".join(output.get("text", ())):
                parts.append(f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def relinked(text: str, place: Path) -> str:
    """A page's text with links to files of the repository changed to pages of the site."""

    def change(match: re.Match[str]) -> str:
        target = match[2]
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path = (ROOT / place / target).resolve().relative_to(ROOT)
        name = path.as_posix()
        if name in ROOT_PAGES or f"{name}/README.md" in ROOT_PAGES:
            page = ROOT_PAGES.get(name) or ROOT_PAGES[f"{name}/README.md"]
        elif name == NOTEBOOK:
            page = "notebook.md"
        elif name.startswith("docs/"):
            page = name.removeprefix("docs/")
        elif name.endswith((".svg", ".cff")):
            page = name
        else:  # a file that is only in the repository
            return match[0]
        return f"{match[1]}{page}{match[3]}"

    return LINK.sub(change, text)


def api() -> str:
    """One section for every public name, in the packages' own order."""
    lines, seen = ["# API\n"], set()
    for package in PACKAGES:
        name = f"bitreplay.{package}".rstrip(".")
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        public = [n for n in getattr(module, "__all__", ()) if not n.startswith("__")]
        fresh = [n for n in public if id(getattr(module, n)) not in seen]
        seen |= {id(getattr(module, n)) for n in public}
        if fresh:
            lines.append(f"# `{name}`\n\n{(module.__doc__ or '').strip()}\n")
            lines += [f"::: {name}.{n}\n" for n in fresh]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
