"""Measuring retrieval: questions in, measures with intervals out.

`measures` scores one ranking, `statistics` puts an interval around a mean,
`runs` asks a retriever every question, and `table` shows the rows.
"""
