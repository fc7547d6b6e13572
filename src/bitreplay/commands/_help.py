"""Help that reads well: what an option is for and what it is without it, as people would write it down."""

from __future__ import annotations

import argparse
import inspect
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jsonargparse import DefaultHelpFormatter

from bitreplay.commands._words import is_list, type_of
from bitreplay.runs import Specification

__all__ = ["Help", "description_of", "learner_help"]

PRINT_CONFIG = "--print_config"
NOT_TYPED = ("seed", "em")  # the one is an option of the command, the other an object of Python


class Help(DefaultHelpFormatter):
    """jsonargparse's help without its types and brackets, and with paragraphs."""

    def add_usage(self, usage: str | None, actions: Iterable[argparse.Action], *arguments: Any, **more: Any) -> None:
        """The command, what it needs, and that there are options; the list below names them."""
        needed = [
            "COMMAND" if isinstance(action, argparse._SubParsersAction) else self._format_action_invocation(action)
            for action in actions
            if not action.option_strings
        ]
        words = [self._prog.replace(" [options]", ""), *needed, "[options]"]
        super().add_usage(" ".join(words), actions, *arguments, **more)

    def _format_action(self, action: argparse.Action) -> str:
        if isinstance(action, argparse._SubParsersAction):  # its own line would be empty
            return "".join(self._format_action(command) for command in self._iter_indented_subactions(action))
        return super()._format_action(action)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.split("\n\n")
        return "\n\n".join(textwrap.fill(paragraph, width, initial_indent=indent) for paragraph in paragraphs)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if isinstance(action, argparse._SubParsersAction._ChoicesPseudoAction):
            return str(action.dest)
        kind = type_of(action)
        name = action.dest.rpartition(".")[2].upper()
        if not action.option_strings:
            return f"{name} ..." if is_list(kind) else name
        option = ", ".join(option for option in action.option_strings if not option.endswith("+"))
        if kind is bool or action.nargs == 0 or PRINT_CONFIG in action.option_strings:
            return option
        return f"{option} {action.metavar or name}" + (" ..." if is_list(kind) else "")

    def _get_help_string(self, action: argparse.Action) -> str:
        if isinstance(action, argparse._HelpAction):
            return "Show this help and exit."
        if PRINT_CONFIG in action.option_strings:
            return "Print all options as a file for --config, and exit."
        text = (action.help or "").replace("`", "")
        default = action.default
        if not isinstance(default, str | int | float | Path) or isinstance(default, bool) or type_of(action) is None:
            return text
        return f"{text} (default: {default})"


def description_of(function: Any) -> str:
    """What the docstring of a function or class says before its parameters."""
    text = inspect.getdoc(function) or ""
    return text.partition("\n\nParameters\n")[0].replace("`", "")


def learner_help(name: str) -> str:
    """The options of a learner, for `--learner.help NAME`: what its docstring says of them, with the defaults."""
    kind = type(Specification.parse(name).make(0))
    defaults = {option: str(one.default) for option, one in inspect.signature(kind).parameters.items()}
    section = (inspect.getdoc(kind) or "").partition("\n\nParameters\n")[2].partition("\n\n")[0]
    lines = [
        f"Options of {kind.__name__}, such as --learner.{next(iter(defaults))} VALUE",
        "",
        description_of(kind),
        "",
    ]
    shown = True
    for line in section.splitlines()[1:]:
        if not line.startswith(" "):  # "p, f : int"
            options = line.partition(" : ")[0].split(", ")
            shown = not set(options) & {*NOT_TYPED}
            line = f"{line} (default: {', '.join(defaults[option] for option in options)})"
        lines += [f"  {line}".replace("`", "")] * shown
    return "\n".join(lines) + "\n"
