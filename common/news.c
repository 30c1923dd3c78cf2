/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "news.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "deadline.h"

/* A user's signal is never overwritten, nor taken for news. */
static bool exchange(int from, int to)
{
	sig_atomic_t expected = from;

	return __atomic_compare_exchange_n(&stop_signal, &expected, to, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

static void on_news(int sig)
{
	exchange(0, sig);
}

bool news_came(void)
{
	return exchange(SIGIO, 0);
}

void news_open(struct news *n, int control, int device)
{
	struct sigaction sa = { .sa_handler = on_news, .sa_flags = SA_RESTART };
	struct pollfd p[NEWS_FDS];

	n->fds[0] = control;
	n->fds[1] = device;
	sigemptyset(&sa.sa_mask);
	sigaction(SIGIO, &sa, NULL);
	for (int i = 0; i < NEWS_FDS; i++) {
		p[i] = (struct pollfd){ .fd = n->fds[i], .events = POLLIN };
		n->flags[i] = fcntl(n->fds[i], F_GETFL);
		if (n->flags[i] >= 0 && !fcntl(n->fds[i], F_SETOWN, getpid()))
			fcntl(n->fds[i], F_SETFL, n->flags[i] | O_ASYNC);
	}
	/* Only what comes from now on sends a signal. */
	if (poll(p, NEWS_FDS, 0) > 0)
		on_news(SIGIO);
}

void news_close(struct news *n)
{
	struct sigaction sa = { .sa_handler = SIG_IGN };

	for (int i = 0; i < NEWS_FDS; i++)
		if (n->flags[i] >= 0)
			fcntl(n->fds[i], F_SETFL, n->flags[i]);
	sigaction(SIGIO, &sa, NULL);
	news_came();
}
