"""A corpus to write questions about, and stand-ins for who writes and who criticises."""

import json
import re
import threading
from collections.abc import Callable
from typing import Any

from contextpull.eval.golden.writing.plan import KINDS
from tests.conftest import Files
from tests.standins import Request, Says, Step

TOPICS = (
    *("harbour", "granary", "foundry", "orchard", "quarry", "chapel", "brewery", "tannery"),
    *("smithy", "bakery", "sawmill", "vineyard", "shipyard", "library", "stable", "dairy"),
)
_FACT = re.compile(r"The (\w+) closes its heavy gate .*?units\.")

Answer = dict[str, Any]
Rule = Callable[[str], Any]


def topic_text(topic: str, number: int) -> str:
    """A document with one passage about a topic; it shares rare words with its neighbour's."""
    told = " ".join(
        [
            *(f"{topic}word{step}" for step in range(6)),
            *(f"guild{number // 2}word{step}" for step in range(9)),
        ]
    )
    return (
        f"# The {topic}\n\nThe {topic} closes its heavy gate whenever the western barometer falls"
        f" below {number} units. Every keeper has followed that rule since then, and {topic}"
        f" visitors hear about it at once: {told}.\n"
    )


def topics(count: int) -> Files:
    """So many documents, each about a topic of its own."""
    return {f"{topic}.md": topic_text(topic, 700 + at) for at, topic in enumerate(TOPICS[:count])}


def kind_of(prompt: str) -> str:
    """What kind of question a prompt is about."""
    [kind] = [name for name, kind in KINDS.items() if kind.task in prompt]
    return kind


def sound(prompt: str) -> Answer:
    """What a good writer answers."""
    found = list(_FACT.finditer(prompt.replace("\u200b", "")))
    one, other = found[0][1], found[-1][1]
    is_harder = "Write a harder one" in prompt
    question = {
        "search": f"{one} entrance {'limit' if is_harder else 'pressure'}",
        "fact": f"At what air pressure is a {one} {'locked' if is_harder else 'shut'}?",
        "why": f"How does a {one} react to {'storms' if is_harder else 'weather'}?",
        "two_places": f"Which is shut first, a {one} or a {other}{', in storms' * is_harder}?",
        "long": f"I run the {one}house of {one}ville with {one}folk and {one}beasts. When do I"
        f" have to shut the entrance of it {'soon' if is_harder else 'for'} them all?",
    }[kind_of(prompt)]
    return {
        "question": question,
        "answer": f"When the air pressure is low at the {one}.",
        "quotes": [{"passage": at, "words": each[0]} for at, each in enumerate(found, start=1)],
        "declined": "",
    }


def agrees(_prompt: str) -> Answer:
    """What a content critic answers."""
    return {"feedback": "", "alone": 0.9, "clear": 1, "answered": 0.95}


class Scripted:
    """Answers by rule, and remembers what it was asked; any number of threads may ask."""

    def __init__(self, rule: Rule = sound) -> None:
        self.rule = rule
        self.prompts: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, prompt: str, schema: dict[str, Any]) -> Answer:
        assert schema["additionalProperties"] is False
        with self._lock:
            self.prompts.append(prompt)
        answer: Answer = self.rule(prompt)
        return answer


def changed(**fields: Any) -> Rule:
    """A writer of whom each first answer has a fault, and each later one has not."""
    return lambda prompt: sound(prompt) | ({} if "was sent back" in prompt else fields)


def is_critic(request: Request) -> bool:
    """Whether a request is put to the critic."""
    return "judge" in request.system


def writes_and_judges(request: Request) -> Step:
    """The answer of a model that does both well."""
    answer = agrees if is_critic(request) else sound
    return Says(json.dumps(answer(request.question)))
