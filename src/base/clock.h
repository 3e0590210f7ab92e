// Time: durations from the monotonic clock, dates from the wall clock.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_CLOCK_H
#define CT_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t ct_now_us(void);  // monotonic, microseconds
int64_t ct_wall_us(void);  // since the epoch, microseconds, UTC
// "2026-12-01T02:49:07.123Z"; size 32 is enough.
void ct_format_time(int64_t wall_us, char *ret_text, size_t size);
// Milliseconds left until deadline_us (ct_now_us() scale), never below 0; for poll().
int ct_ms_until(int64_t deadline_us);

#endif
