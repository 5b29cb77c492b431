"""The walls around a custom tool, built inside its own process before the tool's first line runs. Imports nothing outside this
folder and the standard library, because every call pays for it.
"""
