"""The store: one SQLite file that holds scores, evaluations and runs."""
