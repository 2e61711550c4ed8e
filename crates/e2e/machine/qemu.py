#!/usr/bin/python3
# Replaces QEMU in a test. It draws a fault, then becomes QEMU: with a hostile first process in the guest (owner.c), or with a process beside
# it that kills or stops it. The test fills in the settings.
import ctypes, json, os, random, signal, sys, time

SETTINGS = json.loads("""@SETTINGS@""")
PDEATHSIG = 1  # prctl(2)


def record(name, mode, content):  # initramfs, "newc" (kernel: driver-api/early-userspace/buffer-format)
    fields = [0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
    pad = lambda data: data + bytes(-len(data) % 4)
    return pad(head) + pad(content)


def beside(number, after):
    parent = os.getpid()
    if os.fork():
        return
    # It must not hold the stream, or nobody hears of QEMU's end.
    os.closerange(0, 4096)
    ctypes.CDLL(None).prctl(PDEATHSIG, signal.SIGKILL)
    time.sleep(after / 1000)
    if os.getppid() == parent:
        os.kill(parent, number)
    os._exit(0)


words = sys.argv[1:]
if "-initrd" in words:
    what = random.choices(list(SETTINGS["blows"]), SETTINGS["blows"].values())[0]
    after = random.randrange(SETTINGS["after"][0], SETTINGS["after"][1] + 1)
    with open(SETTINGS["log"], "a") as log:
        log.write(f"{os.getpid()} {what} {after}\n")
    if what in ("killed", "stopped"):
        beside(signal.SIGKILL if what == "killed" else signal.SIGSTOP, after)
    elif what != "nothing":
        image = os.memfd_create("image", 0)
        at = words.index("-initrd") + 1
        with open(words[at], "rb") as old, open(image, "wb", closefd=False) as new:
            old.seek(0)
            new.write(old.read())
            with open(SETTINGS["owner"], "rb") as owner:
                new.write(record("owner", 0o100755, owner.read()) + record("TRAILER!!!", 0, b""))
        words[at] = f"/proc/self/fd/{image}"
        at = words.index("-append") + 1
        told = f" owner={what} after={after} seed={random.getrandbits(32)} port={SETTINGS['port']}"
        words[at] = words[at].replace("rdinit=/tauto-guest", "rdinit=/owner") + told
        if SETTINGS["report"]:
            words += ["-chardev", f"file,id=report,path={SETTINGS['report']}", "-serial", "chardev:report"]
# Started from elsewhere it would not find its modules and firmware.
modules = {"QEMU_MODULE_DIR": "/usr/lib/x86_64-linux-gnu/qemu"}
os.execve(SETTINGS["qemu"], [SETTINGS["qemu"], "-L", "/usr/share/qemu", "-L", "/usr/share/seabios", *words], modules)
