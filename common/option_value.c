/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One value of the option table: from text, from JSON, to JSON. */
#include "options.h"

#include <errno.h>
#include <string.h>

#include "json_text.h"
#include "units.h"

static void *value_of(const struct option_record *o, struct settings *s)
{
	return (char *)s + o->offset;
}

static const void *value_of_const(const struct option_record *o, const struct settings *s)
{
	return (const char *)s + o->offset;
}

static void allowed_range(const struct option_record *o, char *why, size_t cap)
{
	char lo[UNITS_TEXT], hi[UNITS_TEXT];

	if (o->type == OPTION_TIME) {
		units_print_time(lo, o->min);
		units_print_time(hi, o->max);
		snprintf(why, cap, "a time from %s to %s, such as 500ms, 10s or 2m", lo, hi);
	} else if (o->type == OPTION_SIZE || o->type == OPTION_SIZES) {
		units_print_size(lo, o->min);
		units_print_size(hi, o->max);
		snprintf(why, cap, "%s from %s to %s, such as 64 or 4k",
			 o->type == OPTION_SIZES ? "sizes" : "a size", lo, hi);
	} else {
		snprintf(why, cap, "a number from %llu to %llu", (unsigned long long)o->min,
			 (unsigned long long)o->max);
	}
}

static int set_name(const struct option_record *o, const char *text, uint64_t *v, char *why,
		    size_t cap)
{
	size_t len = 0;

	for (unsigned int i = 0; o->names[i]; i++)
		if (!strcmp(o->names[i], text)) {
			*v = i;
			return 0;
		}
	snprintf(why, cap, "one of");
	for (unsigned int i = 0; o->names[i]; i++) {
		len = strlen(why);
		snprintf(why + len, cap - len, "%s%s", i ? ", " : " ", o->names[i]);
	}
	return -EINVAL;
}

static int set_sizes(const struct option_record *o, const char *text, struct size_list *list)
{
	struct size_list got = { .count = 0 };
	int n = units_parse_sizes(text, got.v, SIZES_MAX);

	if (n <= 0)
		return -EINVAL;
	for (int i = 0; i < n; i++)
		if (got.v[i] < o->min || got.v[i] > o->max)
			return -EINVAL;
	got.count = (unsigned int)n;
	*list = got;
	return 0;
}

static void set_all_sizes(struct size_list *list)
{
	list->count = 24;
	for (unsigned int i = 0; i < list->count; i++)
		list->v[i] = 1ull << i;
}

static int in_range(const struct option_record *o, uint64_t v)
{
	return v >= o->min && v <= o->max ? 0 : -EINVAL;
}

static int add_text(struct text_list *list, const char *text, char *why, size_t cap)
{
	if (list->count == TEXTS_MAX) {
		snprintf(why, cap, "at most %d of them", TEXTS_MAX);
		return -EINVAL;
	}
	list->v[list->count++] = text;
	return 0;
}

int option_set(const struct option_record *o, const char *text, struct settings *s, char *why,
	       size_t cap)
{
	void *at = value_of(o, s);
	uint64_t v = 0;
	int rc = 0;

	switch (o->type) {
	case OPTION_FLAG:
		*(bool *)at = true;
		return 0;
	case OPTION_ALL_SIZES:
		set_all_sizes(at);
		return 0;
	case OPTION_TEXT:
		*(const char **)at = text;
		return 0;
	case OPTION_TEXTS:
		return add_text(at, text, why, cap);
	case OPTION_FILE:
		*(const char **)at = text ? text : "-";
		return 0;
	case OPTION_NAME:
		return set_name(o, text, at, why, cap);
	case OPTION_PARSED:
		if (!o->codec->read(text ? text : o->codec->fallback, at))
			return 0;
		snprintf(why, cap, "%s", o->codec->allowed);
		return -EINVAL;
	case OPTION_SIZES:
		rc = set_sizes(o, text, at);
		break;
	case OPTION_NUMBER:
		rc = units_parse_u64(text, &v);
		break;
	case OPTION_SIZE:
		rc = units_parse_size(text, &v);
		break;
	case OPTION_TIME:
		rc = units_parse_time(text, &v);
		break;
	}
	if (!rc && o->type != OPTION_SIZES)
		rc = in_range(o, v);
	if (rc) {
		allowed_range(o, why, cap);
		return -EINVAL;
	}
	if (o->type != OPTION_SIZES)
		*(uint64_t *)at = v;
	return 0;
}

