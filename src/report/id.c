// The name of a report's folder; see report.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "render/render.h"
#include "report/report.h"
#include "report/report_priv.h"

bool ct_report_is_safe(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

void ct_report_add_safe(struct ct_str *s, const char *text, size_t most)
{
	size_t end = s->length + most;
	bool gap = false;
	for (; *text && s->length < end; text++) {
		if (ct_report_is_safe(*text))
			ct_str_addc(s, *text);
		else if (!gap)
			ct_str_addc(s, '_');
		gap = !ct_report_is_safe(*text);
	}
}

static void add_date(struct ct_str *s, int64_t time_us)
{
	time_t seconds = (time_t)(time_us / 1000000);
	struct tm tm;
	// Years past 9999 would make the name longer; they come from damaged files only.
	if (time_us < 0 || !gmtime_r(&seconds, &tm) || tm.tm_year > 9999 - 1900)
		ct_str_add(s, "00000000-000000");
	else
		ct_str_addf(s, "%04d%02d%02d-%02d%02d%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

const char *ct_report_id(struct ct_incident *incident)
{
	enum { HOST_CHARACTERS = 24 };
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	add_date(&s, incident->time_us);
	ct_str_addc(&s, '-');
	ct_report_add_safe(&s, incident->host && *incident->host ? incident->host : "host", HOST_CHARACTERS);
	ct_str_addf(&s, "-%" PRId64 "-%s", incident->process.pid > 0 ? incident->process.pid : 0, ct_fault_kind_word(incident->kind));
	const char *kernel = incident->gpu.has_kernel && incident->gpu.kernel.name ? incident->gpu.kernel.name
			     : incident->assertion.present                        ? incident->assertion.function
										   : NULL;
	size_t limit = CT_ID_LENGTH - CT_ID_SUFFIX_LENGTH;
	if (kernel && *kernel && s.length + 1 < limit) {
		ct_str_addc(&s, '-');
		ct_report_add_safe(&s, ct_render_kernel_word(&incident->arena, kernel), limit - s.length);
	}
	return ct_arena_strndup(&incident->arena, ct_str_text(&s), s.length);
}

bool ct_report_id_is_safe(const char *id)
{
	size_t n = 0;
	for (; id[n]; n++)
		if (!ct_report_is_safe(id[n]))
			return false;
	return n > 0 && n <= CT_ID_LENGTH - CT_ID_SUFFIX_LENGTH && id[0] != '.' && id[0] != '-';
}
