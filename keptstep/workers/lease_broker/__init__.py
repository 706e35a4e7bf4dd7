"""The doorbell through Redis: messages whose visibility is a lease, for several processes.

Redis holds step ids and who is about to run them, nothing else. It may be wiped, restored from an
old dump or away: the rows are the truth, the claim is the fence, the sweeper rings again. While
Redis is away a process rings itself.
"""
