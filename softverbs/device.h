/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The devices of this process, and their contexts. */
#ifndef SOFTVERBS_DEVICE_H
#define SOFTVERBS_DEVICE_H

#include "obj.h"

/* Reads SOFTVERBS once; a bad SPEC is one line on stderr and exit 2. Without it: no device. */
void sv_device_init(void);

struct ibv_context *sv_open_device(struct ibv_device *d);
int sv_close_device(struct ibv_context *c);
int sv_query_device(struct ibv_context *c, struct ibv_device_attr *attr);
int sv_query_port(struct ibv_context *c, uint8_t port, struct ibv_port_attr *attr, size_t len);
int sv_query_device_ex(struct ibv_context *c, const struct ibv_query_device_ex_input *in,
		       struct ibv_device_attr_ex *attr, size_t len);
int sv_query_rt_values(struct ibv_context *c, struct ibv_values_ex *values);
int sv_query_gid(struct ibv_context *c, uint8_t port, int index, union ibv_gid *gid);
int sv_query_gid_ex(struct ibv_context *c, uint32_t port, uint32_t index,
		    struct ibv_gid_entry *entry, size_t size);
ssize_t sv_query_gid_table(struct ibv_context *c, struct ibv_gid_entry *entries, size_t max,
			   size_t size);
int sv_query_pkey(struct ibv_context *c, uint8_t port, int index, __be16 *pkey);
int sv_get_pkey_index(struct ibv_context *c, uint8_t port, __be16 pkey);

/* NULL: no such port (from 1). */
const struct spec_port *sv_port(struct ibv_context *c, uint32_t port);

#endif
