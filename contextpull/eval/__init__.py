"""Measuring retrieval: questions in, measures with intervals out.

`measures` scores one ranking, `statistics` puts an interval around a mean, `comparing` tests two
rows against each other, `runs` asks a retriever every question, and `table` shows the rows.
`judged` and `judged_table` do so over collections that others judged.
"""
