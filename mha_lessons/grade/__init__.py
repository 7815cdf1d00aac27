"""The grader: finds the answers in a notebook, checks them, and names the mistake.

`command` is the command line. `run` grades one notebook: it reads it with `notebook`, takes the
answers over with `splice` and `companions`, and has `process` run them. `batch` grades many,
`watch` grades on each save, and `report` and `report_files` show the verdicts.

For a class, a `journal` remembers verdicts, under the `version` of all that they depend on;
`cluster` grades on other machines; `summary` counts, `class_page` shows that in HTML, and
`report_elsewhere` writes what Gradescope and GitHub Classroom read.

`process` starts nbval in a `worker` of its own, with `nbval_plugin`, or forks that from a process
which `warm` keeps `preloaded`. When answers are to be isolated, it starts `isolated`, which holds
the checks, and asks `elsewhere` for the answers: they are in an `answer_process`, which runs
`answer_side`. `wire` is what goes between the two, and `confine` what keeps them apart. The words
for a cell are in `verdicts`, whoever ran it, and `signed` keeps them genuine. The command line's
process never imports NumPy.

`learner_command` has the verbs that help a learner: `hint`, `reset`, and `doctor`, which looks at
what is `installed`. `state` remembers progress, and `which` knows the names of an exercise. `magic`
is `%grade` in a notebook, with `report_html`.

Inside the notebook, `exercises` holds the checks that the check cells call. They are written with
`checks`, which runs a learner's function through `call`, reads its result through `compare`, and
looks a wrong result up in `bank`, the wrong answers that we know. `kill_matrix` tries all of these
against all checks.
"""
