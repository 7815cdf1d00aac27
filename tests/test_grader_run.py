"""Whatever a learner hands in gets a true verdict or a clear sentence, in time, and no gift."""

import re
import sys
import time
from collections import Counter
from pathlib import Path

import handed_in
import pytest

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    return handed_in.graded(tmp_path_factory)


@pytest.fixture
def rows(graded):
    def of(name):
        return {row.check: row for row in graded[name][0].rows}

    return of


def statuses(rows, answer=""):
    return Counter(row.status for check, row in rows.items() if check.startswith(answer))


def test_each_verdict_comes_within_its_limit(graded):
    # 2 s for the first check that hangs, 1 s for each other one; the rest is a busy machine.
    assert {name for name, (_, seconds) in graded.items() if seconds > 30} == set()


def test_every_check_has_a_row_whatever_was_handed_in(graded):
    names = [row.check for row in graded["solved"][0].rows]
    assert len(names) == 8
    for submission, _ in graded.values():
        assert submission.exercise == "02_split_heads"
        assert [row.check for row in submission.rows] == names
        assert all(row.message for row in submission.rows if row.status != "pass")


def test_a_solved_notebook_passes_though_a_numpy_py_lies_beside_it(graded):
    assert graded["solved"][0].complete
    assert graded["solved"][0].notes == []


def test_a_known_mistake_is_named(rows):
    row = rows("known_mistake_and_endless_print_in_a_call")["split_heads_values"]
    assert (row.status, row.mistake) == ("fail", "split_heads.tokens_mixed")
    assert row.message == "numbers of different tokens are mixed in one row"
    assert row.hint.startswith("Reshape to (..., T, num_heads, d_k) first.")


def test_an_endless_print_in_a_call_is_a_timeout(rows):
    found = rows("known_mistake_and_endless_print_in_a_call")
    assert statuses(found, "parameter_count") == {"timeout": 3}


def test_an_endless_loop_is_stopped_and_the_next_answer_is_still_graded(rows):
    found = rows("endless_loop")
    assert statuses(found, "split_heads") == {"timeout": 5}
    messages = [row.message for row in found.values()][:2]
    assert messages == [f"stopped after {s} s: is there a loop that never ends?" for s in (2, 1)]
    assert statuses(found, "parameter_count") == {"pass": 3}


def test_a_loop_that_misses_an_interrupt_gets_another(rows):
    found = rows("endless_loop_that_misses_an_interrupt")
    assert statuses(found, "split_heads") == {"timeout": 5}
    assert statuses(found, "parameter_count") == {"pass": 3}


def test_a_loop_that_says_it_begins_again_wins_no_time(rows):
    found = rows("endless_loop_that_says_it_begins")
    assert statuses(found, "split_heads") == {"timeout": 5}
    assert statuses(found, "parameter_count") == {"pass": 3}


def test_the_time_of_a_cell_counts_from_when_it_begins(rows):
    assert statuses(rows("next_cell_begins_late")) == {"pass": 8}


def test_a_loop_that_cannot_be_interrupted_is_ended(rows):
    found = rows("endless_loop_that_cannot_be_interrupted")
    assert found["split_heads_values"].status == "timeout"
    assert statuses(found) == {"timeout": 1, "not run": 7}
    assert found["split_heads_batch"].message == "the Python process ended in an earlier cell"


def test_a_loop_that_swallows_interrupts_is_ended(rows):
    found = rows("endless_loop_that_swallows_interrupts")
    assert found["split_heads_values"].status == "timeout"
    assert not statuses(found, "split_heads")["pass"]


def test_a_child_that_goes_on_stops_nothing(rows):
    found = rows("forked_child_that_goes_on")
    assert statuses(found, "split_heads") == {"pass": 5}
    assert not statuses(found, "parameter_count")["pass"]


def test_a_name_that_was_never_imported_is_told(rows):
    found = rows("never_imported")
    message = found["split_heads_values"].message
    assert message.startswith("your code raised NameError: name 'scipy' is not defined")
    assert "name 'math' is not defined" in found["parameter_count_bias"].message


def test_checks_in_another_order_or_twice_change_nothing(rows):
    names = [row.check for row in rows("solved").values()]
    assert list(rows("checks_reordered_and_doubled")) == names
    assert statuses(rows("checks_reordered_and_doubled"), "split_heads") == {"fail": 4, "pass": 1}


def test_an_ended_process_is_a_crash(rows):
    found = rows("ended_process")
    assert found["split_heads_values"].message == "the Python process ended while this cell ran"
    assert statuses(found) == {"crash": 1, "not run": 7}


