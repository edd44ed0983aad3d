"""The dispatcher: claims jobs from the queue, runs their search and shares the devices between them.

    queue --claim--> dispatcher --starts--> job process: search, builds, runs         one a job, disposable
                      |   ^  |                 |   ^
                      |   |  +--turn, stop---->|   |
                      |   +---asks, returns----+   |
                      +--heartbeat--> leases       +--rounds, results, winners--> store, under the job's fence

The dispatcher decides in a pure state machine (`decide`: events in, commands out) and never searches, builds or runs
anything itself, so that its heartbeat waits for nobody. A job's search lives in a process of its own: its memory, its
crashes and its leaks end with it, and since a search is a function of its seed and its closed rounds, the next process
goes on as the last one would have.

In: jobs in the database. Out: measurements in the database. It must not know the REST service.
"""
