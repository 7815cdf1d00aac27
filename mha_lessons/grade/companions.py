"""Take what an answer may need from the learner's other cells, and nothing that has an effect.

Imports, functions and classes come along, and names for constants, for other names, for lambdas
and partial functions; also inside `if` and `try`. Calls, loops, prints and files do not.
"""

import ast
import re

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
# What an expression may be made of. A subscript or a call may do anything.
PLAIN = (
    *(ast.Constant, ast.Name, ast.Attribute, ast.Tuple, ast.List, ast.Set, ast.Dict),
    *(ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Starred),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context),
)
NAMED = re.compile(r"^\s*(?:def|class)\s+(\w+)|^\s*(\w+)\s*=(?!=)", re.M)


def without_effects(source):
    """Return the sources to run for one of the learner's cells, one for each import.

    An import that fails must not take the rest of its cell along.
    """
    sources = [[]]
    for statement in _kept(_statements(source) or []):
        if isinstance(statement, IMPORTS):
            sources += [[statement], []]
        else:
            sources[-1].append(_forgiving(statement))
    return ["\n".join(map(ast.unparse, statements)) for statements in sources if statements]


def names_in(source):
    """Return every name that a cell defines, whether it comes along or not."""
    statements = _statements(source)
    if statements is None:
        return {name for pair in NAMED.findall(source) for name in pair if name}
    names = set()
    for node in [node for statement in statements for node in ast.walk(statement)]:
        if isinstance(node, DEFINITIONS):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
    return names


def _statements(source):
    """Parse a cell without its magics; return None where it is no Python."""
    lines = [line for line in source.split("\n") if not line.lstrip().startswith(("%", "!"))]
    try:
        return ast.parse("\n".join(lines)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _kept(statements):
    return [kept for kept in map(_without_effects, statements) if kept]


def _without_effects(statement):
    """Return the statement, or what is left of it, or None."""
    if isinstance(statement, (*IMPORTS, *DEFINITIONS)):
        return statement
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        names = all(map(_is_name, targets))
        return statement if names and _is_plain(statement.value) else None
    if isinstance(statement, ast.If) and _is_plain(statement.test):
        statement.body, statement.orelse = _kept(statement.body), _kept(statement.orelse)
    elif isinstance(statement, ast.Try):
        for block in (statement, *statement.handlers):
            block.body = _kept(block.body)
        statement.orelse, statement.finalbody = _kept(statement.orelse), _kept(statement.finalbody)
        for handler in statement.handlers:
            handler.body = handler.body or [ast.Pass()]
    else:
        return None
    if not statement.body and not statement.orelse:
        return None
    statement.body = statement.body or [ast.Pass()]
    return statement


def _is_name(target):
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(map(_is_name, target.elts))
    return isinstance(target, ast.Name)


def _is_plain(expression):
    if isinstance(expression, ast.Lambda):
        return True
    if isinstance(expression, ast.Call):
        called = ast.unparse(expression.func)
        parts = [*expression.args, *(keyword.value for keyword in expression.keywords)]
        return called in ("partial", "functools.partial") and all(map(_is_plain, parts))
    if not isinstance(expression, PLAIN):
        return False
    return all(map(_is_plain, ast.iter_child_nodes(expression)))


def _forgiving(statement):
    """Let a statement fail in silence: it may need a name that did not come along."""
    passing = ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, [ast.Pass()])
    return ast.Try([statement], [passing], [], [])
