"""Exact look-up by rule: what a name means that is defined in one section only."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from contextpull.eval.generation.checks import Kept
from contextpull.eval.generation.corpus import Corpus
from contextpull.eval.generation.names import FEW, NameIndex, defined_in
from contextpull.eval.generation.plan import Made, Plan, SetAside, new_question
from contextpull.eval.generation.sampling import choose, spread

SHAPE = "exact_lookup"
MOST_PER_SECTION = 3
_FEWEST_WORDS = 4
_WORD = re.compile(r"(?<![\w-])[^\W\d_]{2,}(?![\w-])")
_NEWS = re.compile(
    r"change|release|what.?s.new|history|migrat|upgrad|deprecat|known issues|fixed", re.I
)
"""Where names are listed for what became of them, not for what they mean."""
_NONE = "no name is defined in exactly one section"
_FLAG = ("What does `{name}` do?", "What is the flag `{name}` for?", "When would I use `{name}`?")
_CODE = ("What does {name} mean?", "What is {name} about?", "What does {name} stand for?")
_OTHER = ("What is `{name}`?", "What is `{name}` for?", "How is `{name}` defined?")


class _Definition(NamedTuple):
    key: str
    number: int
    """The section that holds it."""
    said: str


def exact_lookup(corpus: Corpus, names: NameIndex, plan: Plan, kept: Kept) -> Made:
    """Questions about a name that one section defines and few mention."""
    definitions = list(_definitions(corpus, names))
    made = Made(SHAPE, by="rule", candidates=len(definitions))
    in_section: Counter[int] = Counter()
    for each in spread(
        definitions,
        plan.seed,
        name=lambda each: each.key,
        groups=(lambda each: corpus.sections[each.number].document, lambda each: each.number),
    ):
        if len(made.questions) == plan.per_shape:
            break
        if in_section[each.number] == MOST_PER_SECTION:
            continue
        name = names.spelling(each.key)
        text = _text(name, plan.seed)
        gold = corpus.at({each.number})
        question = new_question(SHAPE, text, gold, answer=each.said, identifier=name)
        reason = _fault(corpus, each) or kept.add(question)
        if reason:
            made.set_aside.append(SetAside(SHAPE, name, reason, text))
        else:
            in_section[each.number] += 1
            made.questions.append(question)
    if not made.questions:
        made.skipped = _NONE
    return made


def _definitions(corpus: Corpus, names: NameIndex) -> Iterator[_Definition]:
    """The definitions of names that have one, and few mentions."""
    found: dict[str, list[_Definition]] = {}
    for number, section in enumerate(corpus.sections):
        if not section.is_metadata:
            for key, said in defined_in(section).items():
                found.setdefault(key, []).append(_Definition(key, number, said))
    for key, definitions in found.items():
        if (
            len(definitions) == 1
            and len(_WORD.findall(definitions[0].said)) >= _FEWEST_WORDS
            and names.is_name(key)
            and len(names.holders(key)) <= FEW
        ):
            yield definitions[0]


def _fault(corpus: Corpus, definition: _Definition) -> str:
    if definition.number in corpus.repeated:
        return "its section stands in the corpus more than once"
    section = corpus.sections[definition.number]
    if _NEWS.search(" ".join((section.document.rpartition("/")[2], *section.headings))):
        return "its section is about what has changed"
    if len(corpus.holding(definition.key, 4 * FEW)) > 4 * FEW:
        return f"more than {4 * FEW} sections hold it, on its own or inside another word"
    return ""


def _text(name: str, seed: int) -> str:
    if name.startswith("--"):
        templates = _FLAG
    elif name[-1].isdigit() and "_" not in name and "::" not in name:
        templates = _CODE
    else:
        templates = _OTHER
    return choose(templates, seed, SHAPE, name).format(name=name)
