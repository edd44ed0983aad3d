"""The routes, one file a resource. Handlers are thin: who asks, what is asked, one or two calls, the answer.

In: requests. Out: documents of `autosched.wire`. They must not hold rules: those stand beside, where they are tested.
"""
