"""Engines of the `Cipher` port: a key file locally, KMS on AWS. Both encrypt a value by AES-256-GCM under a data key of its
own.
"""
