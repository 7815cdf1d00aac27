#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image.
set -euo pipefail

apt-get update -qq
apt-get install -qq --yes python3 python3-venv

python3 -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed: choose a newer base image.")'
python3 -m venv /autograder/venv
# Answers may use torch where it is installed: write "[torch]" behind the wheel's name to allow it.
/autograder/venv/bin/python -m pip install --quiet /autograder/source/mha_lessons-*.whl
