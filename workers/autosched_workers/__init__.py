"""The cluster: claims jobs from the database and sends candidates to builders and runners on other hosts.

In: jobs in the database. Out: measurements in the database. It must not know the REST service.
"""
