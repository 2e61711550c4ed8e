"""Drives the service at argv[1] with a client that was generated from its document into argv[2]; argv[3] is the token of an admin."""

import sys
import time
from datetime import datetime
from enum import Enum

import attrs

BASE, WHERE, TOKEN = sys.argv[1:4]
sys.path.insert(0, WHERE)

from client import AuthenticatedClient, models  # noqa: E402
from client.api.accounts import post_users_import  # noqa: E402
from client.api.judgements import get_submissions_token_judgement  # noqa: E402
from client.api.nodes import get_languages, get_nodes, get_nodes_name  # noqa: E402
from client.api.problems import (  # noqa: E402
    get_problems_name,
    get_problems_name_package,
    get_problems_name_statement,
    post_problems,
)
from client.api.submissions import get_submissions_token, post_submissions  # noqa: E402
from client.types import File, Unset  # noqa: E402

PLAIN = (str, int, float, bool, type(None), Unset, Enum, datetime)


def typed(value, at):
    """Whether everything below has a type that the document names; what it does not name comes as `additional_properties`."""
    if isinstance(value, PLAIN):
        return
    if isinstance(value, list):
        for n, item in enumerate(value):
            typed(item, f"{at}[{n}]")
        return
    assert type(value).__module__.startswith("client.models"), f"{at}: {type(value)}"
    named = [field.name for field in attrs.fields(type(value)) if field.name != "additional_properties"]
    for name in named:
        typed(getattr(value, name), f"{at}.{name}")
    more = value.additional_properties if hasattr(value, "additional_properties") else {}
    assert not (named and more), f"{at}: the document says nothing of {sorted(more)}"
    for name, item in more.items():
        typed(item, f"{at}[{name!r}]")


def main():
    client = AuthenticatedClient(base_url=BASE, token=TOKEN, raise_on_unexpected_status=True, timeout=60)
    fence = get_problems_name.sync("fence", client=client)
    typed(fence, "problem")
    statement = get_problems_name_statement.sync("fence", client=client)
    assert "<p>" in statement.html and statement.language == "en", statement
    source = models.NewFile(name="a.py", content="print(2 ** (int(input()) + 1))\n")
    taken = post_submissions.sync(client=client, body=models.NewSubmission(problem="fence", files=[source]))
    assert isinstance(taken, models.Taken), taken
    until = time.monotonic() + 300
    while get_submissions_token.sync(taken.token, client=client).state != models.State.JUDGED:
        assert time.monotonic() < until
        time.sleep(0.1)
    judgement = get_submissions_token_judgement.sync(taken.token, client=client)
    typed(judgement, "judgement")
    assert isinstance(judgement.floor, models.NoiseFloor) and 0 < judgement.floor.memory.stray.reach < 1
    for test in judgement.tests:
        for run in test.runs:
            assert isinstance(run, models.Run) and isinstance(run.evidence, models.Evidence), run
            assert run.time.cpu_ns > 0 and isinstance(run.evidence.isolation, models.Isolation), run
            assert isinstance(run.evidence.run_queue_wait_ns, (int, models.Unknown)), run
    assert judgement.tests and judgement.tests[0].runs

    languages = get_languages.sync(client=client).languages
    typed(languages, "languages")
    python = next(language for language in languages if language.id == "python3")
    (there,) = python.nodes.additional_properties.values()
    assert isinstance(there, models.NodeLanguage) and there.tools[0].version, there
    (node,) = get_nodes.sync(client=client).nodes
    node = get_nodes_name.sync(node.name, client=client)
    typed(node, "node")
    assert isinstance(node.facts.audit.findings[0].state, models.FindingState), node.facts
    assert isinstance(node.facts.slots, models.Slots) and node.workers[0].version, node

    package = get_problems_name_package.sync("fence", client=client).payload.read()
    added = post_problems.sync(client=client, name="copy", body=File(payload=package))
    assert isinstance(added, models.AddedProblem) and added.version == 1, added
    assert get_problems_name_package.sync("copy", client=client).payload.read() == package
    table = models.ImportForm(table=File(payload=b"ann\nbob,Bob\n", file_name="users.csv"))
    users = post_users_import.sync(client=client, body=table)
    assert [user.name for user in users] == ["ann", "bob"], users


main()
