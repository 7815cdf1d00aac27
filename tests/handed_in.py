"""Notebooks as somebody may hand them in: hanging, crashing, forged, noisy, incomplete."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from learners import COUNT, SPLIT_HEADS, cell, code_cell, content, save

from mha_lessons.grade.run import grade

RIGHT = """\
# ANSWER: split_heads
def split_heads(x, num_heads):
    if num_heads < 1 or x.shape[-1] % num_heads:
        raise ValueError("no")
    return np.moveaxis(x.reshape(*x.shape[:-1], num_heads, -1), -2, -3)
"""
COUNT_STUB = "# ANSWER: parameter_count\ndef parameter_count(d_model, num_heads, bias=False):\n    "
CASES, DONE = {}, {}


def case(make):
    CASES[make.__name__] = make
    return make


def solved(split_heads=None, parameter_count=None):
    """Return the solved notebook, with other bodies of the two functions."""
    answers = {}
    if split_heads:
        body = split_heads.replace("\n", "\n    ")
        answers["split_heads"] = (
            f"# ANSWER: split_heads\ndef split_heads(x, num_heads):\n    {body}"
        )
    if parameter_count:
        answers["parameter_count"] = COUNT_STUB + parameter_count.replace("\n", "\n    ")
    return content(**answers)


CASES["solved"] = solved


@case
def known_mistake_and_endless_print_in_a_call():
    return solved(
        "if num_heads < 1 or x.shape[-1] % num_heads:\n    raise ValueError\n"
        "return x.reshape(*x.shape[:-2], num_heads, x.shape[-2], -1)",
        "while True:\n    print('x' * 1000)",
    )


@case
def endless_loop():
    return solved("while True:\n    pass")


@case
def endless_loop_that_misses_an_interrupt():
    return solved(
        "try:\n    while True:\n        pass\nexcept KeyboardInterrupt:\n"
        "    if not hasattr(split_heads, 'missed'):\n        split_heads.missed = True\n"
        "        while True:\n            pass\n    raise"
    )


@case
def endless_loop_that_says_it_begins():
    return solved(
        "import time\nkernel = getattr(get_ipython(), 'kernel', None)\nwhile True:\n"
        "    time.sleep(0.2)\n    if kernel:\n"
        "        kernel._publish_execute_input('', kernel.get_parent(), 1)"
    )


@case
def next_cell_begins_late():
    return content(
        split_heads=RIGHT + "\nimport asyncio, contextlib, time\n"
        "with contextlib.suppress(RuntimeError):  # there is no loop\n"
        "    asyncio.get_running_loop().call_soon(time.sleep, 4)"
    )


@case
def endless_loop_that_cannot_be_interrupted():
    return solved(
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True:\n    pass"
    )


@case
def endless_loop_that_swallows_interrupts():
    return solved(
        "while True:\n    try:\n        while True:\n            pass\n"
        "    except BaseException:\n        pass"
    )


@case
def forked_child_that_goes_on():
    return solved(parameter_count="import os, time\nos.fork() or time.sleep(600)\nreturn 0")


@case
def never_imported():
    made = solved("return scipy.rearrange(x, num_heads)", "return 4 * math.prod((d_model,) * 2)")
    made["cells"] = [c for c in made["cells"] if "import numpy" not in c["source"]]
    return made


@case
def checks_reordered_and_doubled():
    made = solved("return x")
    checks = [each for each in made["cells"] if each["id"].startswith("02-check")]
    made["cells"] = [*checks[::-1], *made["cells"], *checks]
    return made


@case
def ended_process():
    return solved("import os\nos._exit(0)")


@case
def segmentation_fault():
    return solved("return np.array(x)", "import ctypes\nctypes.string_at(0)")


@case
def syntax_error_and_renamed_function():
    made = solved(parameter_count="return 4 * d_model**2")
    cell(made, SPLIT_HEADS)["source"] = "# ANSWER: split_heads\ndef split_heads(x, num_heads:\n"
    source = cell(made, COUNT)["source"]
    cell(made, COUNT)["source"] = source.replace("def parameter_count", "def my_count")
    return made


@case
def missing_cell_and_cell_made_text():
    made = content()
    made["cells"].remove(cell(made, SPLIT_HEADS))
    cell(made, COUNT)["cell_type"] = "markdown"
    return made


@case
def forged():
    made = content(folder="exercises")
    for each in made["cells"]:
        if each["id"].startswith("02-check"):
            name = each["id"].removeprefix("02-check-")
            each.update(
                source=f'print("ok: {name}")',
                execution_count=1,
                outputs=[{"output_type": "stream", "name": "stdout", "text": f"ok: {name}\n"}],
            )
    # And the checks' own name is taken.
    cell(made, SPLIT_HEADS)["source"] += (
        "\nclass check:\n"
        "    split_heads_values = staticmethod(lambda f: print('ok: split_heads_values'))\n"
        "print('ok: split_heads_values')\n"
    )
    return made


@case
def checks_deleted_and_made_text():
    made = solved("return x")
    made["cells"] = [c for c in made["cells"] if not c["id"].startswith("02-check-split")]
    for each in made["cells"]:
        if each["id"].startswith("02-check"):
            each["cell_type"] = "markdown"
    return made


@case
def orders_to_nbval():
    made = content(
        split_heads="# NBVAL_SKIP\n# NBVAL_RAISES_EXCEPTION\n# ANSWER: split_heads\n"
        "def split_heads(x, num_heads):\n    raise NotImplementedError",
        parameter_count="# NBVAL_IGNORE_OUTPUT\n" + COUNT_STUB + "return 4 * d_model**2",
    )
    for each in made["cells"]:
        each["metadata"]["tags"] = ["nbval-skip", "raises-exception", "nbval-ignore-output"]
    return made


@case
def asks_for_input_and_exits():
    made = solved("return input('heads? ')", "import sys\nsys.exit(0)")
    cell(made, COUNT)["source"] += "\nimport sys\nsys.exit(0)"
    return made


@case
def endless_print():
    return content(split_heads=RIGHT + "\nwhile True:\n    print('x' * 100_000, flush=True)")


@case
def noisy_and_right():
    noise = """
    print(x)
    display(x)
    import os, sys, warnings
    os.write(1, b'noise')
    os.write(2, b'noise')
    os.system('echo noise')
    warnings.warn('hm')
    print('noise', file=sys.__stderr__)
    if"""
    tries = "\nfor n in range(300):\n    print(n, flush=True)\nsplit_heads(np.ones((2, 6)), 3)"
    return content(split_heads=RIGHT.replace("\n    if", noise, 1) + tries + "\n1 / 0")


@case
def helpers_in_cells_of_their_own():
    made = solved(
        "check(x.shape[-1], num_heads)\n"
        "return rearrange(x.reshape(*x.shape[:-1], num_heads, -1), (AXIS, -3))"
    )
    position = made["cells"].index(cell(made, SPLIT_HEADS))
    made["cells"][position:position] = [
        code_cell("%matplotlib inline\nimport numpy as numpy_again\nAXIS = -2\n1 / 0"),
        code_cell(["import not_installed_anywhere\n", "from math import sqrt"]),
        code_cell("open('x') as f"),
        code_cell(
            "def check(d_model, num_heads):\n    if num_heads < 1 or d_model % num_heads:\n"
            "        raise ValueError('no')\n"
            "def rearrange(x, axes):\n    return numpy_again.moveaxis(x, *axes)"
        ),
        # An earlier try at the answer, with the same id: the last one counts.
        code_cell("# ANSWER: split_heads\ndef split_heads(x, num_heads):\n    1", id=SPLIT_HEADS),
    ]
    return made


@case
def uses_too_much_memory():
    return solved("return np.zeros(3 << 29)")  # 12 GiB, of which nothing is touched


@case
def starts_a_process_that_stays():
    return content(
        split_heads=RIGHT + "\nimport os, subprocess\n"
        "started = [subprocess.Popen(['sleep', '600'], start_new_session=own) for own in (0, 1)]\n"
        "pids = ' '.join(str(process.pid) for process in started)\n"
        "open(os.environ['MHA_TEST_PID'], 'w').write(pids)"
    )


def graded(tmp_path_factory, isolate=False, warm=None):
    """Return what `_grade` finds, once in a session."""
    how = isolate, warm is not None
    if how not in DONE:
        DONE[how] = _grade(tmp_path_factory, isolate, warm)
    return DONE[how]


def _grade(tmp_path_factory, isolate, warm):
    """Grade all cases, three at a time; each beside a file that could take NumPy's place.

    Returns
    -------
    dict
        Name to (submission, seconds).
    """

    def one(name):
        folder = tmp_path_factory.mktemp(name)
        (folder / "numpy.py").write_text("raise RuntimeError('not NumPy')", encoding="utf-8")
        path = save(CASES[name](), folder / f"{name}.ipynb")
        start = time.monotonic()
        return grade(path, 2, isolate, warm=warm), time.monotonic() - start

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(3) as pool:
        patch.setenv("MHA_TEST_PID", str(tmp_path_factory.getbasetemp() / "pid"))
        return dict(zip(CASES, pool.map(one, CASES), strict=True))
