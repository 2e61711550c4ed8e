from dmoj.checkers import standard
from dmoj.result import CheckerResult


def check(process_output, judge_output, judge_input, point_value, case_position, batch, most_kib, result, **kwargs):
    """A third of the points for a number that is one too large. The program must not take more than `most_kib`."""
    assert (case_position, batch) in [(1, 0), (2, 1), (3, 1)] and 0 < result.execution_time < 2
    if result.max_memory > most_kib:
        return False
    if standard.check(process_output, b"%d" % (int(judge_input) * 2), **kwargs):
        return True
    near = int(process_output) == int(judge_input) * 2 + 1
    return CheckerResult(near, point_value / 3 if near else 0, "near" if near else "far")
