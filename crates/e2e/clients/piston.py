"""Drives the service at argv[1] with ultra-piston, a client of Piston, as its users do."""

import asyncio
import sys

from ultra_piston import File, PistonClient
from ultra_piston.errors import BadRequestError

CPP = """
#include <iostream>
int main(int n, char **words) {
    std::string word;
    std::cin >> word;
    std::cout << word << ' ' << words[1] << std::endl;
    std::cerr << 'e';
    return 3;
}
"""


def run(client, language, source, version="*", **more):
    return client.post_execute(language=language, version=version, file=File(content=source), **more)


def main():
    client = PistonClient(base_url=sys.argv[1], rate_limit=0)
    runtimes = {runtime.language: runtime for runtime in client.get_runtimes()}
    for language in ("c++", "python", "bash"):
        assert language in runtimes, runtimes
    assert "py" in runtimes["python"].aliases
    assert all(runtime.version.count(".") == 2 for runtime in runtimes.values()), runtimes
    packages = client.get_packages()
    assert {package.language for package in packages if package.installed} == set(runtimes)

    done = run(client, "cpp", CPP, stdin="word", args=["a b"])
    assert (done.language, done.version) == ("c++", runtimes["c++"].version), done
    assert (done.run.stdout, done.run.stderr, done.run.output) == ("word a b\n", "e", "word a b\ne"), done
    assert (done.run.code, done.run.signal, done.compile.code) == (3, None, 0), done

    broken = run(client, "cpp", "int main( {")
    assert broken.compile.code != 0 and "error" in broken.run.stderr, broken

    named = File(name="prog", content="import sys; print(sys.argv[1:], input())")
    named = client.post_execute("py", runtimes["python"].version, named, stdin="x", args=["a", "b c"])
    assert named.run.stdout == "['a', 'b c'] x\n", named

    killed = run(client, "python", "while True: pass", run_timeout=300)
    assert (killed.run.code, killed.run.signal) == (None, "SIGKILL"), killed
    aborted = run(client, "python", "import os; os.abort()")
    assert (aborted.run.code, aborted.run.signal) == (None, "SIGABRT"), aborted

    for language, version in (("python", "1.x"), ("klingon", "*")):
        try:
            run(client, language, "", version)
        except BadRequestError:
            continue
        raise AssertionError(f"{language} {version} was taken")

    later = asyncio.run(client.get_runtimes_async())
    assert [runtime.language for runtime in later] == list(runtimes)


main()
