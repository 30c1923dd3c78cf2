/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "netdev.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

static uint8_t count_ones(const uint8_t *mask, size_t len)
{
	uint8_t n = 0;

	for (size_t i = 0; i < len; i++)
		n = (uint8_t)(n + __builtin_popcount(mask[i]));
	return n;
}

static bool is_address(const struct ifaddrs *a, const struct gid_entry *g)
{
	if (!a->ifa_addr || !a->ifa_netmask || strcmp(a->ifa_name, g->netdev))
		return false;
	if (a->ifa_addr->sa_family == AF_INET && gid_is_ipv4(&g->gid))
		return !memcmp(&((struct sockaddr_in *)(void *)a->ifa_addr)->sin_addr,
			       g->gid.raw + 12, 4);
	if (a->ifa_addr->sa_family == AF_INET6)
		return !memcmp(&((struct sockaddr_in6 *)(void *)a->ifa_addr)->sin6_addr, g->gid.raw,
			       16);
	return false;
}

static uint8_t mask_length(const struct ifaddrs *a)
{
	if (a->ifa_addr->sa_family == AF_INET)
		return count_ones((uint8_t *)&((struct sockaddr_in *)(void *)a->ifa_netmask)->sin_addr,
				  4);
	return count_ones((uint8_t *)&((struct sockaddr_in6 *)(void *)a->ifa_netmask)->sin6_addr, 16);
}

void netdev_of_gid(uint32_t ifindex, struct gid_entry *g)
{
	char name[IF_NAMESIZE];
	struct ifaddrs *all;

	if (!ifindex || !if_indextoname(ifindex, name))
		return;
	strcpy(g->netdev, name);
	if (getifaddrs(&all))
		return;
	for (struct ifaddrs *a = all; a; a = a->ifa_next)
		if (is_address(a, g))
			g->prefix_len = mask_length(a);
	freeifaddrs(all);
}
