"""A column's name says what it holds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.tables.targets import Target


@pytest.mark.parametrize(
    ("name", "dataset", "split", "figure", "epochs", "words"),
    [
        ("cifar10_test_200", "cifar10", "test", "accuracy", 200, "cifar10: test accuracy after 200 epochs"),
        (
            "class_object_val_25",
            "class_object",
            "val",
            "accuracy",
            25,
            "class_object: validation accuracy after 25 epochs",
        ),
        ("val_acc_108", None, "val", "accuracy", 108, "validation accuracy after 108 epochs"),
        ("imagenet16_valid_12", "imagenet16", "val", "accuracy", 12, "imagenet16: validation accuracy after 12 epochs"),
        ("cifar10_train_seconds_200", "cifar10", "train", "seconds", 200, "cifar10: training seconds after 200 epochs"),
        ("normal_val_ssim_best", "normal", "val", "ssim", "best", "normal: validation ssim of the best epoch"),
        (
            "room_layout_test_neg_loss_25",
            "room_layout",
            "test",
            "neg_loss",
            25,
            "room_layout: test neg loss after 25 epochs",
        ),
        ("val_accuracy", None, "val", "accuracy", None, "validation accuracy"),
        ("params", None, None, None, None, "a number; its name says no more"),
        ("v11_cifar10_test_200_mean", None, None, None, None, "a number; its name says no more"),
    ],
)
def test_names(
    name: str, dataset: str | None, split: str | None, figure: str | None, epochs: int | str | None, words: str
) -> None:
    target = Target.of_column(name)
    assert (target.dataset, target.split, target.figure, target.epochs) == (dataset, split, figure, epochs)
    assert str(target) == words
    assert target.is_accuracy == (figure == "accuracy")


WORD = st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True).filter(lambda word: not re.search("train|val|test", word))


@given(dataset=WORD, split=st.sampled_from(["train", "val", "test"]), epochs=st.integers(0, 10_000))
def test_the_documented_form_reads_back(dataset: str, split: str, epochs: int) -> None:
    target = Target.of_column(f"{dataset}_{split}_{epochs}")
    assert (target.dataset, target.split, target.epochs) == (dataset, split, epochs)
    assert target.is_accuracy


def test_epochs_of_thousands_of_digits_are_none() -> None:
    assert Target.of_column("cifar10_test_" + "9" * 5000).epochs is None


@given(name=st.text())
def test_any_name_is_some_target(name: str) -> None:
    target = Target.of_column(name)
    assert target.name == name
    assert str(target)
