"""Reading what was said and what runs did: messages, event logs, followers, callbacks."""
