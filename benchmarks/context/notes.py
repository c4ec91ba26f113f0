"""What the tables show and what they do not; printed below them."""

TOLD = """\
A plain host gives its model the instructions whole and all tools; Claude Code cuts instructions \
at 4,096 characters. Lists of resources and prompts go to the host and into no request of the \
model. Both servers put a list of documents into their instructions and a shorter one where it \
does not fit: the peer's may take 3,000 tokens, ours what 4,096 characters leave. So on the larger \
corpus ours name the files without a summary: they are shorter because they say less."""

CALLS = """\
Medians and nine in ten over the questions, each tool with its defaults: ten hits, twenty matches. \
`grep` looks for the identifier of the question, or else for its longest word; ours shows every \
matching line with its number, the peer the first of each section. `read` is the first section \
that answers, as each side has cut it: the question names ours, and a section of the peer's counts \
as the same when one of the two holds half of the other's lines. `index` of one document is its \
outline in ours; the peer has none and repeats the document's line."""

CONVERSATIONS = """\
The same script with all: search for the question as it is asked, read the first hit that is gold \
or else the first two, answer. Tokens are of texts and JSON as sent, summed over the requests, \
medians over the questions; what an API adds around them is the same for both. *Told* is the part \
of the sum that is instructions and tools, sent again with each request. *Cached* counts a token \
that is written into the cache as 1.25 and one that comes out of it as 0.1, as Anthropic prices \
them, with a mark at the end of every request; *begun warm* when another conversation has just \
left tools and instructions there. An API caches nothing below 1,024 to 4,096 tokens, which a \
first request here may be. Not shown: whether a model would search once, search again, or answer \
better with one of the two. The questions of both sets were written over sections as ours cuts \
them."""

CLAUDE = """\
The script does through Claude Code what it did over stdio, and each result was checked to be the \
same text. *The host's* is its system prompt, its own tools and its reminders, with every request; \
*the server's* are instructions as far as they are passed on, tools, calls and results. By default \
Claude Code defers tools until the model looks them up; ours ask to be there from the start, the \
peer's are looked up in one more request, which carries all of the host's text again. \
Figures wander by a few tokens with the names of temporary folders."""

COSTS_MORE = """\
1. `index` costs more: an outline with ids and sizes is four to five times the one line that the \
peer shows of a document, the list of everything is longer, and on the uv documentation a model \
that wants the documents' summaries must ask for them, where the peer has told them already, in \
hosts that do not cut.
2. Ids that say what they point at are longer: a model writes up to a sixth more to call the \
tools, and again for each citation, at the price of output; errors, which name the nearest ids or \
a call that works, are up to twice as long.
3. In Claude Code's defaults our tools stand in every request, also of conversations that ask \
nothing of the documents, where the peer's take a line each until they are looked up; and our list \
of resources, which names every document, is some eighty times the peer's on the uv documentation, \
though only the host sees it."""

PUBLISHED = """\
The peer's authors publish 86,656 tokens and 4.8 calls a question through Claude Code, over ten \
questions about the uv documentation, with a real model. Here a script asks as little as can be \
asked, so these figures are floors, of one version of Claude Code and of an older tokenizer; that \
one is a mean of what a model chose to do, through whichever version and by whichever count. \
They can show how a question's cost divides: in the defaults the host sends some 11,400 tokens \
with every request, so that as many requests as 4.8 calls, a look-up and an answer take would \
carry some 78,000 tokens of the host's alone, whatever the server says. They cannot show that a \
real model would take fewer calls with ours, nor what it would cost: that is measured by asking \
one."""