def test_a_segmentation_fault_leaves_earlier_verdicts_alone(rows):
    found = rows("segmentation_fault")
    assert found["split_heads_values"].status == "fail"
    assert found["split_heads_keeps_its_input"].status == "pass"
    assert statuses(found, "parameter_count") == {"crash": 1, "not run": 2}


def test_a_syntax_error_blocks_the_checks_of_its_answer_with_its_reason(rows):
    found = rows("syntax_error_and_renamed_function")
    assert statuses(found) == {"blocked": 8}
    assert re.fullmatch(
        r"its answer cell stopped: SyntaxError: .* \(line 2\)", found["split_heads_values"].message
    )


def test_a_renamed_function_blocks_its_checks(rows):
    message = rows("syntax_error_and_renamed_function")["parameter_count_bias"].message
    assert message == "its answer cell does not define parameter_count"


def test_a_missing_answer_cell_blocks_its_checks(rows):
    found = rows("missing_cell_and_cell_made_text")
    assert statuses(found) == {"blocked": 8}
    assert found["split_heads_values"].message == (
        "there is no answer cell for split_heads; its first line must be `# ANSWER: split_heads`"
    )


def test_an_answer_made_text_is_told_so(rows):
    message = rows("missing_cell_and_cell_made_text")["parameter_count_bias"].message
    assert message == "the answer cell of parameter_count is a text cell; change its type to code"


def test_forged_checks_are_ignored_and_unwritten_answers_are_todo(rows):
    assert statuses(rows("forged")) == {"todo": 8}
    assert rows("forged")["split_heads_values"].message == "not written yet"


def test_deleted_checks_are_run_all_the_same(rows):
    found = rows("checks_deleted_and_made_text")
    assert statuses(found, "split_heads") == {"fail": 4, "pass": 1}
    assert statuses(found, "parameter_count") == {"pass": 3}


def test_orders_to_nbval_are_ignored(rows):
    found = rows("orders_to_nbval")
    assert statuses(found, "split_heads") == {"todo": 5}
    assert found["parameter_count_bias"].mistake == "parameter_count.bias_ignored"
    assert found["parameter_count_refuses_uneven"].status == "fail"


def test_input_is_not_todo(rows):
    row = rows("asks_for_input_and_exits")["split_heads_values"]
    assert row.status == "fail"
    assert "it called input(), and nobody is there to type" in row.message


def test_an_exit_is_a_failure(rows):
    found = rows("asks_for_input_and_exits")
    assert statuses(found, "parameter_count") == {"fail": 3}
    assert "it called exit()" in found["parameter_count_bias"].message


def test_an_endless_print_is_cut_off(graded, rows):
    found = rows("endless_print")
    message = found["split_heads_values"].message
    assert message.startswith("its answer cell stopped: this cell was stopped: it printed too much")
    assert statuses(found) == {"blocked": 5, "not run": 3}


def test_a_noisy_right_answer_passes_and_an_error_beside_it_is_a_note(graded):
    submission = graded["noisy_and_right"][0]
    assert [row for row in submission.rows if row.status != "pass"] == []
    assert submission.notes == [
        "split_heads: its answer cell stopped: ZeroDivisionError: division by zero"
    ]


def test_helpers_from_other_cells_come_along(graded):
    submission = graded["helpers_in_cells_of_their_own"][0]
    assert [row for row in submission.rows if row.status != "pass"] == []


def test_of_two_answer_cells_the_last_one_counts_and_a_note_says_so(graded):
    submission = graded["helpers_in_cells_of_their_own"][0]
    assert submission.notes == ["split_heads has 2 answer cells; the last one was graded."]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems set no limit on memory")
def test_memory_is_limited(rows):
    row = rows("uses_too_much_memory")["split_heads_values"]
    assert row.status == "fail"
    assert "Unable to allocate 12.0 GiB" in row.message


@LINUX
def test_no_process_of_an_answer_stays(graded, tmp_path_factory):
    assert graded["starts_a_process_that_stays"][0].complete
    pids = (tmp_path_factory.getbasetemp() / "pid").read_text(encoding="utf-8").split()
    assert len(pids) == 2
    assert [pid for pid in pids if not ended(pid)] == []


def ended(pid):
    for _ in range(50):  # it is dead at once, and gone when somebody has waited for it
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text(encoding="utf-8").split()[2] == "Z":
            return True
        time.sleep(0.1)
    return False
