"""A judgehost that runs each program once, on whatever CPU the kernel gives it: `plain_judgehost.py URL USER PASSWORD NAME`.

Written from the protocol of DOMjudge 9.0, as far as a problem needs whose output is compared. It ends when there is no work.
"""

import base64
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

url, user, password, name = sys.argv[1:]
secret = base64.b64encode(f"{user}:{password}".encode()).decode()


def ask(method, path, form=None):
    data = urllib.parse.urlencode(form).encode() if form is not None else None
    request = urllib.request.Request(f"{url}/{path}", data, {"Authorization": f"Basic {secret}"}, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def told(data):
    return base64.b64encode(data).decode()


def fetch(kind, number, directory):
    os.makedirs(directory, exist_ok=True)
    names = []
    for file in ask("GET", f"judgehosts/get_files/{kind}/{number}"):
        path = os.path.join(directory, file["filename"])
        with open(path, "wb") as out:
            out.write(base64.b64decode(file["content"]))
        os.chmod(path, 0o755 if file["is_executable"] else 0o644)
        names.append(path)
    return names


def judge(task, place):
    run, at = json.loads(task["run_config"]), lambda part: os.path.join(place, part)
    sources = fetch("source", task["submitid"], at("source"))
    fetch("compile", task["compile_script_id"], at("compile"))
    fetch("compare", task["compare_script_id"], at("compare"))
    fetch("testcase", task["testcase_id"], at("test"))
    program, output, limit = at("program"), at("output"), float(run["time_limit"])
    subprocess.run([at("compile/run"), program, str(run["memory_limit"]), *sources], check=True)
    form = {"compile_success": "1", "output_compile": "", "compile_metadata": told(b"exitcode: 0\n")}
    ask("PUT", f"judgehosts/update-judging/{name}/{task['judgetaskid']}", form)
    hard = int(limit * 1.1) + 2
    begun = time.time()
    with open(at("test/input"), "rb") as given, open(output, "wb") as printed:
        bound = lambda: resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
        process = subprocess.Popen([program], stdin=given, stdout=printed, preexec_fn=bound)
        _, status, used = os.wait4(process.pid, 0)
    time_used = used.ru_utime + used.ru_stime
    if time_used > limit:
        result = "timelimit"
    elif status != 0:
        result = "run-error"
    else:
        os.makedirs(at("feedback"), exist_ok=True)
        with open(output, "rb") as printed:
            words = [at("compare/run"), at("test/input"), at("test/output"), at("feedback") + "/"]
            code = subprocess.run(words, stdin=printed).returncode
        result = {42: "correct", 43: "wrong-answer"}[code]
    form = {
        "runresult": result, "runtime": f"{time_used:.3f}", "output_run": "", "output_diff": "", "output_error": "",
        "output_system": "", "metadata": told(f"cpu-time: {time_used:.3f}\n".encode()),
        "start_time": f"{begun:.6f}", "end_time": f"{time.time():.6f}", "hostname": name,
    }
    ask("POST", f"judgehosts/add-judging-run/{name}/{task['judgetaskid']}", form)


ask("POST", "judgehosts", {"hostname": name})
while tasks := ask("POST", "judgehosts/fetch-work", {"hostname": name}):
    for task in tasks:
        with tempfile.TemporaryDirectory() as place:
            judge(task, place)
