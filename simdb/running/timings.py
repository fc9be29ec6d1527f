"""Timings: how long the stages of a job take, and how much of it several threads could share."""

from dataclasses import dataclass
from time import perf_counter, process_time

from simdb.running.threads import SharedWork


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a job: its name, seconds, and processor seconds of all threads.

    `parallel`: the share of the processor seconds that any number of threads can share, 0 to 1.
    `note`: how the stage was done; empty if there is only one way.
    """

    name: str
    seconds: float
    processor_seconds: float
    parallel: float
    note: str = ""


class Timings:
    """The stages of one job, one after the other."""

    def __init__(self) -> None:
        """Begin without a stage."""
        self.stages: list[Stage] = []
        self.note = ""
        self._name = ""
        self._begun = (0.0, 0.0, 0.0)

    def begin(self, name: str) -> None:
        """End the stage before, if there is one, and begin another."""
        self.end()
        self._name, self._begun = name, _now()

    def end(self) -> None:
        """End the stage, if one has begun; `note` says how it was done."""
        if not self._name:
            return
        spent = [now - begun for now, begun in zip(_now(), self._begun, strict=True)]
        seconds, processor_seconds, shared = spent
        parallel = min(max(shared / max(processor_seconds, 1e-9), 0.0), 1.0)
        self.stages.append(Stage(self._name, seconds, processor_seconds, parallel, self.note))
        self._name = self.note = ""

    def whole(self) -> Stage:
        """Return all stages that have ended as one."""
        processor_seconds = sum(each.processor_seconds for each in self.stages)
        shared = sum(each.processor_seconds * each.parallel for each in self.stages)
        return Stage(
            "whole", sum(each.seconds for each in self.stages), processor_seconds,
            shared / max(processor_seconds, 1e-9),
        )  # fmt: skip


def _now() -> tuple[float, float, float]:
    return perf_counter(), process_time(), SharedWork.total_seconds
