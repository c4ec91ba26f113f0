"""Reports and cut-offs as plain text for a terminal, and reports as Markdown."""

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite

from contextpull.eval.golden.cutoff import FOLDS, REPEATS, Cost
from contextpull.eval.golden.declining import Declining
from contextpull.eval.golden.picks import Between, Choice
from contextpull.eval.golden.reading import on_one_line
from contextpull.eval.golden.reporting import GoldenReport, Missed, SettingRow
from contextpull.eval.statistics import LEVEL
from contextpull.eval.table import (
    COMPARISON_HEADS,
    UNDEFINED,
    Line,
    aligned,
    comparison_cells,
    failure_notes,
    figure,
    p_value,
    printable,
    unit_of,
)

_BESIDE = 4
"""Settings that fit beside each other into 100 columns."""
_MISSES_SHOWN = 5
_CAME_SHOWN = 3
_QUESTION_CHARS = 90
_UNMEASURED_SHOWN = 5


def render_report(report: GoldenReport) -> str:
    """The measures, a column a setting, then picks, comparisons, notes and misses."""
    lines: list[str] = []
    for first in range(0, len(report.rows), _BESIDE):
        lines += [*aligned(_columns(report, report.rows[first : first + _BESIDE]), ()), ""]
    if len(report.rows) > 1:
        lines += [*_chosen(report.choice, report.rows[0].row.clusters, report), ""]
    lines += [*_notes(report), *_missed(report)]
    return "\n".join(lines) + "\n"


