"""Lowering: a plan and a workload become one symbolic nest with decisions and constraints.

axis      how one axis is cut into task, unit loops and lanes
packing   copies of operands and how they are read
member    one stage as loops around a register block
group     stages that share tasks, as parallel regions
lower     the whole workload
"""
