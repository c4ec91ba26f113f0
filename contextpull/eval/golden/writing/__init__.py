"""Golden questions drafted by a model that writes and one that criticises, for people to check.

`plan` says what is wanted, `passages` chooses what is asked about and `neighbours` what is asked
about together. `prompts` words it, `drafts` says what an answer must be, `verbatim` finds quotes,
`attempts` sees one question through and `drafting` all of them; `saving` writes the files.
"""
