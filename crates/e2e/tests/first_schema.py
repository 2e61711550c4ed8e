"""Writes a database as the first released schema had it, with a problem that can be judged.

Arguments: the new file, the statements of the first schema, recorded rows, a directory with a problem package, a C program.
"""

import hashlib
import io
import os
import re
import sqlite3
import sys
import zipfile

target, schema, rows, package, program = sys.argv[1:]


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


database = sqlite3.connect(target)
database.executescript(open(schema).read().replace("{id}", "INTEGER PRIMARY KEY AUTOINCREMENT"))
database.executescript("CREATE TABLE schema_versions (version BIGINT PRIMARY KEY)")
database.executescript(re.sub(r"\{hex:([0-9a-f]*):hex\}", r"x'\1'", open(rows).read()))
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
database.execute(
    "INSERT INTO submissions (token, version, author, language, details, created, judgements) "
    "VALUES ('third', 2, 1, 'c', '{}', ?, 0)",
    (now,),
)
database.execute("INSERT INTO files (submission, name, position, hash) VALUES (3, 'main.c', 0, ?)", (source,))
database.execute(
    "INSERT INTO jobs (submission, version, author, purpose, urgency, ticket, state, attempt, created) "
    "VALUES (3, 2, 1, 'verdict', 0, 3, 'queued', 0, ?)",
    (now,),
)
database.commit()
database.close()
