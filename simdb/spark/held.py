"""Held: what Spark keeps for a job until its result was made, and for a user until it is freed."""

from typing import Any


class Held:
    """The frames that a job reads several times; `with` releases them, also after an error."""

    def __init__(self) -> None:
        """Hold nothing."""
        self._frames: list[Any] = []

    def __enter__(self) -> "Held":
        """Begin a job."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the job."""
        self.release()

    def keep(self, frame: Any) -> Any:
        """Return the same rows, which are computed once, in memory and on local disks."""
        self._frames.append(frame.persist())
        return frame

    def take(self, frame: Any) -> Any:
        """Return the same frame, which is released with the others if it is cached."""
        self._frames.append(frame)
        return frame

    def made(self, result: Any, checkpoint: str | None, name: str) -> Any:
        """Return the result of a job: computed now if it was made of what is held."""
        return stored(result, checkpoint, name) if self._frames else result

    def release(self) -> None:
        """Release what is held."""
        while self._frames:
            self._frames.pop().unpersist()


def stored(frame: Any, checkpoint: str | None, name: str) -> Any:
    """Return the same rows, computed now: read from the checkpoint, or persisted."""
    if checkpoint is not None:
        path = f"{checkpoint}/{name}"
        frame.write.mode("overwrite").parquet(path)
        return frame.sparkSession.read.parquet(path)
    frame.persist()
    try:
        frame.count()
    except BaseException:
        frame.unpersist()
        raise
    return frame
