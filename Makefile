# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# make                       programs, man pages and libsoftverbs in build/
# make check                 unit and pair tests of this build
# make tests                 builds the test programs without running them
# make install               PREFIX=/usr/local, DESTDIR=
# make fuzz                  libFuzzer targets for FUZZ_SECONDS in all (clang)
# make bench                 beside perftest and qperf, in turns, on softverbs (scripts/bench)
# make soak                  what takes hours
# make SAN=address,undefined | SAN=thread    the same in build/asan or build/tsan
# make CC=clang ...

PREFIX  ?= /usr/local
VERSION := 0.1.0
DATE    := 2026-11-30
SAN     ?=

ifeq ($(SAN),)
B := build
else ifneq ($(findstring thread,$(SAN)),)
B := build/tsan
else
B := build/asan
endif

CFLAGS   ?= -O2 -g
WARN     := -Wall -Wextra -Wmissing-prototypes -Wshadow -Werror
CPPFLAGS += -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Icommon -DVERBSPERF_VERSION='"$(VERSION)"' \
	    -DVERBSPERF_DATE='"$(DATE)"'
ALL_CFLAGS = -std=gnu11 $(WARN) -fPIC -pthread $(CFLAGS) $(SANFLAGS) -MMD -MP
ifneq ($(SAN),)
SANFLAGS := -fsanitize=$(SAN) -fno-omit-frame-pointer
ifneq ($(findstring undefined,$(SAN)),)
SANFLAGS += -fno-sanitize-recover=undefined
endif
# A preloaded device does not go with sanitizers: they link it in, before -libverbs.
SOFT_IN := $(B)/lib/libsoftverbs.a
endif
# Bound at the start, and not in the first lap.
LDFLAGS += -Wl,-z,now
LIBS := -lrdmacm -libverbs -ljansson -lm

