"""Devices that exist in a function: for trying out a service, its capacity and its failures, where no kernel matters.

In: candidates. Out: measurements that take a given time and say a time that only the candidate decides; what ran is in
a journal, as the process that ran it saw it. It must not know jobs, queues or the database.
"""
