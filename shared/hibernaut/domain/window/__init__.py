"""The log and its window: what the model is sent, forks, compaction, transcripts."""
