#!/usr/bin/python3
# run: --memory 256M --wall-time 10
# expect: ok
# needs: python3
# why: control: an ordinary interpreter with libraries works inside
import collections, hashlib, json, math, os, subprocess, sys, tempfile, threading
with tempfile.NamedTemporaryFile() as file:
    file.write(b"x")
assert subprocess.run(["/bin/sh", "-c", "echo ok"], capture_output=True).stdout == b"ok\n"
thread = threading.Thread(target=lambda: None)
thread.start()
thread.join()
assert os.getuid() != 0
