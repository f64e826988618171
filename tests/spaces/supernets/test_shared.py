"""What spaces offer of weights that architectures share."""

from __future__ import annotations

import pytest

from firstlight.core.errors import SettingError
from firstlight.spaces import SPACES


def test_which_spaces_share_weights() -> None:
    for name in ("nasbench201", "nasrec-small", "nasrec-full"):
        shared = SPACES[name].shared()
        assert shared.name == name
        assert shared.policy().name == shared.policies[0]
        assert [shared.policy(policy).name for policy in shared.policies] == list(shared.policies)
    with pytest.raises(
        SettingError, match=r"'nasbench101' has no shared weights.* one of nasbench201, nasrec-full, nasrec-small, or"
    ):
        SPACES["nasbench101"].shared()
