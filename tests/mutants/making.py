"""Mutants of a source file: mutmut says what can be changed in it, and the changed function replaces the one that runs.

mutmut by itself copies the sources and calls each function through one of its own. To give a function other code, in a
process of its own, needs neither, and a process that was forked has nothing to import. Not mutated are functions that
numba compiles (`_kernels/plain.py` has them in a readable form), defaults of parameters, what stands outside of
functions, text, and what an error says. Left out are also the changes after which Python itself would complain: no
value (None) in an assignment or a call, and calls without one of their positional arguments; and arguments that only
make a check (zip's `strict`) or save time.
"""

from __future__ import annotations

import ast
import gc
import inspect
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType

import libcst
from libcst.metadata import MetadataWrapper
from mutmut.mutation.file_mutation import MutationVisitor
from mutmut.mutation.mutators import mutation_operators, operator_arg_removal, operator_assignment, operator_string
from mutmut.mutation.pragma_handling import IgnoredCode

IDLE = {"strict", "check_finite", "overwrite_a", "copy"}  # arguments without which results are the same


class _Visitor(MutationVisitor):
    """Also looks into properties, which mutmut must leave alone, but not into errors and defaults."""

    def _skip_node_and_children(self, node: libcst.CSTNode) -> bool:
        if isinstance(node, libcst.FunctionDef):
            return False
        idle = isinstance(node, libcst.Arg) and not _names([node]).isdisjoint(IDLE)
        return idle or isinstance(node, (libcst.Raise, libcst.Param)) or bool(super()._skip_node_and_children(node))


def _without_keyword(call: libcst.Call) -> Iterator[libcst.Call]:
    """The call with the default of each argument that it names."""
    for changed in operator_arg_removal(call):
        if _names(call.args) - _names(changed.args) - IDLE:
            yield changed


def _names(arguments: Sequence[libcst.Arg]) -> set[str]:
    return {argument.keyword.value for argument in arguments if argument.keyword}


_OPERATORS = [
    (kind, _without_keyword if operator is operator_arg_removal else operator)
    for kind, operator in mutation_operators
    if operator not in (operator_string, operator_assignment)
]


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    path: Path
    source: str  # all of the file, changed
    name: str  # the lines before and after the change: how `equivalent.txt` calls it
    lines: range  # of the statement that was changed, without the statements in it

    def enter(self, functions: list[FunctionType]) -> None:
        """Give those of these functions that the file defines the mutant's code."""
        old, new = (_codes(source, self.path) for source in (self.path.read_text(), self.source))
        position = {(code.co_qualname, code.co_firstlineno): i for i, code in enumerate(old)}
        for function in functions:
            code = function.__code__
            if code.co_filename == str(self.path) and (code.co_qualname, code.co_firstlineno) in position:
                function.__code__ = new[position[code.co_qualname, code.co_firstlineno]]


class File:
    """A source file and what mutmut would change in its functions."""

    def __init__(self, path: Path) -> None:
        self.path, self.source = path, path.read_text()
        wrapped = MetadataWrapper(libcst.parse_module(self.source))
        visitor = _Visitor(_OPERATORS, IgnoredCode(set(), set(), set()))
        self._module = wrapped.visit(visitor)
        self._changes = [
            change
            for change in visitor.mutations
            if isinstance(change.contained_by_top_level_function, libcst.FunctionDef)
        ]

    def texts(self) -> list[str]:
        """What tells each change from all others, wherever it stands: function, old and new text, the how manieth."""
        found, seen = [], Counter[str]()
        for change in self._changes:
            old, new = (self._module.code_for_node(node) for node in (change.original_node, change.mutated_node))
            function = change.contained_by_top_level_function.name.value
            text = f"{self.path.parent.name}/{self.path.name} {function}: {old} -> {new}"
            seen[text] += 1
            found.append(f"{text} {seen[text]}")
        return found

    def __getitem__(self, number: int) -> Mutant:
        change = self._changes[number]
        changed = self._module.deep_replace(change.original_node, change.mutated_node)
        source = str(changed.code)  # type: ignore[union-attr]
        old, new = self.source.splitlines(), source.splitlines()
        first = _common(old, new)
        last = _common(old[first + 1 :][::-1], new[first + 1 :][::-1])
        before, after = (" ".join(line.strip() for line in lines[first : len(lines) - last]) for lines in (old, new))
        name = f"{self.path.parent.name}/{self.path.name}: {before} -> {after}"
        return Mutant(self.path, source, name, _statement(self.source, first + 1))


def functions_of(folder: Path) -> list[FunctionType]:
    """All functions that modules and classes of this folder have defined in this process."""
    return [f for f in gc.get_objects() if type(f) is FunctionType and f.__code__.co_filename.startswith(str(folder))]


def _codes(source: str, path: Path) -> list[CodeType]:
    """Of the functions of a file and of its classes, in their order."""
    found, within = [], [compile(source, str(path), "exec", dont_inherit=True)]
    while within:
        for code in within.pop().co_consts:
            if isinstance(code, CodeType):
                (found if code.co_flags & inspect.CO_OPTIMIZED else within).append(code)
    return found


def _common(one: list[str], other: list[str]) -> int:
    """How many of the first lines are the same."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _statement(source: str, line: int) -> range:
    """The lines of the innermost statement at a line, without those of statements in it."""
    found = range(0)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt):
            inner = getattr(node, "body", None)
            end = max(node.lineno, inner[0].lineno - 1) if inner else node.end_lineno or node.lineno
            if node.lineno <= line <= end and node.lineno >= found.start:
                found = range(node.lineno, end + 1)
    return found
