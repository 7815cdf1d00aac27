"""What an answer may import from the library: what its exercise hands out, and no more.

The exercise's own cells import first. After them the library is closed: in its place stand modules
that hold what was handed out. A function that was handed out still has all that it needs.
"""

import ast
import sys
import types

LIBRARY = "mha_lessons"


def _within(name, package):
    return f"{name}.".startswith(f"{package}.")


def _refused(name):
    return ImportError(
        f"an answer cannot import {name}: of {LIBRARY}, only what the exercise itself imports is "
        "handed out"
    )


class _StandIn(types.ModuleType):
    """Stand for a module of the library, and hold what was handed out of it."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise _refused(f"{self.__name__}.{name}")


class HandedOut:
    """The library as an answer sees it; also the importer that refuses the rest of it."""

    def __init__(self):
        self.names, self.closed, self.behind = set(), False, {}

    def find_spec(self, name, path=None, target=None):
        """Refuse to import the grader, which solves the exercises, and what is not handed out."""
        if _within(name, f"{LIBRARY}.grade"):
            raise ImportError(f"{LIBRARY}.grade cannot be imported by an answer")
        if self.closed and _within(name, LIBRARY):
            raise _refused(name)

    def add(self, source):
        """Hand out what a cell of the exercise imports from the library."""
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and _within(node.module, LIBRARY):
                self.names |= {(node.module, alias.name) for alias in node.names}

    def close(self):
        """Put modules that hold only what was handed out in place of the library's."""
        if self.closed:
            return
        self.closed = True
        self.behind = {
            name: sys.modules.pop(name) for name in [*sys.modules] if _within(name, LIBRARY)
        }
        self._stand_in(LIBRARY)
        for module, name in self.names:
            if module in self.behind:
                setattr(self._stand_in(module), name, getattr(self.behind[module], name))

    def _stand_in(self, name):
        if name not in sys.modules:
            module = sys.modules[name] = _StandIn(name)
            module.__path__ = []
            module.__spec__ = getattr(self.behind.get(name), "__spec__", None)
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(self._stand_in(parent), child, module)
        return sys.modules[name]
