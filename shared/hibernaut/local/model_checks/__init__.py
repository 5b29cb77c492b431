"""`hibernaut models check`: tries what agents need of a model against the real provider, and reports what works."""
