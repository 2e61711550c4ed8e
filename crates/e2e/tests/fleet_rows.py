"""Puts nodes into a service's database as they are after some days in a pool: one in service, one that waits, one that is suspected.

Argument: the database, whose pool `metal` there is, with the kernel 6.12.48 and a value of dram_ns.
"""

import json
import sqlite3
import sys
import time

database = sqlite3.connect(sys.argv[1], timeout=20)
NOW = int(time.time() * 1_000_000)
HOUR = 3_600_000_000


def statement(node, kernel, dram):
    parts = [("rounds_per_second", 374.0, 0.2), ("clock_ghz", 3.0, 0.1), ("l1_ns", 1.3, 0.1), ("dram_ns", dram, 0.4)]
    slot = {"id": 0, "cpus": [4], "idle_siblings": [5], "mem_nodes": [0], "package": 0, "isolation": "partition"}
    return {
        "form": 1, "node": node, "pool": "metal", "version": "0.1.0", "protocol": 2, "at": NOW, "boot_id": "b0", "fingerprint": "0123456789abcdef",
        "kind": "bare_metal", "cpu_model": "Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz", "cpu_version": "6/85/7", "microcode": "0x5003604",
        "topology": "2 × 20 cores × 2, L1 32K L2 1024K L3 28160K", "memory_bytes": 256 << 30, "kernel": kernel,
        "mitigations": {"mds": "Mitigation: Clear CPU buffers", "spectre_v2": "Mitigation: Enhanced / Automatic IBRS"},
        "tuning": {"governor": "performance", "turbo": "off"}, "slots": [slot],
        "index": {"taken_at": NOW, "parts": [{"part": part, "value": value, "repeatability_pct": stray} for part, value, stray in parts]},
    }


def health(charges, findings):
    def total(value):
        return {"value": value, "since": NOW - HOUR, "n": 3 if value else 0, "total": 1.0}

    still = [total(0.0), total(0.0)]
    return {"learning": [], "before": None, "baseline": None, "power": [[total(9.0), total(0.0)], still, still],
            "charges": total(charges), "voids": total(0.0), "findings": findings}


def node(name, state, reason, waits, kernel, dram, doubted, tests):
    stated = json.dumps(statement(name, kernel, dram))
    database.execute(
        "INSERT INTO nodes (name, pool, state, reason, facts, first_seen, last_seen, waits, statement, admitted, health, doubted_since)"
        " VALUES (?, 'metal', ?, ?, '{}', ?, ?, ?, ?, ?, ?, ?)",
        (name, state, reason, NOW - 90 * HOUR, NOW, waits and json.dumps(waits), stated, None if waits else stated, tests and json.dumps(tests), doubted),
    )
    database.execute("INSERT INTO node_events (node, at, kind, text) VALUES (?, ?, 'admitted', 'it is as its pool is')", (name, NOW - 90 * HOUR))
    for hour in range(90, 0, -2):
        slower = 1.0 + (0.002 if hour % 4 else 0.0) + (0.05 if doubted is not None and hour < 20 else 0.0)
        probe = {"at": NOW - hour * HOUR, "parts": [["rounds_per_second", 374.0 / slower], ["clock_ghz", 3.0 / slower], ["l1_ns", 1.3 * slower], ["dram_ns", dram * slower]]}
        if hour == 2:
            rest = ["l2_ns", "l3_ns", "bandwidth_gb_s", "mispredict_ns", "page_fault_ns", "syscall_ns", "fork_exec_ns"]
            probe["parts"] += [[part, 123456.78] for part in rest]
        database.execute("INSERT INTO node_samples (node, at, kind, value) VALUES (?, ?, 'probe', ?)", (name, NOW - hour * HOUR, json.dumps(probe)))


with database:
    why = "core: 5.0 % slower than after it was admitted, by the mean of 6 probes"
    found = {"chart": "power", "group": "core", "slower": True, "reason": why, "since": NOW - 20 * HOUR, "found": NOW - HOUR}
    waits = ["kernel: it is 6.12.50, and the pool's is 6.12.48", "dram_ns: 94.50 ns is 5.0 % slower than the pool's 90.00 ns, beyond its tolerance of 2.0 % by 3.0 %"]
    node("judge7", "drained", why, None, "6.12.48", 90.0, 0, health(60.0, [found]))
    node("judge8", "active", None, None, "6.12.48", 90.1, None, health(0.0, []))
    node("judge9-with-a-rather-long-name-as-clouds-give-them-to-machines", "active", None, waits, "6.12.50", 94.5, None, None)
    database.execute("INSERT INTO node_events (node, at, kind, text) VALUES ('judge7', ?, 'suspected', ?)", (NOW - HOUR, why))
    database.execute("UPDATE jobs SET node = 'judge7' WHERE state = 'judged'")
