"""What tests of several packages share: example nests, contract suites and fakes.

It may import any package below `cli`; nothing outside the tests imports it.
"""