def render_report_markdown(report: GoldenReport) -> str:
    """The same measures and picks as Markdown."""
    picks = _picked(report.choice) if report.rows[1:] else ()
    parts = [
        markdown_table(_columns(report, report.rows)),
        markdown_list(picks),
        markdown_list(_notes(report)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown_table(lines: Sequence[Line]) -> str:
    """A table of Markdown, the first line its head; a line stays a line, however long."""
    head, *body = lines
    rule = Line("---", ("---",) * len(head.cells))
    return "\n".join(_cells(line) for line in (head, rule, *body))


def markdown_list(sentences: Iterable[str]) -> str:
    """A list of Markdown; nothing without sentences."""
    return "\n".join(f"- {_escaped(each)}" for each in sentences)


def render_cutoff(declining: Declining) -> str:
    """The separation, the cut-off and its price, the candidates, and what was not measured."""
    return "\n".join(_cutoff_lines(declining)) + "\n"


def _columns(report: GoldenReport, rows: Sequence[SettingRow]) -> list[Line]:
    """A line a measure, a cell a setting."""
    lines = [Line(f"by {report.by}", tuple(printable(each.setting.name) for each in rows))]
    for name in rows[0].row.overall.measures:
        measured = (figure(each.row.overall.measures[name]) for each in rows)
        lines.append(Line(name, tuple(measured)))
    lines.append(Line("median ms", tuple(f"{each.median_ms:.1f}" for each in rows)))
    lines.append(Line("p95 ms", tuple(f"{each.p95_ms:.1f}" for each in rows)))
    lines.append(Line("found nothing", tuple(str(len(each.misses)) for each in rows)))
    return lines


def _chosen(choice: Choice, clusters: int, report: GoldenReport) -> Iterator[str]:
    yield from map(printable, _picked(choice))
    yield from choice.rules
    yield ""
    yield printable(f"{choice.measure} of {choice.picks[0].setting}, less that of")
    lines = [Line("", ("n", *COMPARISON_HEADS, "verdict"))]
    lines += [_beside(each) for each in choice.beside_best]
    yield from aligned(lines, (0, 2, 3, 4))
    unit = unit_of(len(report.asked.wanted), clusters)
    yield f"p: two-sided sign-flip permutation test over {unit}. Holm: corrected for all pairs of"
    yield "settings. cannot tell: not significant at 5%, which is no sign that they are alike."
    yield f"detectable: what 80 of 100 such samples would show; {UNDEFINED}: too few to say."


def _picked(choice: Choice) -> Iterator[str]:
    """Each pick in a sentence, with whether its place could be luck, and the frontier."""
    most, *others = choice.picks
    against = {each.other: each for each in choice.beside_best}
    pairs = len(choice.comparisons)
    runner_up = choice.beside_best[0]
    yield f"{most.name}: {most.setting}; {runner_up.other} comes next, {_lag(runner_up, pairs)}"
    for each in others:
        lag = "" if each.setting == most.setting else f", {_lag(against[each.setting], pairs)}"
        yield f"{each.name}: {each.setting}{lag}"
    yield f"frontier: {', '.join(choice.frontier)}"


def _lag(between: Between, pairs: int) -> str:
    """How far the other setting is behind."""
    if between.verdict == "none differs":
        return "question for question level with it"
    luck = "could be luck" if between.could_be_luck else "more than luck"
    corrected = f", Holm over {pairs} pairs" if pairs > 1 else ""
    lag = between.comparison.difference.mean
    return f"{lag:.3f} lower: {luck} (p {p_value(between.p_holm)}{corrected})"


def _beside(between: Between) -> Line:
    cells = comparison_cells(between.comparison, between.p_holm)
    return Line(printable(between.other), (str(between.comparison.n), *cells, str(between.verdict)))


def _notes(report: GoldenReport) -> Iterator[str]:
    first = report.rows[0].row
    asked = report.asked
    yield (
        f"{len(asked.wanted)} of {report.questions} questions scored by {report.by}; "
        f"{len(asked.unlabelled)} without labels and {len(asked.too_coarse)} with coarser ones "
        "were left out."
    )
    yield from map(printable, asked.notes)
    yield "recall: the share of what a question expects. hit_rate: whether any of it came."
    yield (
        f"[low, high]: {LEVEL:.0%} interval, bootstrap over {first.clusters:,} "
        f"{unit_of(first.overall.n, first.clusters)}, {first.rounds:,} rounds, seed {first.seed}; "
        "of hit_rate Wilson's."
    )
    yield f"ms: one search for {report.cutoffs[-1]} results; the warm-up is not counted."
    for each in report.rows:
        yield from failure_notes(each.setting.name, each.row.failures)


def _missed(report: GoldenReport) -> Iterator[str]:
    """What the setting that finds the most does not find, and what came instead."""
    best = report.choice.picks[0].setting
    misses = next(each.misses for each in report.rows if each.setting.name == best)
    if not misses:
        return
    yield ""
    yield printable(f"{best} found nothing right for {len(misses)}:")
    for each in misses[:_MISSES_SHOWN]:
        yield from _miss(each)
    if len(misses) > _MISSES_SHOWN:
        yield f"and {len(misses) - _MISSES_SHOWN} more (all with --json)"


def _miss(missed: Missed) -> Iterator[str]:
    yield printable(f"  {missed.id}: {on_one_line(missed.question, _QUESTION_CHARS)}")
    yield printable(f"    expected {', '.join(missed.expected)}")
    yield from (printable(f"    came     {each}") for each in missed.got[:_CAME_SHOWN])
    if not missed.got:
        yield "    nothing came"


def _cutoff_lines(declining: Declining) -> Iterator[str]:
    found = declining.found
    yield (
        f"{found.answers} answers and {found.near_misses} near misses by {declining.by}, "
        f"{declining.unanswerable} unanswerable among what was asked; {declining.measure} of "
        f"{declining.setting}"
    )
    asked = declining.asked
    left_out = len(asked.unlabelled) + len(asked.too_coarse)
    if left_out:
        yield f"{left_out} questions without labels, or with coarser ones, were left out."
    yield from map(printable, asked.notes)
    yield from _unmeasured(declining)
    yield f"separation  {figure(found.separation)}"
    if found.chosen and found.held_out:
        yield f"cut-off     {figure(found.interval)}"
        yield ""
        yield from aligned(
            [
                _HEAD,
                _cost_line("by these questions", found.chosen),
                _cost_line("held out", found.held_out),
            ],
            range(5),
        )
    else:
        yield printable(f"No cut-off: {found.reason}")
    if found.table:
        yield ""
        chosen = found.chosen.cutoff if found.chosen else None
        marked = [("chosen" if each.cutoff == chosen else "", each) for each in found.table]
        yield from aligned([_HEAD, *(_cost_line(*each) for each in marked)], range(5))
        yield ""
        yield from _cutoff_notes(declining)


_HEAD = Line("", ("answer from", "right", "answers kept", "misses declined", "J"))


def _cost_line(name: str, cost: Cost) -> Line:
    shares = (cost.precision, cost.answered, cost.declined)
    shown = (f"{each:.1%}" if isfinite(each) else UNDEFINED for each in shares)
    return Line(name, (f"{cost.cutoff:.4f}", *shown, f"{cost.youden:.3f}"))


def _cutoff_notes(declining: Declining) -> Iterator[str]:
    found = declining.found
    yield "separation: how often an answer has a higher value than a near miss; 0.5 is a coin."
    yield "J: answers kept + misses declined - 1; the cut-off is where it is highest, lowest first."
    yield "right: of those answered; it depends on how many of the questions have an answer."
    yield (
        f"[low, high]: {LEVEL:.0%} interval, bootstrap of answers and near misses apart, "
        f"{found.rounds:,} rounds, seed {found.seed}."
    )
    yield f"held out: {FOLDS}-fold cross-validation, stratified, {REPEATS} times."


def _unmeasured(declining: Declining) -> Iterator[str]:
    none = declining.unmeasured
    if none:
        shown = ", ".join(
            each.id or on_one_line(each.question, _QUESTION_CHARS)
            for each in none[:_UNMEASURED_SHOWN]
        )
        more = f" and {len(none) - _UNMEASURED_SHOWN} more" if len(none) > _UNMEASURED_SHOWN else ""
        yield printable(
            f"{len(none)} questions found nothing, or a value that is no number, and count on "
            f"neither side: {shown}{more}"
        )


def _cells(line: Line) -> str:
    return f"| {' | '.join(map(_escaped, (line.name, *line.cells)))} |"


def _escaped(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace("|", "\\|")
