// The one place that writes < and >; see markup.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "render/markup.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/base.h"

static void end_tag(struct ct_markup *m)
{
	if (m->in_tag)
		putc('>', m->out);
	m->in_tag = false;
}

void ct_markup_open(struct ct_markup *m, const char *name)
{
	end_tag(m);
	assert(m->depth < CT_MARKUP_DEPTH);
	m->open[m->depth++] = name;
	fprintf(m->out, "<%s", name);
	m->in_tag = true;
}

// Clean UTF-8 without U+FFFE and U+FFFF, which are no characters of XML (XML 1.0, 2.2).
static void add_clean(struct ct_str *s, const char *text)
{
	ct_str_append_clean(s, text, strlen(text));
	for (size_t i = 0; i + 2 < s->length; i++) {
		const unsigned char *p = (const unsigned char *)s->data + i;
		if (p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe)
			s->data[i + 2] = (char)0xbd;
	}
}

static void put_escaped(FILE *out, const char *text, bool attribute)
{
	CT_AUTO(ct_auto_str) struct ct_str clean = CT_STR_INIT;
	add_clean(&clean, text);
	for (const char *p = ct_str_text(&clean); *p; p++) {
		if (*p == '<')
			fputs("&lt;", out);
		else if (*p == '>')
			fputs("&gt;", out);
		else if (*p == '&')
			fputs("&amp;", out);
		else if (*p == '"')
			fputs("&quot;", out);
		else if (*p == '\'')
			fputs("&#39;", out);
		else if (attribute && (*p == '\n' || *p == '\t'))
			fprintf(out, "&#%d;", *p);  // else a reader makes a space of it
		else
			putc(*p, out);
	}
}

void ct_markup_attr(struct ct_markup *m, const char *name, const char *value)
{
	assert(m->in_tag);
	if (!value)
		return;
	fprintf(m->out, " %s=\"", name);
	put_escaped(m->out, value, true);
	putc('"', m->out);
}

void ct_markup_attrf(struct ct_markup *m, const char *name, const char *format, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	ct_markup_attr(m, name, text);
}

void ct_markup_text(struct ct_markup *m, const char *text)
{
	end_tag(m);
	put_escaped(m->out, text, false);
}

void ct_markup_cdata(struct ct_markup *m, const char *text)
{
	CT_AUTO(ct_auto_str) struct ct_str clean = CT_STR_INIT;
	add_clean(&clean, text);
	end_tag(m);
	fputs("<![CDATA[", m->out);
	const char *p = ct_str_text(&clean);
	for (const char *end; (end = strstr(p, "]]>")); p = end + 2) {
		fwrite(p, 1, (size_t)(end - p) + 2, m->out);
		fputs("]]><![CDATA[", m->out);
	}
	fputs(p, m->out);
	fputs("]]>", m->out);
}

void ct_markup_raw(struct ct_markup *m, const char *literal)
{
	end_tag(m);
	fputs(literal, m->out);
}

void ct_markup_close(struct ct_markup *m)
{
	end_tag(m);
	assert(m->depth > 0);
	fprintf(m->out, "</%s>", m->open[--m->depth]);
}

void ct_markup_void(struct ct_markup *m)
{
	assert(m->in_tag && m->depth > 0);
	m->depth--;
	m->in_tag = false;
	fputs("/>", m->out);
}

void ct_markup_element(struct ct_markup *m, const char *name, const char *class, const char *text)
{
	ct_markup_open(m, name);
	ct_markup_attr(m, "class", class);
	if (!text)
		return;
	ct_markup_text(m, text);
	ct_markup_close(m);
}
