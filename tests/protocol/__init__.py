"""The run protocol's rules, each by a test of the real code that fails without the rule.

The rules are those of the protocol's executable model. Each is taken out of the code where the second column says; then the test
of its name fails. Beside them stand the stories of runs in `tests/unit/services`, and the proof (`tests/proof`), which
knows no rules.

    rule                              where it stands                                                     test (test_rules_of_...)
    commit checks the attempt         store.transactions: step, last_step (`running(state.attempt)`)      steps
    journal before tools              services.turns.turn_engine: `_journal` before the tools             steps
    claim before call                 store.runs: put_claim (ABSENT)                                      steps
    claim only while running          store.transactions: claim (Check of the run)                        steps
    own token means success           store.writer: Writer.write                                          steps
    blocks have versions              store.blocks: change (version)                                      steps
    head and tail must agree          store.conversations: _snapshot (last_message, newest)               steps
    end sees the journal              store.runs: unchanged (journal, wt)                                 conversations
    waiting is counted in the head    store.transactions: last_step (waiting)                             conversations
    late original attaches            store.idempotency: look (original)                                  conversations
    contiguous events                 store.runs: events (first_seq > wanted)                             conversations
    committed events are put if absentstore.runs: put_events (ABSENT)                                     conversations
    run knows its last seq            services.logs.run_log: `_end`, from last_seq                        conversations
    approval holds the queue          services.turns.unit_of_work: _handover (none where the run asks)    approvals
    answer keeps its input            services.turns.approvals: _consume (input stays on the run)         approvals
    end resolves open calls           services.turns.run_termination: _end_resolving                      approvals
    pending approval is swept         store.approvals: create (index DUE)                                 approvals
    token is read after consuming     services.turns.approvals: _consume (end_wait behind the write)      approvals
"""
