"""Writes a database as an earlier schema had it, with one more problem, which can be judged, and a submission that waits.

Arguments: the new file, the directory of the store's crate, the number of the schema, a directory with a problem package, a C program.
"""

import hashlib
import io
import os
import re
import sqlite3
import sys
import zipfile

target, store, schema, package, program = sys.argv[1:]


def packed(directory):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, _, names in os.walk(directory):
            for name in sorted(names):
                path = os.path.join(place, name)
                archive.write(path, os.path.relpath(path, directory))
    return content.getvalue()


def keep(database, content):
    """As the store keeps content: by its SHA-256, in pieces of 1 MiB."""
    name = hashlib.sha256(content).hexdigest()
    database.execute("INSERT INTO blobs (hash, size) VALUES (?, ?)", (name, len(content)))
    for piece in range(0, len(content), 1 << 20):
        part = content[piece : piece + (1 << 20)]
        database.execute("INSERT INTO blob_pieces (hash, piece, bytes) VALUES (?, ?, ?)", (name, piece >> 20, part))
    return name


def text(*path):
    return open(os.path.join(store, *path)).read()


database = sqlite3.connect(target)
database.executescript("CREATE TABLE schema_versions (version BIGINT PRIMARY KEY)")
for step in range(1, int(schema) + 1):
    steps = text("migrations", f"{step}.sql").replace("{id}", "INTEGER PRIMARY KEY AUTOINCREMENT")
    database.executescript(f"{steps}; INSERT INTO schema_versions (version) VALUES ({step});")
database.executescript(re.sub(r"\{hex:([0-9a-f]*):hex\}", r"x'\1'", text("tests", "schemas", f"{schema}.sql")))
now = 1_800_000_000_000_000
token = hashlib.sha256(b"jury-token").hexdigest()
database.execute(
    "INSERT INTO api_tokens (owner, name, hash, scopes, created) VALUES (1, 'old', ?, 'read rejudge', ?)", (token, now)
)
zipped, source = keep(database, packed(package)), keep(database, open(program, "rb").read())
database.execute("INSERT INTO problems (name, title, created) VALUES ('old', 'Old', ?)", (now,))
database.execute(
    "INSERT INTO problem_versions (problem, number, package, author, created) VALUES (2, 1, ?, 1, ?)", (zipped, now)
)
submission = database.execute(
    "INSERT INTO submissions (token, version, author, language, details, created, judgements) "
    "VALUES ('waiting', 2, 1, 'c', '{}', ?, 0)",
    (now,),
).lastrowid
database.execute("INSERT INTO files (submission, name, position, hash) VALUES (?, 'main.c', 0, ?)", (submission, source))
# What somebody waits for; from schema 3 on contests come before.
urgency = 0 if int(schema) < 3 else 2
database.execute(
    "INSERT INTO jobs (submission, version, author, purpose, urgency, ticket, state, attempt, created) "
    "VALUES (?, 2, 1, 'verdict', ?, 9, 'queued', 0, ?)",
    (submission, urgency, now),
)
database.commit()
database.close()
