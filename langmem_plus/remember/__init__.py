"""What happens to a fact: ``record → extract → enrich → reconcile → summarize → evict``, each a module, a node, a core.

- `record` stores what was said, word for word, as a queue;
- `extract` draws facts out of it, by a model or by rules (`statements`, `cues`, `sentences`), and drops what the user's
  words don't support (`support`);
- `enrich` says what they are about where nobody did (`key_phrases`, `named`, `chinese`, `function_words`, `found`);
- `reconcile` compares them with what is known (`decide`, `rules`, `slots`, `quantities`, `simhash`) and writes all of
  it in one batch (`ledger`);
- `summarize` keeps the thread's rolling summary, which tells what the assistant did, too (`actions`);
- `compress` lets old messages leave a long thread once that summary tells what they said (`compress_cut`,
  `compress_covered`); it edits the thread, so it runs in the graph, after the reply;
- `archive` leaves one record of a conversation that is compressed, cleared or over (`gist`, `archive_amend`), for other
  threads;
- `evict` keeps the namespace within its bounds; `retain` archives and erases what is too old (`removing`).

`undelete` brings back what was deleted softly; `find` finds a record by its id, or the beginning of it.

A stage's I/O is written once, as `steps` that a sync and an async driver take.
"""
