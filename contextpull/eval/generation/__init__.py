"""Eval sets out of a corpus: five shapes of questions, seeded, by rule or by a writer.

`generating` makes all shapes of a plan; `aggregation`, `table`, `exact`, `conceptual` and
`comparison` make one each. `names`, `tables` and `near_duplicates` find what questions are about,
`sampling` chooses among it, `checks` says what a question must not do, `writing` and `written`
ask a writer, and `saving` writes the files.
"""
