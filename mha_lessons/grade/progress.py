"""One line on a terminal that says how far a long run is; nothing where there is no terminal."""

import time


class Progress:
    """The line, below whatever else is printed.

    Parameters
    ----------
    stream : text stream
    total : int
        How many notebooks there are; for one, no line is shown.
    """

    def __init__(self, stream, total):
        self.stream, self.total = stream, total
        self.done = self.complete = self.known = 0
        self.shown, self.start = total > 1 and stream.isatty(), time.monotonic()

    def add(self, submission, known=False):
        """Count one more; it took no time when it was `known`."""
        self.done += 1
        self.complete += submission.complete
        self.known += known

    def draw(self):
        """Write the line; the cursor stays in it."""
        if self.shown:
            graded = self.done - self.known
            left = (time.monotonic() - self.start) / max(graded, 1) * (self.total - self.done)
            about = f", about {_duration(left)} left" if graded else ""
            words = f"{self.done} of {self.total} graded, {self.complete} complete{about}"
            self.stream.write(f"\r\x1b[K{words}")
            self.stream.flush()

    def clear(self):
        """Take the line away."""
        if self.shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()


def _duration(seconds):
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
