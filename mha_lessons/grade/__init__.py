"""The grader: finds the answers in a notebook, checks them, and names the mistake.

`command` is the command line. It reads notebooks with `notebook`, takes the answers over with
`splice` and `companions`, has `run` grade each, and shows the verdicts with `report` and
`report_files`. `process` starts nbval in a `worker` of its own, with `nbval_plugin`. That side
never imports NumPy.

Inside the notebook, `exercises` holds the checks that the check cells call. They are written with
`checks`, which runs a learner's function through `call`, reads its result through `compare`, and
looks a wrong result up in `bank`, the wrong answers that we know.
"""
