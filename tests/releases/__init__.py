"""What the release before left behind, and whether this one and the one before can work side by side.

`before/` is data: the items and blobs of a table (`items.json`), and the state machine with the calls that it made
(`heartbeat.asl.json`, `calls.json`). `now/` is the contract of this release: a test refuses a change that the release before
could not bear. At a release, `python -m tests.releases.record` makes this release the one before.
"""