static json_t *sizes_to_json(const struct size_list *list)
{
	json_t *a = json_array();

	for (unsigned int i = 0; i < list->count; i++)
		json_array_append_new(a, json_integer((json_int_t)list->v[i]));
	return a;
}

static json_t *texts_to_json(const struct text_list *list)
{
	json_t *a = json_array();

	for (unsigned int i = 0; i < list->count; i++)
		json_array_append_new(a, json_text(list->v[i]));
	return a;
}

/* null where nothing was given */
static json_t *parsed_to_json(const struct option_record *o, const void *at)
{
	char text[128];

	o->codec->write(at, text, sizeof(text));
	return *text ? json_string(text) : json_null();
}

static int parsed_from_json(const struct option_record *o, json_t *v, void *at)
{
	if (json_is_null(v) && !*o->fallback)
		return o->codec->read("", at);
	return json_is_string(v) && *json_string_value(v) ?
		       o->codec->read(json_string_value(v), at) : -EINVAL;
}

json_t *option_to_json(const struct option_record *o, const struct settings *s)
{
	const void *at = value_of_const(o, s);
	uint64_t v;

	switch (o->type) {
	case OPTION_FLAG:
		return json_boolean(*(const bool *)at);
	case OPTION_TEXT:
	case OPTION_FILE:
		return json_text(*(const char *const *)at);
	case OPTION_TEXTS:
		return texts_to_json(at);
	case OPTION_SIZES:
	case OPTION_ALL_SIZES:
		return sizes_to_json(at);
	case OPTION_PARSED:
		return parsed_to_json(o, at);
	default:
		break;
	}
	v = *(const uint64_t *)at;
	if (v == OPTION_AUTO || (o->type == OPTION_TIME && v == 0))
		return json_null();
	if (o->type == OPTION_NAME)
		return json_string(o->names[v]);
	if (o->type == OPTION_TIME)
		return json_real(v / 1e9);
	return json_integer((json_int_t)v);
}

static int sizes_from_json(const struct option_record *o, json_t *a, struct size_list *list)
{
	struct size_list got = { .count = 0 };

	if (!json_is_array(a) || json_array_size(a) == 0 || json_array_size(a) > SIZES_MAX)
		return -EINVAL;
	for (size_t i = 0; i < json_array_size(a); i++) {
		json_t *v = json_array_get(a, i);

		if (!json_is_integer(v) || json_integer_value(v) < 0 ||
		    in_range(o, (uint64_t)json_integer_value(v)))
			return -EINVAL;
		got.v[got.count++] = (uint64_t)json_integer_value(v);
	}
	*list = got;
	return 0;
}

static int time_from_json(const struct option_record *o, json_t *v, uint64_t *ns)
{
	double t = json_number_value(v);

	if (!json_is_number(v) || !(t >= o->min / 1e9 && t <= o->max / 1e9))
		return -EINVAL;
	*ns = (uint64_t)(t * 1e9 + 0.5);
	return 0;
}

static int number_from_json(const struct option_record *o, json_t *v, struct settings *s)
{
	uint64_t *at = value_of(o, s);
	char why[128];

	if (json_is_null(v)) {
		if (o->fallback && o->type != OPTION_TIME)
			return -EINVAL;
		*at = o->type == OPTION_TIME ? 0 : OPTION_AUTO;
		return 0;
	}
	if (o->type == OPTION_TIME)
		return time_from_json(o, v, at);
	if (o->type == OPTION_NAME)
		return json_is_string(v) ? set_name(o, json_string_value(v), at, why, sizeof(why)) :
					   -EINVAL;
	if (!json_is_integer(v) || json_integer_value(v) < 0 ||
	    in_range(o, (uint64_t)json_integer_value(v)))
		return -EINVAL;
	*at = (uint64_t)json_integer_value(v);
	return 0;
}

int option_from_json(const struct option_record *o, json_t *v, struct settings *s)
{
	void *at = value_of(o, s);

	switch (o->type) {
	case OPTION_FLAG:
		if (!json_is_boolean(v))
			return -EINVAL;
		*(bool *)at = json_is_true(v);
		return 0;
	case OPTION_SIZES:
		return sizes_from_json(o, v, at);
	case OPTION_PARSED:
		return parsed_from_json(o, v, at);
	case OPTION_TEXT:
	case OPTION_TEXTS:
	case OPTION_FILE:
	case OPTION_ALL_SIZES:
		return -EINVAL; /* local to an end, or carried by another record */
	default:
		return number_from_json(o, v, s);
	}
}
