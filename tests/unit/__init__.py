"""Tests of one module each, at the module's path as `test_<module>.py`. What several modules of a package promise together stands
beside them, under the name of the promise.
"""
