"""Budgets: what a tenant, an API key and an agent may use, checked before a model is called; and the administration of
budgets.
"""
