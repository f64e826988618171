"""What there is to know of data before any network is built: size, classes, shape and balance."""

from __future__ import annotations

from dataclasses import dataclass

from firstlight.core.errors import TooFewError
from firstlight.data import Dataset

# Classes of fewer training samples are named
FEW = 10
# Below this ratio of the smallest class to the largest, classes count as unbalanced
BALANCED = 0.5


@dataclass(frozen=True)
class Look:
    """The facts of a data set.

    Attributes:
        samples: Samples for training and validation.
        tests: Samples of the test set.
        classes: The number of classes.
        input_shape: The shape of one sample.
        balance: The size of the smallest class relative to the largest, in the training and validation samples.
        untested: Classes without a test sample.
    """

    samples: int
    tests: int
    classes: int
    input_shape: tuple[int, ...]
    balance: float
    untested: tuple[str, ...]

    @property
    def chance(self) -> float:
        """The accuracy of a guess."""
        return 1 / self.classes

    def __str__(self) -> str:
        shape = "x".join(map(str, self.input_shape))
        words = (
            f"{self.samples:,} samples of {shape} in {self.classes} classes, and {self.tests:,} for the test at the end"
        )
        if self.balance < BALANCED:
            words += f"; the smallest class has {self.balance:.0%} of the samples of the largest"
        if self.untested:
            words += f"; the test has no sample of {', '.join(self.untested[:5])}{', ...' * (len(self.untested) > 5)}"
        return f"{words}."


def look_at(data: Dataset) -> Look:
    """Look at a data set with a test set, whose labels are only counted.

    Raises:
        TooFewError: If a class has fewer than two samples outside the test set: none could be learned and validated.
    """
    assert data.y_test is not None
    counts = data.y_train.bincount(minlength=data.classes) + data.y_val.bincount(minlength=data.classes)
    tests = data.y_test.bincount(minlength=data.classes)
    names = data.class_names or tuple(map(str, range(data.classes)))
    lonely = [name for name, count in zip(names, counts.tolist(), strict=True) if count < 2]
    if lonely:
        raise TooFewError(
            f"{'Classes' if len(lonely) > 1 else 'The class'} {', '.join(map(repr, lonely[:5]))} "
            f"{'have' if len(lonely) > 1 else 'has'} fewer than two samples outside the test set; a network needs some "
            "to learn from and some to validate on. Add samples, or remove the class."
        )
    untested = tuple(name for name, count in zip(names, tests.tolist(), strict=True) if not count)
    return Look(
        len(data.y_train) + len(data.y_val),
        len(data.y_test),
        data.classes,
        data.input_shape,
        float(counts.min() / counts.max()),
        untested,
    )
