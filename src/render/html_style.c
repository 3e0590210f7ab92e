// The style sheet of the HTML report: narrow and wide, light and dark, screen and paper. It holds no < and no &: it stands in XML too.
// Text on its ground has a contrast of 4.5 at least (WCAG 2.2, 1.4.3) in both schemes.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "render/html_priv.h"

const char *const ct_html_style[] = {
	"\n",
	":root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#1c2128;--dim:#57606a;--line:#d5dae0;--bad:#b3261e;--good:#1a6b34;--tint:#eef1f4;"
	"--user:#0a4f9c;--bar:#b3261e;--hit:#b3261e;--idle:#8b949e}\n",
	"@media (prefers-color-scheme:dark){:root{--bg:#0e1217;--card:#161b22;--ink:#e4e8ed;--dim:#a0a9b4;--line:#30363d;--bad:#ff8f87;--good:#6fd08c;"
	"--tint:#1f262e;--user:#8cc2ff;--bar:#e5534b;--hit:#ff7b72;--idle:#6e7681}}\n",
	"*{box-sizing:border-box}\n",
	"body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",\"DejaVu Sans\",sans-serif;"
	"overflow-wrap:anywhere}\n",
	"header,main,footer{max-width:1120px;margin:0 auto;padding:0 20px}\n",
	"header{padding-top:28px;padding-bottom:4px}\n",
	"code,.stack,.rows td,.answers td:last-child,.command{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace}\n",
	"p{margin:.4em 0}main p,main ul,summary{font-size:14.5px}\n",
	".brand{margin:0;color:var(--bad);font-weight:600;font-size:14px;letter-spacing:.02em}\n",
	"h1{margin:.15em 0 .3em;font-size:23px;line-height:1.35;font-weight:650}\n",
	"h1 code{font-size:.92em;font-weight:600}\n",
	".where{display:flex;flex-wrap:wrap;gap:2px 18px;margin:0;color:var(--dim);font-size:14px}\n",
	".command{margin:10px 0 0;padding:7px 12px;background:var(--tint);border-radius:6px;font-size:14px}\n",
	"section{margin:16px 0;padding:14px 20px 16px;background:var(--card);border:1px solid var(--line);border-radius:8px}\n",
	"h2{margin:0 0 .5em;font-size:17px;line-height:1.3}\n",
	"h3{display:inline;margin:0;font-size:14px;font-weight:500}\n",
	".dim{color:var(--dim);font-size:14px}\n",
	".bad{color:var(--bad)}\n",
	".good{color:var(--good)}\n",
	"ul{margin:0;padding-left:1.2em}\n",
	"li+li{margin-top:2px}\n",
	"table{border-collapse:collapse;width:100%;font-size:14px}\n",
	"th,td{padding:5px 12px 5px 0;text-align:left;vertical-align:top;border-top:1px solid var(--line)}\n",
	"tbody tr:first-child th,tbody tr:first-child td{border-top:0}\n",
	"thead th{border-top:0;border-bottom:1px solid var(--line);color:var(--dim);font-weight:500;font-size:13px}\n",
	"tbody th{font-weight:500;color:var(--dim)}\n",
	".rows th{width:11em;min-width:6em}\n",
	".rows td{font-size:13.5px}\n",
	".rows .bad{font-weight:600}\n",
	".answers th:first-child{width:15em}\n",
	".answers td:last-child{font-size:13.5px}\n",
	".mark{width:8em}\n",
	".wide th:first-child{width:30%}\n",
	".wide thead th:nth-child(3){text-align:right}\n",
	".wide td.number,.wide thead th:nth-child(3){padding-right:20px}\n",
	".number{width:6em;text-align:right;font-variant-numeric:tabular-nums}\n",
	".wide .number+td{color:var(--dim)}\n",
	"figure{display:inline-block;vertical-align:top;max-width:100%;margin:16px 32px 0 0}\n",
	"figcaption{max-width:34em;margin-bottom:8px;font-size:14px}\n",
	".key{color:var(--dim)}\n",
	"svg{display:block;max-width:100%;height:auto}\n",
	".idle{fill:none;stroke:var(--idle)}\n",
	".unknown{fill:var(--idle)}\n",
	".hit{fill:var(--hit)}\n",
	".stack{margin:0;padding:0;list-style:none;font-size:13.5px;line-height:1.55}\n",
	".stack li{margin:0;padding:3px 0 3px 12px;border-left:3px solid var(--line)}\n",
	".stack .user{border-left-color:var(--bar);background:var(--tint)}\n",
	".user .place{color:var(--user);font-weight:600}\n",
	".user .function{font-weight:600}\n",
	".place::after{content:\" \"}\n",
	".framework,.library,.api .place{color:var(--dim)}\n",
	".stack .source{display:block;padding-left:2ch;white-space:pre-wrap}\n",
	".excerpt{grid-column:1/-1}.excerpt summary{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",\"DejaVu Sans\",sans-serif;"
	"font-size:13px;width:fit-content}\n",
	".excerpt div{display:flex;white-space:pre-wrap}.excerpt .at{background:var(--card);box-shadow:inset 3px 0 var(--bar)}\n",
	".gutter{flex:none;padding:0 1ch;color:var(--dim);white-space:pre;user-select:none;-webkit-user-select:none}.at .gutter{color:var(--ink);font-weight:600}\n",
	".stack .note{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",\"DejaVu Sans\",sans-serif}\n",
	".note .stack{margin:4px 0}\n",
	"summary{cursor:pointer;color:var(--dim)}\n",
	"summary:focus-visible{outline:2px solid var(--user);outline-offset:2px}\n",
	".threads{margin-top:8px}.thread{margin:4px 0 0 14px}\n",
	".thread summary{color:var(--ink)}\n",
	".thread .stack{margin-top:6px}\n",
	"section details .wide{margin-top:8px}\n",
	"footer{padding-top:4px;padding-bottom:32px;color:var(--dim);font-size:13px}\n",
	"@media (min-width:900px){.stack .user{display:grid;grid-template-columns:36ch 24ch minmax(0,1fr);gap:0 14px}"
	".stack .source{padding-left:0}.place::after{content:none}}\n",
	"@media (max-width:600px){header,main,footer{padding-left:12px;padding-right:12px}section{padding:12px}h1{font-size:19px}"
	"th,td{padding-right:8px}.rows th{width:7em}.answers th:first-child{width:7.5em}.mark{width:4.5em}.number{width:auto}table{font-size:13.5px}"
	"figure{margin-right:0}}\n",
	"@media print{:root{--bg:#fff;--card:#fff;--ink:#000;--dim:#444;--line:#bbb;--bad:#8c1d18;--good:#14532d;--tint:#fff;--user:#000;--bar:#000;--hit:#000;"
	"--idle:#777;color-scheme:light}body{font-size:11pt}header,main,footer{max-width:none;padding-left:0;padding-right:0}"
	"section{padding:0;border:0;margin:14px 0}section h2{break-after:avoid}tr,figure,.stack li{break-inside:avoid}"
	".hit{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n",
	NULL,
};
