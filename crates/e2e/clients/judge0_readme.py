"""Runs the examples of the README of Judge0's own client as they stand, against the service that the environment names. argv[1]: how many there are."""

import contextlib
import io
import re
import sys
from importlib.metadata import metadata

# What these ask belongs to others: a key of a shop's, a model, a service at a certain address; or is not done here (docs/judge0.md).
ELSEWHERE = ("api_key=", "ollama", "127.0.0.1:2358", "post_execution_filesystem")


def main():
    text = metadata("judge0").get_payload() or metadata("judge0")["Description"]
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    examples = [block for block in blocks if not any(word in block for word in ELSEWHERE)]
    assert len(examples) == int(sys.argv[1]), f"{len(examples)} of {len(blocks)} examples"
    said = []
    for example in examples:
        # A session at the prompt: what is typed.
        lines = example.splitlines()
        if lines[0].startswith(">>> "):
            example = "\n".join(line[4:] for line in lines if line.startswith((">>> ", "... ")))
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(example, "README", "exec"), {"__name__": "__main__"})
        said.append(output.getvalue())
    printed = "".join(said)
    for expected in ("hello, world\n", "8\nHello, Bob!", "--- Test Case #3 ---\nHello, Charlie!", "--- Submission #2 ---", "None\nhello, world"):
        assert expected in printed, f"no {expected!r} in {printed}"


main()
