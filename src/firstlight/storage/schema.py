"""The tables of the store, and the migrations that lead to them."""

from __future__ import annotations

# The statements that lead from each schema version to the next. Never change a released one; append.
MIGRATIONS = (
    (
        """
        CREATE TABLE scores (
            space TEXT NOT NULL, skeleton TEXT NOT NULL, architecture TEXT NOT NULL,
            proxy TEXT NOT NULL, revision INTEGER NOT NULL, input TEXT NOT NULL, seed INTEGER NOT NULL,
            value REAL, parts TEXT NOT NULL, status TEXT NOT NULL, note TEXT NOT NULL, seconds REAL NOT NULL,
            PRIMARY KEY (space, skeleton, architecture, proxy, revision, input, seed)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE runs (
            id INTEGER PRIMARY KEY, settings TEXT NOT NULL UNIQUE, version TEXT NOT NULL, seed INTEGER NOT NULL,
            started TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, finished TEXT, result TEXT
        )
        """,
        """
        CREATE TABLE trials (
            run INTEGER NOT NULL REFERENCES runs (id), architecture TEXT NOT NULL,
            params INTEGER NOT NULL, macs INTEGER NOT NULL, utility REAL, elapsed REAL NOT NULL,
            PRIMARY KEY (run, architecture)
        ) WITHOUT ROWID
        """,
    ),
    (
        """
        CREATE TABLE evaluations (
            space TEXT NOT NULL, skeleton TEXT NOT NULL, architecture TEXT NOT NULL,
            data TEXT NOT NULL, recipe TEXT NOT NULL, seed INTEGER NOT NULL, revision INTEGER NOT NULL,
            accuracy REAL, epochs TEXT NOT NULL, status TEXT NOT NULL, note TEXT NOT NULL, seconds REAL NOT NULL,
            PRIMARY KEY (space, skeleton, architecture, data, recipe, seed, revision)
        ) WITHOUT ROWID
        """,
    ),
    ("ALTER TABLE trials ADD COLUMN dear_costs TEXT NOT NULL DEFAULT '{}'",),
    (
        """
        CREATE TABLE environments (
            id INTEGER PRIMARY KEY,
            firstlight TEXT NOT NULL, torch TEXT NOT NULL, python TEXT NOT NULL, cpu TEXT NOT NULL,
            UNIQUE (firstlight, torch, python, cpu)
        )
        """,
        # NULL: computed before versions were recorded
        "ALTER TABLE scores ADD COLUMN environment INTEGER REFERENCES environments (id)",
        "ALTER TABLE evaluations ADD COLUMN environment INTEGER REFERENCES environments (id)",
    ),
    (
        # NULL for params and macs: the network could not be built
        """
        CREATE TABLE new_trials (
            run INTEGER NOT NULL REFERENCES runs (id), architecture TEXT NOT NULL,
            params INTEGER, macs INTEGER, utility REAL, elapsed REAL NOT NULL, dear_costs TEXT NOT NULL DEFAULT '{}',
            PRIMARY KEY (run, architecture)
        ) WITHOUT ROWID
        """,
        "INSERT INTO new_trials SELECT run, architecture, params, macs, utility, elapsed, dear_costs FROM trials",
        "DROP TABLE trials",
        "ALTER TABLE new_trials RENAME TO trials",
    ),
)
