"""AutoFormer: sizes, counters and outputs of the reference transformers, their slices, and the grammar."""

from __future__ import annotations

import itertools
import json
import math
import random
from typing import Any

import pytest
import torch
from tests.conftest import GOLDEN
from tests.reference import fill_by_rule, pattern
from torch import Tensor, nn

from firstlight.core.errors import ParseError, SettingError
from firstlight.spaces import SPACES
from firstlight.spaces.autoformer.network import AutoFormerSkeleton, Transformer
from firstlight.spaces.autoformer.space import AutoFormer, AutoFormerBase, AutoFormerSmall, AutoFormerTiny
from firstlight.testing.spaces import runs_everywhere

BY_LETTER: dict[str, AutoFormer] = {"T": AutoFormerTiny(), "S": AutoFormerSmall(), "B": AutoFormerBase()}
TINY = BY_LETTER["T"]
EVERY_SIZE = pytest.mark.parametrize("space", BY_LETTER.values(), ids=list(BY_LETTER))
FILE = json.loads((GOLDEN / "autoformer.json").read_text())
RECORDS = FILE["records"]
# width and MLP width of the weight-sharing networks that the published transformers are slices of
SUPERNETS = {"T": (256, 4, 14), "S": (448, 7, 14), "B": (640, 10, 16)}


def named(record: dict[str, Any]) -> str:
    return f"{record['space']}-{RECORDS.index(record)}"


EVERY_RECORD = pytest.mark.parametrize("record", RECORDS, ids=named)
PROBED = [record for record in RECORDS if "probe_standalone" in record]
EVERY_PROBED = pytest.mark.parametrize(
    "record",
    [pytest.param(r, marks=[pytest.mark.slow] if r["params_standalone"] > 50e6 else [], id=named(r)) for r in PROBED],
)


def transformer(record: dict[str, Any]) -> Transformer:
    return Transformer(record["embed_dim"], tuple(record["num_heads"]), tuple(map(float, record["mlp_ratio"])))


@EVERY_RECORD
def test_sizes_of_the_reference_transformers(record: dict[str, Any]) -> None:
    space, architecture = BY_LETTER[record["space"]], transformer(record)
    assert space.parse(str(architecture)) == architecture
    assert space.cost(architecture).params == record["params_standalone"] == record["params_reference_counter"]
    assert space.published_complexity(architecture) == record["complexity_reference_counter"]
    assert list(architecture.hidden) == record["hidden_widths"]
    with torch.device("meta"):
        network = space.network(architecture, space.skeleton())
    assert sum(parameter.numel() for parameter in network.parameters()) == record["params_standalone"]
    if "weight_shapes_block0" in record:
        first = [parameter for block in network.body[:2] for parameter in block.parameters()]
        rest = [p for name, p in network.named_parameters() if not name.startswith("body.")]
        assert shapes(first) == sorted(map(tuple, record["weight_shapes_block0"].values()))
        assert shapes(rest) == sorted(map(tuple, record["weight_shapes_other"].values()))


def shapes(parameters: list[nn.Parameter]) -> list[tuple[int, ...]]:
    return sorted(tuple(parameter.shape) for parameter in parameters)


@EVERY_PROBED
@pytest.mark.parametrize("class_token", [0, 1])
def test_outputs_of_the_reference_transformers(record: dict[str, Any], class_token: int) -> None:
    key = "probe_standalone_class_token" if class_token else "probe_standalone"
    if key in record:
        space = BY_LETTER[record["space"]]
        network = space.network(transformer(record), space.skeleton(class_token=class_token)).double()
        check_output(fill_by_rule(network), record[key])


@EVERY_PROBED
def test_outputs_of_slices_of_the_weight_sharing_network(record: dict[str, Any]) -> None:
    width, heads, depth = SUPERNETS[record["space"]]
    with torch.device("meta"):
        whole = BY_LETTER["T"].network(Transformer(width, (heads,) * depth, (4.0,) * depth), AutoFormerSkeleton())
    assert sum(p.numel() for p in whole.parameters()) == FILE["meta"]["supernet_params"][record["space"]]
    space = BY_LETTER[record["space"]]
    network = space.network(transformer(record), space.skeleton()).double()
    fill_with_slices(network, whole)
    check_output(network, record["probe_slices_of_supernet"])


