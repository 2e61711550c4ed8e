"""Runs a checker or an interactive grader written for DMOJ's judge, which this program takes the place of (docs.dmoj.ca, "Custom checkers" and
"Custom graders"). Arguments: input, answer, feedback directory, and a JSON object with

    file         name of the Python file beside this one
    interactive  whether it has a class `Grader`, else it has a function `check`
    points       the points of the case
    position     number of the case, from 1
    batch        number of its batch, from 1; 0 outside of batches
    binary       whether `binary_data` is set
    args         further arguments of `check`

and, for a checker, the CPU time of the submission's run in seconds and its peak memory in KiB. Without these two, a checker that uses
them fails.

A checker reads the submission's output on standard input. It accepts with 42 and rejects with 43; partial points become a share of the
points of the case. Any other end is a fault of the package.
"""
import importlib.util
import json
import os
import sys
import traceback
import types

import tauto_compare

ACCEPTED, REJECTED = 42, 43
# Python takes a time that grows with the square of the number of digits.
MOST_DIGITS = 10000
# Bytes that a grader reads at once, as DMOJ's usual limit of an output: a submission cannot exhaust the grader's memory.
MOST_BYTES = 25165824


class Unknown:
    """What only DMOJ's judge knows. It may be passed on, but not used."""

    def __init__(self, name):
        object.__setattr__(self, "_name", name)

    def _used(self, *_, **__):
        sys.exit("the package's Python uses `%s`, which only DMOJ's own judge knows" % object.__getattribute__(self, "_name"))

    __getattr__ = __setattr__ = __getitem__ = __len__ = __iter__ = __call__ = __bool__ = __contains__ = _used
    __str__ = __bytes__ = __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __add__ = __radd__ = __hash__ = _used
    __int__ = __float__ = __index__ = __mul__ = __rmul__ = __sub__ = __rsub__ = __truediv__ = __rtruediv__ = _used


class Result(Unknown):
    """What the run of the submission took."""

    AC, WA, RTE, TLE, MLE, IR, SC, OLE, IE = 0, 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 30


class CheckerResult:
    def __init__(self, passed, points, feedback=None, extended_feedback=None):
        self.passed = bool(passed)
        self.points = float(points)
        self.feedback = feedback
        self.extended_feedback = extended_feedback


class WrongAnswer(BaseException):
    pass


class InternalError(Exception):
    pass


def utf8bytes(text):
    return text.encode("utf-8") if isinstance(text, str) else bytes(text)


def utf8text(text, errors="strict"):
    return text if isinstance(text, str) or text is None else bytes(text).decode("utf-8", errors)


class Interactor:
    """Talks to the submission."""

    def __init__(self, source, sink):
        self._source, self._sink = source, sink
        self._rest = None

    @staticmethod
    def _bounded(read):
        data = read(MOST_BYTES + 1)
        if not data:
            raise OSError("the submission closed its output")
        if len(data) > MOST_BYTES:
            raise WrongAnswer("more than %d bytes without a line end" % MOST_BYTES)
        return data

    def read(self):
        return self._bounded(self._source.read)

    def readln(self, strip_newline=True):
        line = self._bounded(self._source.readline)
        return line.rstrip() if strip_newline else line

    def readtoken(self, delim=None):
        parts = (self._rest or self.readln()).split(delim, 1)
        self._rest = parts[1] if len(parts) == 2 else None
        return parts[0] if parts else b""

    def _number(self, kind, name, lo, hi, delim):
        token = self.readtoken(delim)
        if len(token) > MOST_DIGITS:
            raise WrongAnswer("%s is too long" % name)
        try:
            number = kind(token)
        except ValueError:
            shown = token.decode("utf-8", "replace")
            raise WrongAnswer('expected %s, got "%s"' % (name, shown if len(shown) <= 5 else shown[:5] + "...")) from None
        if not lo <= number <= hi:
            raise WrongAnswer("expected %s from %s to %s, got %s" % (name, lo, hi, number))
        return number

    def readint(self, lo=float("-inf"), hi=float("inf"), delim=None):
        return self._number(int, "int", lo, hi, delim)

    def readfloat(self, lo=float("-inf"), hi=float("inf"), delim=None):
        return self._number(float, "float", lo, hi, delim)

    def write(self, val):
        self._sink.write(utf8bytes(str(val)))
        self._sink.flush()

    def writeln(self, val):
        self.write("%s\n" % val)

    def close(self):
        self._sink.close()


class Case:
    """The test case that a grader asks for its data."""

    def __init__(self, facts):
        self.points = facts["points"]
        self.position = facts["position"]
        self.batch = facts["batch"]
        self.has_binary_data = facts["binary"]
        self.config = Unknown("case.config")

    def input_data(self):
        return contents(sys.argv[1])

    def output_data(self):
        return contents(sys.argv[2])


class InteractiveGrader:
    def __init__(self, judge, problem, language, source):
        self.judge, self.problem, self.language, self.source = judge, problem, language, source
        self.binary = Unknown("binary")
        self.feedback = None

    def interact(self, case, interactor):
        raise NotImplementedError


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def comparison(name, kind, options):
    """DMOJ's checker of this name, as a function of output and answer; `options` gives the settings from its further arguments."""

    def check(process_output, judge_output, **rest):
        share = tauto_compare.share(kind, options(rest), bytes(judge_output), bytes(process_output))
        points = rest.get("point_value")
        return CheckerResult(share == 1.0, points * share) if 0.0 < share < 1.0 and points else share == 1.0

    return module("dmoj.checkers." + name, check=check)


