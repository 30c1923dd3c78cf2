#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# scripts/bench: see bench.py.
exec "$(dirname "$0")/bench.py"
