"""What became of a cell, in words: the same whether nbval ran it or an isolated process."""

import re

DIED = "the Python process ended while this cell ran"
FLOOD = "this cell was stopped: it printed too much, or without end"
PRINTED_AT_MOST = 2_000_000  # characters per cell
AFTER_A_TIMEOUT = 1.0  # seconds: an answer that hangs once may hang in every check


def said(status, message="", hint="", mistake=None):
    """Make a verdict; its message is one line."""
    message = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    return {"status": status, "message": message[:300], "hint": hint, "mistake": mistake}


def late(limit):
    """Say that a cell was stopped after `limit` seconds."""
    return said("timeout", f"stopped after {limit:g} s: is there a loop that never ends?")


def raised(name, words, source):
    """Say that the cell with this `source` raised an error that is no check's."""
    if name == "KeyboardInterrupt":
        return said("fail", "your code was interrupted, or raised KeyboardInterrupt")
    words = ": ".join(filter(None, (name, words)))
    if "incomplete input" in words:
        words = _what_is_incomplete(source) or words
    return said("fail", re.sub(r"\(\d+\.py, line", "(line", words))


def _what_is_incomplete(source):
    """Say it in the words of Python, which knows what was not closed; IPython does not."""
    try:
        compile(source, "", "exec", dont_inherit=True)
    except SyntaxError as error:
        # Not the words on a magic, which only IPython knows.
        return error.msg != "invalid syntax" and f"SyntaxError: {error.msg} (line {error.lineno})"
    except ValueError:  # a character that no source may have
        return None
