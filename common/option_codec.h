/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options whose value has a grammar of its own. */
#ifndef COMMON_OPTION_CODEC_H
#define COMMON_OPTION_CODEC_H

#include "option_table.h"

extern const struct option_codec option_rate_codec, option_load_codec, option_flow_codec,
	option_mcast_codec, option_confidence_codec, option_runs_codec, option_tolerance_codec;

#endif
