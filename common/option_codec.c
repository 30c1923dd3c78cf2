/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "option_codec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "units.h"

#define TEXT_MAX 96

/* "10Gb/s", "2M/s" */
static int rate_read(const char *text, void *value)
{
	struct option_rate *rate = value;
	struct units_rate r;

	if (!*text) {
		memset(rate, 0, sizeof(*rate));
		return 0;
	}
	if (units_parse_rate(text, &r) || r.value < 1 || r.value > 1e15)
		return -EINVAL;
	*rate = r.kind == RATE_BITS ? (struct option_rate){ .bits = (uint64_t)r.value } :
				      (struct option_rate){ .messages = (uint64_t)r.value };
	return 0;
}

static void rate_write(const void *value, char *text, size_t cap)
{
	const struct option_rate *rate = value;

	*text = '\0';
	if (rate->bits)
		snprintf(text, cap, "%" PRIu64 "b/s", rate->bits);
	else if (rate->messages)
		snprintf(text, cap, "%" PRIu64 "/s", rate->messages);
}

const struct option_codec option_rate_codec = {
	rate_read, rate_write, "a rate, such as 10Gb/s, 800MB/s, or 2M/s for messages", NULL
};

static int load_part(const char *part, struct option_load *load)
{
	uint64_t v;

	if (strncmp(part, "sl=", 3) && strncmp(part, "tc=", 3))
		return -EINVAL;
	if (units_parse_u64(part + 3, &v) || v > (*part == 's' ? 15 : 255))
		return -EINVAL;
	*(*part == 's' ? &load->sl : &load->traffic_class) = v;
	return 0;
}

/* "10Gb/s,sl=1,tc=104" */
static int load_read(const char *text, void *value)
{
	struct option_load load = { .sl = OPTION_AUTO, .traffic_class = OPTION_AUTO };
	char copy[TEXT_MAX], *rest = copy, *part;

	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return -EINVAL;
	part = strsep(&rest, ",");
	if (rate_read(part, &load.rate) || (!*part && *text))
		return -EINVAL;
	if (!*text)
		load.sl = load.traffic_class = 0;
	while ((part = strsep(&rest, ",")))
		if (load_part(part, &load))
			return -EINVAL;
	*(struct option_load *)value = load;
	return 0;
}

static void load_write(const void *value, char *text, size_t cap)
{
	const struct option_load *load = value;
	size_t len;

	rate_write(&load->rate, text, cap);
	len = strlen(text);
	if (!len)
		return;
	if (load->sl != OPTION_AUTO)
		len += (size_t)snprintf(text + len, cap - len, ",sl=%" PRIu64, load->sl);
	if (load->traffic_class != OPTION_AUTO && len < cap)
		snprintf(text + len, cap - len, ",tc=%" PRIu64, load->traffic_class);
}

const struct option_codec option_load_codec = {
	load_read, load_write, "a rate and, behind commas, sl=0...15 and tc=0...255: 10Gb/s,tc=104",
	NULL
};

/* "5", "0x400+" */
static int flow_read(const char *text, void *value)
{
	struct option_flow *flow = value;
	size_t len = strlen(text);
	bool counts = len > 1 && text[len - 1] == '+';
	char number[TEXT_MAX];
	uint64_t v;

	if (len >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, len + 1);
	if (counts)
		number[len - 1] = '\0';
	if (units_parse_u64(number, &v) || v > 0xfffff)
		return -EINVAL;
	*flow = (struct option_flow){ v, counts };
	return 0;
}

static void flow_write(const void *value, char *text, size_t cap)
{
	const struct option_flow *flow = value;

	snprintf(text, cap, "%" PRIu64 "%s", flow->label, flow->counts ? "+" : "");
}

const struct option_codec option_flow_codec = {
	flow_read, flow_write, "a number from 0 to 1048575, with + behind it to count up with the QP",
	NULL
};

/* A group address, checked when it is joined: what it must be depends on the device. */
static int mcast_read(const char *text, void *value)
{
	struct option_mcast *mcast = value;

	if (strlen(text) >= sizeof(mcast->address) ||
	    text[strspn(text, "0123456789abcdefABCDEF.:")] != '\0')
		return -EINVAL;
	snprintf(mcast->address, sizeof(mcast->address), "%s", text);
	return 0;
}

static void mcast_write(const void *value, char *text, size_t cap)
{
	snprintf(text, cap, "%s", ((const struct option_mcast *)value)->address);
}

const struct option_codec option_mcast_codec = {
	mcast_read, mcast_write, "a group: 224.0.0.0 to 239.255.255.255, or ff00::/8",
	"239.255.86.80"
};
