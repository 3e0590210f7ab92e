// The text report, section by section, in the order of the page. Private to render/.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_RENDER_TEXT_PRIV_H
#define CT_RENDER_TEXT_PRIV_H

#include "render/page.h"

// text_head.c: the headline and the facts about the GPU side. The facts are few, so that the host stack follows at once: the rest
// of what the GPU told is in the details further down.
void ct_text_headline(struct ct_page *page);
const char *ct_text_title(struct ct_page *page);   // "device-side assert in kernel<float>", within the page's width
const char *ct_text_title_start(struct ct_page *page, const char **ret_name);  // the same in two parts; *ret_name may be NULL
const char *ct_text_device(struct ct_page *page);  // "GPU 0 NVIDIA H200"; NULL: not known
struct ct_rows ct_text_fact_rows(struct ct_page *page);
void ct_text_facts(struct ct_page *page);
void ct_text_details(struct ct_page *page);

// text_threads.c: which threads failed, where they stand.
void ct_text_threads(struct ct_page *page, struct ct_rows *rows);
void ct_text_place(struct ct_page *page, struct ct_rows *rows, const struct ct_group *group, const char *label);
void ct_text_other_groups(struct ct_page *page, struct ct_rows *rows);
void ct_text_all_groups(struct ct_page *page);
const char *ct_text_count(struct ct_arena *arena, uint64_t n, const char *one, const char *many);  // "270,336 threads"

// text_values.c: the values right under the expression; arguments and locals in the details; the likely cause, a conclusion.
void ct_text_values(struct ct_page *page, struct ct_rows *rows);
void ct_text_arguments(struct ct_page *page, struct ct_rows *rows);
void ct_text_cause(struct ct_page *page);
bool ct_text_in_expression(const struct ct_page *page, const char *name);  // does the assert use this name?

// text_tensors.c: the tensors of the Python frames, those that the kernel was given first.
void ct_text_tensors(struct ct_page *page);

// text_checks.c: shape, type, value range and device of the call's tensors.
void ct_text_checks(struct ct_page *page);

// One line of a host stack, as it is shown.
struct ct_stack_line {
	enum ct_frame_class class;
	const char *place, *function, *source;
	const char *note;                            // instead of the three: a line about frames that are not shown
	const struct ct_host_frame *frame;           // NULL for a note
	const struct ct_host_frame *const *hidden;   // the frames that a note is about, outermost first
	size_t n_hidden;
};

// excerpt.c: what stands around a frame's line in its file.
struct ct_excerpt {
	size_t n;         // 0: none
	uint32_t first;   // number of the first line
	const char **line;
	size_t failing;   // index of the frame's own
	size_t digits;    // of the longest number
};
struct ct_excerpt ct_excerpt_of(struct ct_page *page, const struct ct_host_frame *frame);

// text_stack.c: the host side.
void ct_text_stacks(struct ct_page *page);
bool ct_text_is_stub(const struct ct_incident *incident, const struct ct_host_frame *frame);  // how nvcc writes the launch: nobody's line
// Whether the thread stands at the launch, or at the call that failed: not when it is another one, or went on after the launch.
bool ct_text_is_launch(struct ct_page *page, const struct ct_host_thread *thread);
// The lines of a stack as text.
void ct_text_lines(struct ct_page *page, const struct ct_stack_line *line, size_t n);
// A frame as a line, whatever it is.
struct ct_stack_line ct_text_frame(struct ct_page *page, const struct ct_host_frame *frame, enum ct_frame_class class);
// The CUDA function that the thread is in, as a program calls it ("cudaLaunchKernel"); NULL when in none.
const char *ct_text_api_call(struct ct_page *page, const struct ct_host_thread *thread);

// The telling lines of any frames, innermost first.
void ct_text_stack(struct ct_page *page, const struct ct_host_frame *frames, size_t n);

// text_launch.c: what the record of launches tells.
// The launch, or the failing call, whose frames stand for the host stack; NULL: the stack itself is the better source, or nothing is known.
const struct ct_launch *ct_text_recorded(const struct ct_incident *incident);
bool ct_text_launch(struct ct_page *page);  // false: it has nothing to say, and nothing was shown
void ct_text_history(struct ct_page *page);
void ct_text_failed_call(struct ct_page *page, struct ct_rows *rows);
void ct_text_limits(struct ct_page *page, struct ct_rows *rows);

// text_rest.c: what came later, the output, the run, what is not known, the last line.
void ct_text_later(struct ct_page *page);
void ct_text_log(struct ct_page *page);
void ct_text_run(struct ct_page *page);
void ct_text_notes(struct ct_page *page);
void ct_text_last(struct ct_page *page);
const char *ct_text_signature(struct ct_page *page);
const char *ct_text_words(struct ct_page *page, const char *const *words, size_t n);  // "python train.py"; NULL for none
const char *ct_text_collector(const char *name);  // what a collector reads, in words; name itself when it is not known
const char *ct_text_status(enum ct_collector_status status);

#endif
