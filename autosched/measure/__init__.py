"""Build, check and time candidates where nothing they do can hurt the tuner.

In: kernels, a check, a timing policy. Out: measurements, in which a failing candidate is a value. It must not know
where candidates come from or what is done with the result.

    tuner process                       warden (one thread, own session)      child (one a job, disposable)
    build.LocalBuilder   --- channel --> warden_process -> compile_job    --> the compiler
    runner.LocalRunner   --- channel --> warden_process -> kernel_job     --> session: load, check, time
                                          containment: limits, deadline,
                                          no descendant left

`local.open_local` puts builder, runner and calibration together. `pool` and `native/` are the thread pool that the
runtime uses too; `buffers.Arena` is memory as kernels are timed with. `replay` needs no hardware.
"""
