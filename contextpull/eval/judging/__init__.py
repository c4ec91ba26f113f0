"""Judging the answers of a kept run, with a judge that the user brings.

`items` says what is judged and against what, `prompts` what a model is told, `judges` and
`command` who may judge. `answers` finds the answers of a run, `asking` asks and keeps verdicts,
`running` does both; `reporting` and `agreement` make figures of them, `table` shows those.

    from contextpull.eval.judging import FunctionJudge, judge_run

    def my_judge(item):
        return {"score": 1.0 if item.reference in item.answer else 0.0, "reason": "verbatim"}

    report = judge_run("runs/first", FunctionJudge(my_judge, "verbatim, 1"))
"""

from contextpull.eval.judging.judges import ChatJudge, FunctionJudge, JudgeFailed, Verdict
from contextpull.eval.judging.running import Settings, judge_run

__all__ = ["ChatJudge", "FunctionJudge", "JudgeFailed", "Settings", "Verdict", "judge_run"]
