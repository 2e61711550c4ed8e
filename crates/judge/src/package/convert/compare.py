"""Compares an output with the answer as other judges do. Arguments: input, answer, feedback directory, the comparison's name and settings."""
import sys

SPACE = b" \t\n\v\f\r"


def lines(text):
    return text.replace(b"\r", b"\n").split(b"\n")


def full_lines(text):
    return [line for line in lines(text) if line]


def tokens(line):
    return line.translate(bytes.maketrans(SPACE, b" " * len(SPACE))).split(b" ")


def words(line):
    return [token for token in tokens(line) if token]


def lined(text):
    split = [words(line) for line in lines(text)]
    return [line for line in split if line]


def white_diff(text):
    split = [words(line) for line in text.split(b"\n")]
    while split and not split[-1]:
        split.pop()
    return split


def number(token):
    try:
        return float(token) if b"_" not in token else None
    except ValueError:
        return None


def near(expected, found, tolerance, error):
    if error == "absolute":
        return abs(found - expected) <= tolerance
    if error == "relative":
        ends = expected * (1.0 - tolerance), expected * (1.0 + tolerance)
        return min(ends) <= found <= max(ends)
    if abs(found - expected) <= tolerance:
        return True
    return abs(expected) >= tolerance and expected != 0 and abs(1.0 - found / expected) <= tolerance


def same_token(expected, found, tolerance, error):
    wanted = number(expected)
    if wanted is None:
        return expected == found
    given = number(found)
    return given is not None and near(wanted, given, tolerance, error)


def floats(answer, output, tolerance, error):
    expected, found = full_lines(answer), full_lines(output)
    if len(expected) != len(found):
        return 0.0
    for one, other in zip(map(words, expected), map(words, found)):
        if len(one) != len(other) or not all(same_token(a, b, tolerance, error) for a, b in zip(one, other)):
            return 0.0
    return 1.0


def line_count(answer, output):
    expected, found = full_lines(answer), full_lines(output)
    if len(found) > len(expected):
        return 0.0
    same = sum(one.strip(SPACE) == other.strip(SPACE) for one, other in zip(expected, found))
    return same / len(expected) if expected else 1.0


def line_matches(answer, output, same_count, weights):
    expected, found = full_lines(answer), full_lines(output)
    if len(expected) != len(weights):
        sys.exit("the answer has %d lines, but there are %d weights" % (len(expected), len(weights)))
    if same_count and len(found) != len(expected):
        return 0.0
    return sum(w for one, other, w in zip(expected, found, weights) if one == other) / sum(weights)


def stripped(text, without_empty):
    return [line.rstrip(SPACE) for line in lines(text) if line or not without_empty]


def share(kind, settings, answer, output):
    if kind == "floats":
        return floats(answer, output, float(settings[1]), settings[0])
    if kind == "linecount":
        return line_count(answer, output)
    if kind == "linematches":
        return line_matches(answer, output, settings[0] == "same", [float(word) for word in settings[1:]])
    form = {
        "lines": lined,
        "whitediff": white_diff,
        "characters": lambda text: sorted(b"".join(words(text)).lower()),
        "identical": lambda text: text,
        "rstripped": lambda text: stripped(text, False),
        "rstripped-full": lambda text: stripped(text, True),
        "sorted-lines": lambda text: sorted(words(line) for line in full_lines(text)),
        "sorted-tokens": lambda text: sorted(words(text)),
    }[kind]
    return 1.0 if form(answer) == form(output) else 0.0


def main():
    with open(sys.argv[2], "rb") as answer:
        earned = share(sys.argv[4], sys.argv[5:], answer.read(), sys.stdin.buffer.read())
    if earned <= 0.0:
        sys.exit(43)
    if earned < 1.0:
        with open(sys.argv[3] + "/score_multiplier.txt", "w") as score:
            score.write(repr(earned))
    sys.exit(42)


if __name__ == "__main__":
    main()
