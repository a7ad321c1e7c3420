"""The tables of the store, one script a version; a store of an older version is brought up to date when it is opened."""

from __future__ import annotations

# Written into the file's header, so that another program's database is told from ours.
APPLICATION_ID = 0x77687973  # "whys"

# Never edit one that was released: add the next. A case's body is JSON, and fields that a noun gains have defaults, so that
# only a change of the tables needs a script.
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE cases (
        id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice: a person writes "as case 12" into a ticket
        uid TEXT NOT NULL UNIQUE,              -- the same in every store, so that an import adds nothing twice
        opened REAL NOT NULL,
        outcome TEXT NOT NULL,
        summary BLOB NOT NULL,                 -- what a list and a comparison need: a twentieth of the body
        body BLOB NOT NULL
    );
    CREATE INDEX cases_opened ON cases (opened);
    """,
)
VERSION = len(MIGRATIONS)
