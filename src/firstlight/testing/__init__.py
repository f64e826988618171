"""Contract tests for your own proxies, spaces and algorithms. They need no test framework.

>>> from firstlight.testing import check_proxy
>>> check_proxy("params")
"""

from __future__ import annotations

from firstlight.testing.algorithms import algorithm_checks, check_algorithm
from firstlight.testing.contract import ContractError
from firstlight.testing.proxies import check_proxy, proxy_checks
from firstlight.testing.spaces import check_space, space_checks

__all__ = [
    "ContractError",
    "algorithm_checks",
    "check_algorithm",
    "check_proxy",
    "check_space",
    "proxy_checks",
    "space_checks",
]