@torch.no_grad()
def fill_with_slices(network: nn.Module, whole: nn.Module) -> None:
    """Leading rows and columns of each tensor; the rows of queries, keys and values take turns."""
    large = dict(whole.named_parameters())
    for name, parameter in network.named_parameters():
        u = pattern(*large[name].shape)
        if u.ndim >= 2:
            full = u * math.sqrt(6 / u[0].numel())
        else:
            full = 0.1 * u + ("norm" in name and name.endswith("weight"))
        rows = full[: len(parameter)]
        if name.endswith("qkv.weight"):
            rows = torch.cat([rows[start::3] for start in range(3)])
        parameter.copy_(rows[tuple(slice(size) for size in parameter.shape)])


def check_output(network: nn.Module, expected: list[float]) -> None:
    with torch.no_grad():
        out: Tensor = network(pattern(1, 3, 224, 224)).flatten()[:4]
    torch.testing.assert_close(out, torch.tensor(expected, dtype=torch.float64), rtol=1e-6, atol=1e-9)


def test_all_records_are_read() -> None:
    probes = [key for record in RECORDS for key in record if key.startswith("probe")]
    assert (len(RECORDS), len(PROBED), len(probes)) == (24, 9, 21)


@pytest.mark.parametrize(
    ("letter", "smallest", "largest"), [("T", 5.37, 10.52), ("S", 13.06, 34.79), ("B", 41.69, 76.88)]
)
def test_the_range_of_sizes(letter: str, smallest: float, largest: float) -> None:
    space = BY_LETTER[letter]
    extremes = [
        Transformer(choose(space.widths), (choose(space.heads),) * depth, (choose(space.ratios),) * depth)
        for choose, depth in ((min, min(space.depths)), (max, max(space.depths)))
    ]
    assert [round(space.cost(extreme).params / 1e6, 2) for extreme in extremes] == [smallest, largest]


def parameters_by_hand(width: int, heads: list[int], ratios: list[float]) -> int:
    """Patches, blocks of attention and MLP with tables of relative positions, the last norm, classes, positions."""
    total = 768 * width + width + 2 * width + 1000 * width + 1000 + width * (2 + 196)
    for head, ratio in zip(heads, ratios, strict=True):
        hidden = int(width * ratio)
        attention = width * 192 * head + 192 * head + 64 * head * width + width + 4 * 30 * 64
        total += 4 * width + attention + width * hidden + hidden + hidden * width + width
    return total


def test_networks_of_the_size_that_tf_tas_found() -> None:
    """6.20 M: 192 wide and 13 deep, with how many wide blocks is not published. So many of them are of that size."""
    found = []
    for many_heads, wide in itertools.product(range(14), repeat=2):
        heads = [4] * many_heads + [3] * (13 - many_heads)
        ratios = [4.0] * wide + [3.5] * (13 - wide)
        params = TINY.cost(Transformer(192, tuple(heads), tuple(ratios))).params
        assert params == parameters_by_hand(192, heads, ratios)
        if round(params / 1e6, 2) == 6.20:
            found.append((many_heads, wide))
    assert found == [(1, 10), (4, 6), (7, 2)]


@EVERY_SIZE
def test_the_number_of_transformers(space: AutoFormer) -> None:
    assert len(space) == 3 * sum((len(space.heads) * len(space.ratios)) ** depth for depth in space.depths)
    start = list(itertools.islice(space, 1000))
    assert len(set(start)) == 1000
    assert all(space.parse(str(architecture)) == architecture for architecture in start)


def test_enumeration_is_complete() -> None:
    class Few(AutoFormer):
        name = "few"
        widths, depths, heads, ratios = (192, 216), (1, 2), (3, 4), (3.5, 4.0)

    assert len(set(Few())) == len(list(Few())) == len(Few()) == 2 * (4 + 16)


@EVERY_SIZE
def test_mutations_draw_anew_with_the_probabilities_of_the_paper(space: AutoFormer) -> None:
    rng = random.Random(0)
    parent = space.sample(rng)
    children = [space.mutate(parent, rng) for _ in range(2000)]
    other_width = sum(child.width != parent.width for child in children) / len(children)
    assert other_width == pytest.approx(0.4 * 2 / 3, abs=0.05)
    other_heads = sum(child.heads[0] != parent.heads[0] for child in children) / len(children)
    assert other_heads == pytest.approx(0.2 * (1 - 1 / len(space.heads)), abs=0.04)
    for child in children:
        assert child.depth == len(child.ratios)
    with pytest.raises(SettingError, match="Set one of them above 0"):
        space.mutate(parent, rng, layer_probability=0.0, shape_probability=0.0)
    fixed = [space.mutate(parent, rng, layer_probability=0.0) for _ in range(50)]
    assert all(a == b for child in fixed for a, b in zip(child.heads, parent.heads, strict=False))


