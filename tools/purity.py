"""Find the effects that a list of banned names cannot express: files, the console, hash order.

``ruff``'s banned-api (pyproject.toml) keeps clocks, randomness, event loops and the network out of the pure packages.
It adds what has no importable name (``open``, ``input``, ``Path.read_text``), what depends on the interpreter's
hash seed (``hash``, sorting by ``id``, the order of a set), and the comment that would switch the first list off.
Files may be touched only by the modules named in ``MAY_TOUCH_FILES``; nothing else is granted to those.

Usage: ``python tools/purity.py [PATH ...]``; the exit code is 1 when something was found, 2 when a path is missing.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

DEFAULT_PATHS: Final = ("tollgate", "sim")

# Not pure by purpose: the library's drivers, the command and the module that reads the process's own figures.
HAS_EFFECTS: Final = ("tollgate/drivers", "tollgate/server", "tollgate/stores/sql", "sim/cli", "sim/host.py")

# May open files and nothing more: no clock, no randomness, no console.
MAY_TOUCH_FILES: Final = (
    "sim/evidence",  # writes bundles, reads them back, digests the code and the lock
    "sim/manifest/inputs.py",  # reads manifests and binds the files they name
    "sim/workload/traces/lines.py",  # streams recorded traffic
    "sim/workload/traces/to_manifest.py",  # names a trace relative to the manifest it writes
)

FILE_MODULES: Final = frozenset(
    {"fcntl", "fileinput", "glob", "linecache", "mmap", "os", "shelve", "shutil", "sqlite3", "tempfile"}
)
# Methods that reach the file system under whatever name the object has. Names that other objects share (``replace``,
# ``resolve``, ``load``) are left to review.
PATH_METHODS: Final = frozenset(
    {"cwd", "exists", "glob", "home", "is_dir", "is_file", "iterdir", "mkdir", "open", "read_bytes", "read_text"}
    | {"rglob", "rmdir", "stat", "symlink_to", "touch", "unlink", "write_bytes", "write_text"}
)
TABLE_METHODS: Final = frozenset(
    {"fromfile", "genfromtxt", "loadtxt", "memmap", "read_csv", "read_parquet", "savetxt", "savez", "to_csv", "tofile"}
)
FILE_METHODS: Final = PATH_METHODS | TABLE_METHODS
# Not ``logging``: a library may hand a fault to a logger (spec 01 asks it for listeners); where that goes, if anywhere,
# is the host's choice, and nothing comes back.
CONSOLE_MODULES: Final = frozenset({"curses", "getpass"})
CONSOLE_CALLS: Final = frozenset({"breakpoint", "input", "print"})
CONSOLE_STREAMS: Final = frozenset({"stderr", "stdin", "stdout"})
DYNAMIC_CALLS: Final = frozenset({"__import__", "compile", "eval", "exec"})
# ``id`` may key a table of objects that are kept alive (a dict is in order of insertion), but it may order nothing.
ARBITRARY_KEYS: Final = frozenset({"hash", "id"})

SET_TYPES: Final = frozenset({"AbstractSet", "FrozenSet", "MutableSet", "Set", "frozenset", "set"})
SET_METHODS: Final = frozenset({"difference", "intersection", "symmetric_difference", "union"})
SET_OPERATORS: Final = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Sub)
# Calls whose result keeps the order in which their argument was iterated; ``sorted``, ``min``, ``len`` do not.
ORDER_KEEPING: Final = frozenset({"dict", "enumerate", "iter", "list", "map", "next", "reversed", "tuple", "zip"})
# Calls whose result is the same in whatever order a generator feeds them. Not ``sum``: floats do not commute.
ORDER_FREE: Final = frozenset({"all", "any", "frozenset", "len", "max", "min", "set", "sorted"})


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One effect, at the place where it stands."""

    path: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.message}"