COMMON   := $(patsubst common/%.c,$(B)/common/%.o,$(wildcard common/*.c))
PROGRAMS := $(patsubst perftest/%.c,%,$(wildcard perftest/*.c))
# softverbs/main.c is the wrapper command, everything else the library.
SOFT     := $(patsubst softverbs/%.c,$(B)/softverbs/%.o,$(filter-out softverbs/main.c,$(wildcard softverbs/*.c)))
UNITS    := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/*.c))
SOFTTESTS := $(patsubst tests/softverbs/%.c,$(B)/tests/soft_%,$(wildcard tests/softverbs/*.c))
CONFORM  := $(if $(wildcard tests/conformance/*.c),$(B)/tests/conform)
# Programs with a hook object that can hold a stage: for the kill tests only.
HOLD     := $(if $(wildcard tests/hold/hold.c),$(addprefix $(B)/tests/hold-,$(filter %_lat %_bw,$(PROGRAMS))))
# What pair tests preload into a program, which does not go with sanitizers.
PRELOADS := $(if $(SAN),,$(patsubst tests/preload/%.c,$(B)/tests/%.so,$(wildcard tests/preload/*.c)))
BINS     := $(addprefix $(B)/bin/,$(PROGRAMS))
MAN      := $(patsubst %,$(B)/man/%.1,$(PROGRAMS))
ifneq ($(SOFT),)
SOFTLIBS := $(B)/lib/libsoftverbs.a $(if $(SAN),,$(B)/lib/libsoftverbs.so)
endif
ifneq ($(wildcard softverbs/main.c),)
BINS += $(B)/bin/softverbs
MAN += $(B)/man/softverbs.1
endif

all: $(BINS) $(SOFTLIBS) $(if $(SAN),,$(MAN))

tests: all $(UNITS) $(SOFTTESTS) $(CONFORM) $(HOLD) $(PRELOADS)

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c $< -o $@

$(B)/lib/libcommon.a: $(COMMON)
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/lib/libsoftverbs.a: $(SOFT)
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/lib/libsoftverbs.so: $(SOFT) softverbs/libsoftverbs.map
	@mkdir -p $(@D)
	$(CC) -shared $(ALL_CFLAGS) -Wl,-z,now -Wl,--version-script=softverbs/libsoftverbs.map -Wl,-soname,libsoftverbs.so \
		$(SOFT) -o $@ -lm -ldl

$(filter-out $(B)/bin/softverbs,$(BINS)): $(B)/bin/%: $(B)/perftest/%.o $(B)/lib/libcommon.a $(SOFT_IN)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) $< $(B)/lib/libcommon.a $(if $(SOFT_IN),-Wl$(comma)--whole-archive $(SOFT_IN) -Wl$(comma)--no-whole-archive) $(LIBS) -ldl -o $@

# The command takes the SPEC parser alone out of the archive, and so needs no verbs library.
$(B)/bin/softverbs: $(B)/softverbs/main.o $(SOFTLIBS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) $< $(B)/lib/libsoftverbs.a -lm -o $@

$(B)/tests/hold-%: $(B)/perftest/%.o $(B)/tests/hold/hold.o $(B)/lib/libcommon.a $(SOFT_IN)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) $< $(B)/tests/hold/hold.o $(B)/lib/libcommon.a \
		$(if $(SOFT_IN),-Wl$(comma)--whole-archive $(SOFT_IN) -Wl$(comma)--no-whole-archive) $(LIBS) -ldl -o $@

$(B)/tests/%.so: $(B)/tests/preload/%.o
	$(CC) -shared $(ALL_CFLAGS) $< -o $@ -ldl

$(B)/tests/%: $(B)/tests/unit/%.o $(B)/lib/libcommon.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) $< $(B)/lib/libcommon.a -lcmocka $(LIBS) -o $@

# Tests of the device link it in, so that they run under every sanitizer too.
$(B)/tests/soft_%: $(B)/tests/softverbs/%.o $(B)/lib/libsoftverbs.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) $< -Wl,--whole-archive $(B)/lib/libsoftverbs.a -Wl,--no-whole-archive \
		-lcmocka $(LIBS) -ldl -o $@

# What the compiler says of every file, without output: make CC=clang warnings
warnings:
	@printf '%s\n' $(wildcard $(addsuffix /*.c,common perftest softverbs $(addprefix tests/,unit softverbs conformance hold \
		preload bench))) | xargs -P "$$(nproc)" -n 8 $(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -fsyntax-only

# Speed of the device against bare shared memory on the same two cores.
$(B)/tests/bench_softverbs: $(B)/tests/bench/softverbs.o $(B)/lib/libsoftverbs.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) $< -Wl,--whole-archive $(B)/lib/libsoftverbs.a -Wl,--no-whole-archive \
		$(LIBS) -ldl -o $@

# The goals in full, each part for itself too; doc/soak.md has the times and the last run.
SOAKS := $(addprefix soak-softverbs-,conform kill many stream order)
soak-softverbs: $(SOAKS)
$(SOAKS): $(SOFTTESTS) $(SOFTLIBS) $(BINS) $(CONFORM)
soak-softverbs-conform:
	SOFT_ALL=1 tests/softverbs/conformance.sh
soak-softverbs-kill:
	SOFT_KILLS=200 $(B)/tests/soft_kill
soak-softverbs-many:
	SOFT_PROCESSES=1000 SOFT_MIB=1024 $(B)/tests/soft_many
soak-softverbs-stream:
	SOFT_MESSAGES=100000000 $(B)/tests/soft_stream
soak-softverbs-order:
	SOFT_CHECKS=10000000 $(B)/tests/soft_order

bench-softverbs: $(B)/tests/bench_softverbs
	$<

$(B)/tests/conform: $(patsubst tests/%.c,$(B)/tests/%.o,$(wildcard tests/conformance/*.c)) $(SOFT_IN)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) $(filter %.o,$^) \
		$(if $(SOFT_IN),-Wl$(comma)--whole-archive $(SOFT_IN) -Wl$(comma)--no-whole-archive) $(LIBS) -ldl -o $@

$(B)/man/%.1: $(B)/bin/%
	@mkdir -p $(@D)
	$< --man >$@.tmp && mv $@.tmp $@

check: tests
	scripts/test --quick $(if $(SAN),--san $(SAN))

fuzz:
	scripts/fuzz $(FUZZ_SECONDS)

bench: all
	scripts/bench $(BENCH)

# What takes too long for scripts/test: hours. doc/soak.md keeps the last run.
soak: tests
	PAIR_STARTS=1000 tests/pair/test_connect.py
	PAIR_ALL=1 tests/pair/test_programs.py
	tests/pair/property.py --seed any --count 2000
	WAKEUP_MESSAGES=1000000 tests/pair/test_wakeup.py
	tests/lab/selftest.sh
	tests/lab/iwarp.sh
	UNIT_ALL=1 $(B)/tests/histogram_shapes
	tests/tools/big_dump.sh 500000000 100
	$(MAKE) SAN=address,undefined check
	$(MAKE) fuzz FUZZ_SECONDS=3600
	$(MAKE) soak-softverbs

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(BINS) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(MAN) $(DESTDIR)$(PREFIX)/share/man/man1
	$(if $(SOFTLIBS),install -m 644 $(SOFTLIBS) $(DESTDIR)$(PREFIX)/lib)

clean:
	rm -rf build

comma := ,
.PHONY: bench bench-softverbs soak-softverbs $(SOAKS) soak all tests warnings check fuzz install clean
.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
