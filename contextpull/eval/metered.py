"""Asks for many things at once that cost money: bounded, counted, and ended when it must be."""

import math
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from contextpull.errors import InvalidInput
from contextpull.eval.transcripts import Tokens

_BUDGET_SPENT = "the budget was spent"
_INTERRUPTED = "interrupted"
_ONE_OF_EACH = Tokens(input=1, output=1)
_Job = TypeVar("_Job")


class Budget:
    """The most that new answers may cost; what is under way when it is spent is still finished.

    Rows that share one share what it holds. What is kept from before costs nothing.
    """

    def __init__(self, tokens: int | None = None, dollars: float | None = None) -> None:
        """None for no limit. Raises InvalidInput for one that is not above 0."""
        if tokens is not None and tokens < 1:
            raise InvalidInput(f"A budget of {tokens} tokens asks nothing. Give 1 or more.")
        if dollars is not None and not 0 < dollars < math.inf:
            raise InvalidInput(f"A budget must be a sum of dollars above 0, not {dollars:g}.")
        self.tokens = tokens
        self.dollars = dollars
        self._tokens_spent = 0
        self._dollars_spent = 0.0

    def add(self, tokens: Tokens, dollars: float | None) -> None:
        """Count what one answer cost; `dollars` are None where its price is unknown."""
        self._tokens_spent += tokens.input + tokens.output
        self._dollars_spent += dollars or 0.0

    @property
    def is_spent(self) -> bool:
        """Whether nothing more is to be asked."""
        if self.tokens is not None and self._tokens_spent >= self.tokens:
            return True
        return self.dollars is not None and self._dollars_spent >= self.dollars


@dataclass(frozen=True, slots=True)
class Spent:
    """What new answers have cost so far."""

    questions: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    dollars: float | None = 0.0
    """None once a price is unknown."""
    failures: int = 0
    """New answers that are no result."""
    is_interrupted: bool = False
    """Whether nothing more is asked, and only what is under way is finished."""


Price = Callable[[Tokens], float | None]
Progress = Callable[[int, int, Spent], None]
"""Called with the questions done, all of them, and what new ones have cost."""


def check_price(budget: Budget | None, price: Price, whose: str) -> None:
    """Raise InvalidInput for a budget in dollars where the price of `whose` is unknown."""
    if budget is not None and budget.dollars is not None and price(_ONE_OF_EACH) is None:
        raise InvalidInput(f"The price of {whose} is unknown: give --max-tokens, not --max-usd.")


class Meter:
    """Counts what answers cost, against a budget; for any number of threads."""

    def __init__(
        self,
        budget: Budget | None = None,
        price: Price = lambda _tokens: None,
        on_progress: Progress | None = None,
        *,
        total: int,
        done: int = 0,
    ) -> None:
        """`done` of `total` questions are there before anything is asked."""
        self._budget = budget or Budget()
        self._price = price
        self._on_progress = on_progress
        self._total = total
        self._done = done
        self._lock = threading.Lock()
        self.spent = Spent()

    @property
    def is_over(self) -> bool:
        """Whether the budget is spent."""
        return self._budget.is_spent

    def count(self, tokens: Tokens, *, failed: bool) -> None:
        """One more question is done."""
        cost = self._price(tokens)
        with self._lock:
            spent = self.spent
            known = None if cost is None or spent.dollars is None else spent.dollars + cost
            self._budget.add(tokens, cost)
            self._done += 1
            self.spent = replace(
                spent,
                questions=spent.questions + 1,
                tokens=spent.tokens + tokens,
                dollars=known,
                failures=spent.failures + failed,
            )
            self._tell()

    def interrupt(self) -> None:
        """Nothing more will be asked."""
        with self._lock:
            self.spent = replace(self.spent, is_interrupted=True)
            self._tell()

    def _tell(self) -> None:
        if self._on_progress:
            self._on_progress(self._done, self._total, self.spent)


def ask_for_all(
    jobs: Iterable[_Job], ask: Callable[[_Job], str], *, concurrency: int, meter: Meter
) -> str:
    """Call `ask` with each job, so many at once; why some were left, nothing where none was.

    What `ask` returns, if anything, is why the jobs after this one are not worth asking for. No
    job is begun either once the meter's budget is spent. A KeyboardInterrupt ends it when what is
    under way is finished; a second one drops that. Raises what `ask` raises, likewise.
    """
    return _Threads(iter(jobs), ask, meter).run(concurrency)


class _Threads(Generic[_Job]):
    """Daemons: a process that is to end at once does not wait for somebody's answer."""

    def __init__(self, jobs: Iterator[_Job], ask: Callable[[_Job], str], meter: Meter) -> None:
        self._jobs = jobs
        self._ask = ask
        self._meter = meter
        self._lock = threading.Lock()
        self._under_way = 0
        self._errors: list[BaseException] = []
        self._all_ended = threading.Event()
        self._why_not = ""

    def run(self, count: int) -> str:
        self._under_way = count
        for number in range(count):
            threading.Thread(target=self._work, name=f"asking-{number}", daemon=True).start()
        if count:
            self._wait()
        return self._why_not

    def _work(self) -> None:
        try:
            while job := self._next():
                self._stop(self._ask(job[0]))
        except BaseException as error:
            self._stop(repr(error))
            self._errors.append(error)
        finally:
            with self._lock:
                self._under_way -= 1
                if not self._under_way:
                    self._all_ended.set()

    def _next(self) -> tuple[_Job] | None:
        with self._lock:
            if self._why_not:
                return None
            for job in self._jobs:
                if self._meter.is_over:
                    self._why_not = _BUDGET_SPENT
                    return None
                return (job,)
            return None

    def _stop(self, why: str) -> None:
        with self._lock:
            self._why_not = self._why_not or why

    def _wait(self) -> None:
        """Until all threads have ended. Raises the interrupt, or what the first of them met."""
        interrupted: KeyboardInterrupt | None = None
        while not self._all_ended.is_set():
            try:
                self._all_ended.wait()
            except KeyboardInterrupt as interrupt:
                if interrupted:
                    raise  # whoever asks twice does not want to wait
                interrupted = interrupt
                self._stop(_INTERRUPTED)
                self._meter.interrupt()
        for error in (interrupted, *self._errors):
            if error:
                raise error
