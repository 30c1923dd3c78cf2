/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text of any origin as JSON. */
#ifndef COMMON_JSON_TEXT_H
#define COMMON_JSON_TEXT_H

#include <jansson.h>

/*
 * A string; where the text is no UTF-8, such as a file name in Latin-1, with '?' for what is not
 * printable ASCII. JSON null for NULL.
 */
json_t *json_text(const char *text);

#endif
