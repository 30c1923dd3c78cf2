/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * News for a loop that never waits long and so never looks around, as an initiator's: while it
 * runs, the kernel sends SIGIO when the control connection or the device has something to say
 * (fcntl(2), O_ASYNC), and the loop ends as by a signal, between two laps.
 */
#ifndef COMMON_NEWS_H
#define COMMON_NEWS_H

#include <stdbool.h>

#define NEWS_FDS 2

struct news {
	int fds[NEWS_FDS], flags[NEWS_FDS];
};

/* Begins to tell; what lies ready already is news too. A descriptor that cannot tell is left out. */
void news_open(struct news *n, int control, int device);
void news_close(struct news *n);
/* The loop was ended by news, and by no signal of a user: true once for each time. */
bool news_came(void);

#endif