def module(name, **members):
    made = types.ModuleType(name)
    made.__dict__.update(members)
    # A module with parts.
    made.__path__ = []
    sys.modules[name] = made
    return made


def provide_modules():
    """Makes the modules of DMOJ's judge that such Python imports."""

    def none(_):
        return []

    def floats(mode):
        return lambda rest: [rest.get("error_mode", mode), 10.0 ** -float(rest.get("precision", 6))]

    checkers = {
        "standard": ("lines", none),
        "easy": ("characters", none),
        "floats": ("floats", floats("default")),
        "floatsabs": ("floats", floats("absolute")),
        "floatsrel": ("floats", floats("relative")),
        "identical": ("identical", none),
        "linecount": ("linecount", none),
        "rstripped": ("rstripped", none),
        "sorted": ("sorted-lines", none),
        "unordered": ("sorted-tokens", none),
    }
    made = {name: comparison(name, *how) for name, how in checkers.items()}
    module("dmoj")
    module("dmoj.result", Result=Result, CheckerResult=CheckerResult)
    module("dmoj.checkers", CheckerOutput=object, CheckerResult=CheckerResult, **made)
    module("dmoj.error", InternalError=InternalError)
    module("dmoj.utils")
    module("dmoj.utils.unicode", utf8bytes=utf8bytes, utf8text=utf8text)
    module("dmoj.graders", InteractiveGrader=InteractiveGrader)
    module(
        "dmoj.graders.interactive",
        InteractiveGrader=InteractiveGrader,
        Interactor=Interactor,
        WrongAnswer=WrongAnswer,
        CheckerResult=CheckerResult,
        utf8bytes=utf8bytes,
        utf8text=utf8text,
    )


def loaded(name):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    spec = importlib.util.spec_from_file_location("package", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def checked(package, facts):
    """What the package's checker says of the submission's output."""
    unknown = ["submission_source", "submission_language", "problem_id"]
    result = Result("result")
    result.__dict__.update(max_memory=Unknown("result.max_memory"), execution_time=Unknown("execution_time"), result_flag=Result.AC)
    if len(sys.argv) == 7:
        result.__dict__.update(execution_time=float(sys.argv[5]), max_memory=int(sys.argv[6]))
    known = {
        "judge_input": contents(sys.argv[1]),
        "point_value": facts["points"],
        "case_position": facts["position"],
        "batch": facts["batch"],
        "binary_data": facts["binary"],
        "case": Case(facts),
        "execution_time": result.execution_time,
        "result": result,
    }
    rest = {**{name: Unknown(name) for name in unknown}, **known, **facts["args"]}
    try:
        return package.check(sys.stdin.buffer.read(), contents(sys.argv[2]), **rest)
    except UnicodeDecodeError:
        return CheckerResult(False, 0, "invalid unicode")


def interacted(package, facts):
    """What the package's grader says once it has talked to the submission."""
    interactor = Interactor(sys.stdin.buffer, os.fdopen(os.dup(1), "wb"))
    # What the grader prints is not for the submission.
    os.dup2(2, 1)
    grader = package.Grader(*map(Unknown, ["judge", "problem", "language", "source"]))
    try:
        said = grader.interact(Case(facts), interactor)
        interactor.close()
        return said
    except WrongAnswer as wrong:
        return CheckerResult(False, 0, str(wrong))
    except UnicodeDecodeError:
        return CheckerResult(False, 0, "invalid unicode")
    except OSError:
        # The submission ended early.
        return False


def decide(said, points):
    result = said if isinstance(said, CheckerResult) else CheckerResult(said, points if said else 0)
    words = [text for text in [result.feedback, result.extended_feedback] if text]
    if words:
        with open(os.path.join(sys.argv[3], "teammessage.txt"), "w", encoding="utf-8", errors="replace") as file:
            file.write("\n".join(words))
    share = min(max(result.points / points, 0.0), 1.0) if points else float(result.passed)
    if not result.passed and share == 0.0:
        return REJECTED
    if share != 1.0:
        with open(os.path.join(sys.argv[3], "score_multiplier.txt"), "w") as file:
            file.write(repr(share))
    return ACCEPTED


def judged(facts):
    """What the package's Python decides, as an exit code."""
    provide_modules()
    package = loaded(facts["file"])
    name, decides = ("Grader", interacted) if facts["interactive"] else ("check", checked)
    if not callable(getattr(package, name, None)):
        sys.exit("%s has no `%s`" % (facts["file"], name))
    return decide(decides(package, facts), facts["points"])


def main():
    facts = json.loads(sys.argv[4])
    try:
        code = judged(facts)
    except Exception as error:
        # Where in the package, not where in this file.
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if os.path.basename(frame.filename) == facts["file"]]
        place = "%s, line %d" % (facts["file"], frames[-1].lineno) if frames else facts["file"]
        sys.exit("%s: %s" % (place, "".join(traceback.format_exception_only(type(error), error)).strip()))
    sys.stdout.flush()
    # Streams to a submission that has ended cannot be flushed.
    os._exit(code)


main()
