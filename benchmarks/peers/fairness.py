"""Whether each comparison is fair, and why or why not; printed under its table."""

BUILDING = """\
Fair between the two libraries: same folder, each with its defaults, from files to a store that \
answers. Ours parses in two processes on a large folder, so compare CPU; its store also holds a \
second copy of the text, for grep; on the small folder its imports are most of its time. \
Not fair to ours against the engines: they are given sections that ours has cut, read no files, \
keep no text, and answer with numbers. The push row is our index alone over the same sections, \
which it still reads for headings. \
qmd indexes whole files, one entry each; it cuts them only when it computes vectors, which it did \
not; and it leaves out folders called `build`, here 657 files of the large corpus. \
basic-memory also rewrites every file of its copy and resolves links between notes. \
Peak memory: the largest process, or the sum over what the driver started, whichever is more. \
ragbisect and the push row keep no index on disk."""

SEARCHING = """\
In process for libraries and engines; the round trip with the official client for MCP servers, \
with the server's CPU alone. Each is divided by ours of the same kind. \
Fair between the libraries and between the servers that answer with sections: same queries, ten \
hits, snippets made. Not fair to ours against the engines: they have one field, look nothing up in \
a database, collapse nothing and make no snippet; against them the push row is the fair one. \
Unfair to qmd in one form: as one query of keywords it stops at files that hold every word, which \
is quick because it finds little (see the questions by file); a query a word is slow because it is \
up to ten searches. basic-memory returns up to 4,000 characters of every note. Wall times on a \
shared machine wander; CPU does not."""

SECTIONS = """\
Fair: the same 603 sections, the same questions, the same scorer, and for each engine what it does \
best (stems, stop words). contextpull 0.2.1 cuts the same sections from the files itself. Two \
reservations: the questions were written by a model from these sections, so that they share words \
with them, and our weights were chosen on these questions, so this table says how well they fit \
here; the judged collections say how they do elsewhere. The interval is a bootstrap over documents \
of the paired differences to the push row."""

FILES = """\
What the servers can be compared on: the gold's file among the first five different files. Ours \
and 0.2.1 are asked for 20 sections and their files counted once; the others for five files. \
Not fair to qmd and basic-memory in two ways: both are built to use vectors, and qmd a reranker, \
whose models no registry holds; and both rank whole files by all of their words. qmd gets each \
question in two forms, since its keyword search wants every word. An agent would write its own \
keywords, for any of them."""

SIZES = """\
Ten hits each where there are ten. Text is what the server says to a model; hosts that prefer \
structured content show that instead, where a server sends both. qmd's text is a list of paths \
without snippets, which stand in its structured content; basic-memory was asked for JSON, to have \
paths. Fair as a cost of one call, not of an answer: who sees less must read more."""

GREP = """\
Ripgrep starts a process, walks the folder and opens every file for each pattern, as an agent's \
shell does; ours has one flat file mapped, made when it was built. So ours is ahead by not opening \
files, not by scanning faster. Ours counts up to 10,000 lines: patterns with more are left out, \
since it would stop where ripgrep goes on. Lines a call then agree but for files that only \
ripgrep reads, such as licences without a suffix. \
0.2.1 reports at most 20 sections, counts no further, and refuses an expression once it has read \
200,000 characters; its refusals count as calls. mcp-ripgrep counts without showing lines."""

JUDGED = """\
Fair: the same texts, every query, the graded judgements as they are. One reservation: ours was \
developed with these collections at hand, the others stand at their usual settings. Titles stand \
as a heading, which ours weighs and the others read as words. \
bm25s is Lucene's BM25 with k1 1.5 and b 0.75; tantivy and FTS5 have k1 1.2. A collection is a \
sample: differences of a hundredth are within chance."""

BEHAVIOUR = """\
Each cell is one real call. Fair as a description, not as a race: the engines have no reading of \
free text, so theirs is the driver's (words that carry content, joined by OR, quoted phrases \
whole), as any wrapper would do it. The pages were written for this table by this project, \
adversarially: each has a decoy. `refused` is an error in words that a model can act on."""
