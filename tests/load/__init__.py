"""Many callers at once on `aws-offline`, with faults injected in every service: is anything lost, doubled or stuck, and what is
the bill?
"""
