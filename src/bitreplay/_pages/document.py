"""A whole HTML file: no script, nothing loaded from anywhere, light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

STYLE = Path(__file__).with_name("page.css")


def document(title: str, parts: Sequence[str]) -> str:
    """A whole HTML file around the elements of a page."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>
{STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<main>
{chr(10).join(parts)}
</main>
</body>
</html>
"""