def test_children_take_each_choice_from_either_parent() -> None:
    rng = random.Random(1)
    first = Transformer(192, (3,) * 12, (3.5,) * 12)
    second = Transformer(240, (4,) * 12, (4.0,) * 12)
    children = [TINY.crossover(first, second, rng) for _ in range(500)]
    assert {child.width for child in children} == {192, 240}
    mean_heads = sum(sum(child.heads) for child in children) / 500 / 12
    assert mean_heads == pytest.approx(3.5, abs=0.05)
    assert all(TINY.parse(str(child)) == child for child in children)
    assert TINY.crossover(first, first, rng) == first


def test_parents_of_different_depth_have_no_child() -> None:
    with pytest.raises(SettingError, match="12 and 13 blocks"):
        TINY.crossover(
            Transformer(192, (3,) * 12, (4.0,) * 12), Transformer(192, (3,) * 13, (4.0,) * 13), random.Random(0)
        )


TWELVE = "192:" + "-".join(["3x3.5"] * 12)


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("", 0, "the width of the tokens, one of 192, 216, 240"),
        ("256:3x4", 0, "192, 216, 240"),
        ("192", 3, "':'"),
        ("192:", 4, "a number of heads, one of 3, 4"),
        ("192:5x4", 4, "a number of heads"),
        ("192:3*4", 5, "'x'"),
        ("192:3x3", 6, "an MLP ratio, one of 3.5, 4"),
        ("192:-3x4", 4, "a number of heads"),
        ("192:3x4", 7, "'-'"),  # too shallow
        ("192:3x4.0-3x4", 7, "'-'"),
        (TWELVE + "-3x4-3x4-3x4", len(TWELVE) + 8, "there are 14 blocks"),
        (TWELVE + "-", len(TWELVE) + 1, "a number of heads"),
        (TWELVE.replace("192", "١٩٢"), 0, "192, 216, 240"),
    ],
)
def test_errors_point_at_the_place(text: str, position: int, expected: str) -> None:
    with pytest.raises(ParseError, match=expected) as caught:
        TINY.parse(text)
    assert caught.value.position == position


@pytest.mark.parametrize(
    "setting",
    [
        *({"input_shape": shape} for shape in ((3, 30, 32), (3, 32), (0, 32, 32), (3, 0, 16))),
        *({"classes": 0}, {"class_token": 2}),
    ],
)
def test_skeletons_that_cannot_be_built(setting: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="multiples of 16"):
        TINY.skeleton(**setting)


def test_weights_are_drawn_as_the_paper_says() -> None:
    network = TINY.build(TWELVE, AutoFormerSkeleton((3, 32, 32), 10))
    for name, parameter in network.named_parameters():
        values = parameter.detach()
        if "norm" in name:
            assert torch.equal(values, torch.full_like(values, name.endswith("weight")))
        elif name.startswith("patches"):
            assert float(values.abs().max()) <= 768**-0.5
            assert float(values.std()) > 0.3 * 768**-0.5
        elif name.endswith("bias"):
            assert not values.any()
        else:
            assert float(values.std()) == pytest.approx(0.02, rel=0.15), name


def test_features_are_taken_behind_attention_and_mlp() -> None:
    assert len(TINY.build(TWELVE, AutoFormerSkeleton((3, 32, 32), 10)).feature_blocks()) == 24


def test_the_drawing_is_a_chain_of_blocks() -> None:
    drawing = TINY.drawing(TINY.parse(TWELVE))
    assert drawing.nodes[0] == "patches, 192 wide"
    assert drawing.form == "stack"
    assert drawing.edges[11] == (11, 12, "3 heads, MLP 3.5x")


@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 64, 48)])
@pytest.mark.parametrize("class_token", [0, 1])
def test_networks_run(shape: tuple[int, ...], class_token: int) -> None:
    skeleton = AutoFormerSkeleton(shape, 5, class_token)
    architecture = TINY.sample(random.Random(class_token))
    runs_everywhere(TINY, architecture, skeleton)
    assert TINY.cost(architecture, skeleton) == super(AutoFormer, TINY).cost(architecture, skeleton)


def test_all_are_registered_and_what_they_share_is_not() -> None:
    assert {space.name for space in BY_LETTER.values()} <= SPACES.keys()
    assert not any(type(space) is AutoFormer for space in SPACES.values())


@pytest.mark.parametrize("initialization", ["xavier", "he"])
def test_other_initializations_leave_nothing_unset(initialization: str) -> None:
    network = TINY.build(TINY.sample(random.Random(0)), TINY.skeleton(classes=2), initialization=initialization)
    assert max(float(parameter.detach().abs().max()) for parameter in network.parameters()) < 2
