"""What a person sees in the terminal: tables, progress, and the result of a search."""

from firstlight.views.console.progress import counting, phases, watching
from firstlight.views.console.ranking import show_ranking
from firstlight.views.console.result import show_result
from firstlight.views.console.scores import describe, show_network
from firstlight.views.console.terminal import (
    console,
    notices,
    program,
    show_facts,
    show_figures,
    show_graph,
    show_table,
)

__all__ = [
    "console",
    "counting",
    "describe",
    "notices",
    "phases",
    "program",
    "show_facts",
    "show_figures",
    "show_graph",
    "show_network",
    "show_ranking",
    "show_result",
    "show_table",
    "watching",
]
