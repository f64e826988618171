"""`firstlight score`: scores of architectures, or of your own model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firstlight.api.common import check_names
from firstlight.api.rank import rank as call
from firstlight.cli.derive import derived
from firstlight.cli.networks import from_flag, is_own_model, read_networks, seed_of
from firstlight.cli.printing import fail_without_scores, print_json
from firstlight.core.errors import SettingError

if TYPE_CHECKING:
    from firstlight.core.events import Callback, Event
    from firstlight.proxies.base import NetworkScore


@derived(call, without=("by", "samples"), more=(from_flag,))
def score(given: dict[str, Any]) -> None:
    """Score architectures of a space, or your own model, with one or more proxies.

    NETWORKS is a search space, followed by architectures; or your own model as module:name.

    For example:
    firstlight score nasbench201 --from architectures.txt --proxy dextr,params
    firstlight score nasbench201 '|none~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|'
    firstlight score mypackage.models:resnet --input-shape 3,32,32
    """
    as_json, name = given.pop("json", False), given.pop("networks")
    others, source = given.pop("architectures", ()), given.pop("from_file", None)
    check_names(space=name, proxies=given.get("proxies"))
    own = is_own_model(name, seed_of(given))
    if own and (others or source):
        raise SettingError(f"{name} is your own model, which takes no architectures. Leave them out.")
    networks, texts = read_networks(name, others, source, seed_of(given))
    if not own and not texts:
        raise SettingError(
            "No architecture was given. List some after the space, or read them with --from FILE. To score random "
            f"ones, use `firstlight rank {name} --samples 20`."
        )
    if "proxies" not in given and not own:
        from firstlight.spaces.finding import find_space

        given["proxies"] = find_space(name).proxy
    from firstlight.views.console.progress import showing

    with showing() as callback:
        printer = _InOrder(list(networks) if own else texts, None if own else name, callback, as_json=as_json)
        ranking = call(networks, texts, **given, callback=printer)
    fail_without_scores(row.network for row in ranking.rows)


class _InOrder:
    """Prints networks in the order they were given, each as soon as all before it are known."""

    def __init__(self, texts: list[str], space: str | None, callback: Callback, *, as_json: bool) -> None:
        self._texts, self._space, self._callback, self._as_json = texts, space, callback, as_json
        self._known: dict[str, NetworkScore] = {}
        self._printed = 0

    def __call__(self, event: Event) -> None:
        from firstlight.views.console.scores import show_network

        self._callback(event)
        if event.stage != "scoring":
            return
        self._known[event.architecture] = event.item
        while self._printed < len(self._texts) and self._texts[self._printed] in self._known:
            ready = self._known[self._texts[self._printed]]
            self._printed += 1
            if self._as_json:
                print_json({"space": self._space, **ready.to_dict()})
            else:
                show_network(ready)
