/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "json_text.h"

#include <string.h>

#include "error.h"

json_t *json_text(const char *text)
{
	json_t *v = text ? json_string(text) : json_null();
	char clean[ERROR_TEXT_MAX];

	if (v)
		return v;
	error_sanitise(clean, sizeof(clean), text, strlen(text));
	return json_string(clean);
}