def check_source(source: str, path: PurePath) -> list[Finding]:
    """Return what is impure in one module.

    Args:
        source: The module's text.
        path: Its path relative to the repository: it decides what the module may do.

    Returns:
        The findings in order of place; empty for a module that has effects by purpose.

    Raises:
        SyntaxError: If the text is no Python.
    """
    if _is_below(path, HAS_EFFECTS):
        return []
    visitor = _Visitor(path.as_posix(), may_touch_files=_is_below(path, MAY_TOUCH_FILES))
    visitor.visit(ast.parse(source, filename=path.as_posix()))
    return sorted([*visitor.findings, *_silenced_bans(source, path)])


def check_tree(root: Path, start: Path) -> Iterator[Finding]:
    """Yield the findings of one file, or of every module below a folder.

    Args:
        root: The repository: paths are named from here.
        start: The file or folder.
    """
    for file in [start] if start.is_file() else sorted(start.rglob("*.py")):
        yield from check_source(file.read_text(encoding="utf-8"), file.resolve().relative_to(root))


class _Visitor(ast.NodeVisitor):
    """Walks one module; knows the names bound to sets in the function at hand and the attributes bound to sets."""

    def __init__(self, path: str, *, may_touch_files: bool) -> None:
        self.findings: list[Finding] = []
        self._path = path
        self._may_touch_files = may_touch_files
        self._set_names: list[set[str]] = [set()]
        self._set_attributes: set[str] = set()
        self._inside_hash_method = False

    def visit_Module(self, node: ast.Module) -> None:
        # Attributes first: a method may iterate what a later one assigns.
        for child in ast.walk(node):
            for target in self._targets_bound_to_sets(child):
                if isinstance(target, ast.Attribute):
                    self._set_attributes.add(target.attr)
        for statement in node.body:
            if isinstance(statement, ast.ClassDef):
                self._set_attributes.update(_annotated_set_fields(statement))
        self._visit_scope(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._visit_function(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._check_module(alias.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module is not None:
            self._check_module(node.module, node)
        if node.module == "importlib":
            self._add(node, "imports must be visible to the layer check: no importlib")
        if node.module == "sys":
            for alias in node.names:
                self._check_stream(alias.name, node)

    def visit_Call(self, node: ast.Call) -> None:
        match node:
            case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as generator]) if name in ORDER_FREE:
                self._visit_unordered(generator)
                return
        match node.func:
            case ast.Name(id=name):
                self._check_builtin(name, node)
                if name in ORDER_KEEPING:
                    self._check_iterated(node.args)
            case ast.Attribute(attr="join" | "extend" | "fromkeys"):
                self._check_iterated(node.args)
            case ast.Attribute(attr="pop", value=value) if not node.args and self._is_set(value):
                self._add(node, "set.pop takes an arbitrary element: its choice depends on the hash seed")
            case ast.Attribute(attr="import_module"):
                self._add(node, "imports must be visible to the layer check: no importlib")
            case ast.Attribute(attr=name) if name in FILE_METHODS and not self._may_touch_files:
                self._add(node, f"no file I/O in pure code: .{name}()")
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name) and node.value.id == "sys":
            self._check_stream(node.attr, node)
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg == "key" and isinstance(node.value, ast.Name) and node.value.id in ARBITRARY_KEYS:
            self._add(node.value, f"an order by {node.value.id} differs between two runs of the same input")
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        self._check_iterated([node.iter])
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._check_iterated([node.iter])
        self.generic_visit(node)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self._visit_unordered(node)

    def visit_Starred(self, node: ast.Starred) -> None:
        self._check_iterated([node.value])
        self.generic_visit(node)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        outer = self._inside_hash_method
        self._inside_hash_method = node.name == "__hash__"
        self._set_names.append(set())
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        self._set_names[-1].update(a.arg for a in arguments if a.annotation and _is_set_type(a.annotation))
        self._visit_scope(node)
        self._set_names.pop()
        self._inside_hash_method = outer

    def _visit_unordered(self, node: ast.GeneratorExp | ast.SetComp) -> None:
        # Its result has no order to leak, so its generators may run over sets; their parts are still looked at.
        self.visit(node.elt)
        for generator in node.generators:
            self.generic_visit(generator)

    def _visit_scope(self, node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for child in _own_nodes(node):
            for target in self._targets_bound_to_sets(child):
                if isinstance(target, ast.Name):
                    self._set_names[-1].add(target.id)
        self.generic_visit(node)

    def _targets_bound_to_sets(self, node: ast.AST) -> list[ast.expr]:
        match node:
            case ast.AnnAssign(target=target, annotation=annotation) if _is_set_type(annotation):
                return [target]
            case ast.Assign(targets=targets, value=value) if self._is_set(value):
                return targets
            case _:
                return []

    def _is_set(self, node: ast.expr) -> bool:
        match node:
            case ast.Set() | ast.SetComp():
                return True
            case ast.Name(id=name):
                return any(name in names for names in self._set_names)
            case ast.Attribute(attr=name):
                return name in self._set_attributes
            case ast.Call(func=ast.Name(id="set" | "frozenset")):
                return True
            case ast.Call(func=ast.Attribute(value=value, attr=name)):
                return name in SET_METHODS and self._is_set(value)
            case ast.BinOp(left=left, op=op, right=right):
                return isinstance(op, SET_OPERATORS) and any(self._is_set(s) or _is_keys_view(s) for s in (left, right))
            case _:
                return False

    def _check_module(self, module: str, node: ast.stmt) -> None:
        root = module.split(".", 1)[0]
        if root in FILE_MODULES and not self._may_touch_files:
            self._add(node, f"no file I/O in pure code: import {root}")
        if root in CONSOLE_MODULES:
            self._add(node, f"no console in pure code: import {root}")

    def _check_builtin(self, name: str, node: ast.Call) -> None:
        if name == "open" and not self._may_touch_files:
            self._add(node, "no file I/O in pure code: open()")
        elif name in CONSOLE_CALLS:
            self._add(node, f"no console in pure code: {name}()")
        elif name in DYNAMIC_CALLS:
            self._add(node, f"code must be visible to the checks: no {name}()")
        elif name == "hash" and not self._inside_hash_method:
            self._add(node, "hash() differs between two runs of the same input")

    def _check_stream(self, name: str, node: ast.AST) -> None:
        if name in CONSOLE_STREAMS:
            self._add(node, f"no console in pure code: sys.{name}")

    def _check_iterated(self, nodes: list[ast.expr]) -> None:
        for node in nodes:
            if self._is_set(node):
                self._add(node, "the order of a set depends on the hash seed: iterate sorted(...) or a dict")

    def _add(self, node: ast.AST, message: str) -> None:
        line: int = getattr(node, "lineno", 1)
        column: int = getattr(node, "col_offset", 0) + 1
        self.findings.append(Finding(self._path, line, column, message))


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in a scope but not in the functions and classes inside it: those have names of their own."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield child
            yield from _own_nodes(child)


def _is_below(path: PurePath, roots: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


def _is_set_type(annotation: ast.expr) -> bool:
    match annotation:
        case ast.Subscript(value=value):
            return _is_set_type(value)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in SET_TYPES
        case ast.Constant(value=str(text)):
            return text.split("[", 1)[0].rsplit(".", 1)[-1] in SET_TYPES
        case _:
            return False


def _is_keys_view(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"keys", "items"}


def _annotated_set_fields(node: ast.ClassDef) -> set[str]:
    return {
        statement.target.id
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and _is_set_type(statement.annotation)
    }


def _silenced_bans(source: str, path: PurePath) -> Iterator[Finding]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and "noqa" in token.string and "TID251" in token.string:
            yield Finding(
                path.as_posix(), token.start[0], token.start[1] + 1, "a ban is lifted for a path, never for a line"
            )


def main(arguments: list[str]) -> int:
    """Check the given paths (by default the shipped packages) and return the exit code."""
    root = Path.cwd()
    starts = [Path(argument) for argument in arguments or DEFAULT_PATHS]
    missing = [start for start in starts if not start.exists()]
    if missing:
        print(f"purity: no such file or folder: {', '.join(map(str, missing))}", file=sys.stderr)
        return 2
    findings = [finding for start in starts for finding in check_tree(root, start)]
    print(*findings, sep="\n", end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
