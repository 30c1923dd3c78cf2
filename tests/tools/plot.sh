#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# scripts/plot and scripts/report: see plot.py.
exec "$(dirname "$0")/plot.py"
