// The text report, section by section, in the order of the page. Private to render/.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_RENDER_TEXT_PRIV_H
#define CT_RENDER_TEXT_PRIV_H

#include "render/page.h"

// text_head.c: the headline and the facts about the GPU side. The facts are few, so that the host stack follows at once: the rest
// of what the GPU told is in the details further down.
void ct_text_headline(struct ct_page *page);
void ct_text_facts(struct ct_page *page);
void ct_text_details(struct ct_page *page);

// text_threads.c: which threads failed, where they stand.
void ct_text_threads(struct ct_page *page, struct ct_rows *rows);
void ct_text_place(struct ct_page *page, struct ct_rows *rows, const struct ct_group *group, const char *label);
void ct_text_other_groups(struct ct_page *page, struct ct_rows *rows);
void ct_text_all_groups(struct ct_page *page);
const char *ct_text_count(struct ct_arena *arena, uint64_t n, const char *one, const char *many);  // "270,336 threads"

// text_stack.c: the host side.
void ct_text_stacks(struct ct_page *page);
// The CUDA function that the thread is in, as a program calls it ("cudaLaunchKernel"); NULL when in none.
const char *ct_text_api_call(struct ct_page *page, const struct ct_host_thread *thread);

// frames.c: what a host frame is to its reader.
enum ct_frame_class {
	CT_FRAME_USER,       // the reader's own code
	CT_FRAME_FRAMEWORK,  // Python of an installed package or the standard library
	CT_FRAME_LIBRARY,    // native code of a library
	CT_FRAME_API,        // a CUDA runtime or driver function, by its public name
	CT_FRAME_PLUMBING,   // the interpreter, the start of a thread: tells nobody anything
};
enum ct_frame_class ct_frame_class_of(const struct ct_host_frame *frame);
bool ct_frame_in_cuda(const struct ct_host_frame *frame);  // within the CUDA libraries

// text_rest.c: what came later, the output, the run, what is not known, the last line.
void ct_text_later(struct ct_page *page);
void ct_text_log(struct ct_page *page);
void ct_text_run(struct ct_page *page);
void ct_text_notes(struct ct_page *page);
void ct_text_last(struct ct_page *page);

#endif
