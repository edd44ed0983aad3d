"""The REST service: routes that read and write the database and nothing else.

In: HTTP requests. Out: jobs in the database, and answers from it. It must not know Ray, workers or how a search works.
"""
