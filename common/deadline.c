/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "deadline.h"

#include <string.h>

volatile sig_atomic_t stop_signal;

static void on_signal(int sig)
{
	stop_signal = sig;
}

void stop_install(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	sigemptyset(&sa.sa_mask);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sa.sa_handler = SIG_IGN;
	sa.sa_flags = 0;
	sigaction(SIGPIPE, &sa, NULL);
	sigaction(SIGXFSZ, &sa, NULL);
}

int deadline_poll_ms(uint64_t deadline, int most)
{
	uint64_t now = now_ns();
	uint64_t ms;

	if (deadline == DEADLINE_NEVER)
		return most;
	if (deadline <= now)
		return 0;
	ms = (deadline - now + NS_PER_MS - 1) / NS_PER_MS;
	return ms < (uint64_t)most ? (int)ms : most;
}
