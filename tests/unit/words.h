/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Command lines as words. */
#ifndef TESTS_WORDS_H
#define TESTS_WORDS_H

#include "options.h"
#include "unit.h"

static const struct option_program all_options = {
	.name = "prog", .summary = "tests", .mask = ~0u,
	.argument = "HOST",
};

#define ARGS_MAX 32
#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Parses "prog" and these words, which end with NULL. */
static inline int parse(const struct option_program *p, const char *const *words,
			struct settings *s, struct error *e)
{
	char *argv[ARGS_MAX + 2] = { (char *)(uintptr_t)"prog" };
	int argc = 1;

	for (; *words; words++)
		argv[argc++] = (char *)(uintptr_t)*words;
	error_init(e, "prog");
	return options_parse(p, argc, argv, s, e);
}

/* A refusal as misuse, in one line that holds @part. */
static inline void refuse(const struct option_program *p, const char *const *words,
			  const char *part)
{
	struct settings s;
	struct error e;

	if (!parse(p, words, &s, &e))
		fail_msg("%s %s: taken", words[0], words[1] ? words[1] : "");
	assert_error(&e, EXIT_MISUSE, part);
	assert_int_equal(count_lines(e.text), 0);
}

#endif
