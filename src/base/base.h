// Everything of base/ in one include: errors, clean-up, text, arenas, files, clocks.
// base includes no other module; every other module may use it.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_BASE_H
#define CT_BASE_H

#include "base/arena.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/demangle.h"
#include "base/error.h"
#include "base/floats.h"
#include "base/io.h"
#include "base/str.h"
#include "base/tsv.h"

// Number of rows of a true array.
#define CT_COUNT(a) (sizeof(a) / sizeof((a)[0]))

#endif
