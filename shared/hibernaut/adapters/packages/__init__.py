"""Python packages for tools: chosen from an index, checked by their hashes, and unpacked from wheels. Nothing of them is run
here.
"""
