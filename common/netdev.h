/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The network interface behind a GID. */
#ifndef COMMON_NETDEV_H
#define COMMON_NETDEV_H

#include "gid.h"

/* Fills netdev and prefix_len of @g, whose GID is set; leaves them empty when not found. */
void netdev_of_gid(uint32_t ifindex, struct gid_entry *g);

#endif
