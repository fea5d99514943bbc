"""The looks of a report page: readable on a phone, by day and by night, and on paper."""

__all__ = ["STYLE"]

STYLE = """
:root { color-scheme: light dark; --paper: #f7f6f3; --card: #ffffff; --ink: #22252b; --soft: #5c616b;
  --line: #e2e0da; --accent: #0b5563; --fill: #2b8b93; --bad: #a3162a; --bad-card: #fdf0f1; }
@media (prefers-color-scheme: dark) { :root { --paper: #131519; --card: #1b1e24; --ink: #e4e6ea;
  --soft: #a2a8b3; --line: #2f343d; --accent: #8fdcd2; --fill: #2c9a9b; --bad: #ff98a3;
  --bad-card: #2c1a1e; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); overflow-wrap: break-word;
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
main { max-width: 47rem; margin: 0 auto; padding: 2.5rem 1.1rem 4rem; }
h1 { font: 600 1.95rem/1.2 Charter, "Iowan Old Style", Georgia, "DejaVu Serif", serif; margin: 0 0 .6rem;
  letter-spacing: -.01em; }
h2 { font: 600 1.2rem/1.3 Charter, "Iowan Old Style", Georgia, "DejaVu Serif", serif;
  margin: 2.6rem 0 .7rem; }
p { margin: 0 0 .8rem; }
.kicker { color: var(--soft); font-size: .85rem; margin: 0 0 .35rem; }
.chips { display: flex; flex-wrap: wrap; gap: .4rem; margin: .9rem 0 1.6rem; padding: 0; list-style: none; }
.chips li { border: 1px solid var(--line); background: var(--card); border-radius: 99px;
  padding: .1rem .75rem; font-size: .85rem; }
.chips .main { border-color: var(--accent); color: var(--accent); font-weight: 600; }
.banner { border: 1px solid var(--bad); border-left-width: 6px; background: var(--bad-card);
  color: var(--bad); border-radius: 8px; padding: .9rem 1.1rem; margin: 1.2rem 0; }
.banner strong { display: block; font-size: 1.1rem; }
figure, .card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; margin: 0;
  padding: 1rem; }
figure img { display: block; width: 100%; height: auto; border-radius: 4px; }
figcaption { color: var(--soft); font-size: .86rem; line-height: 1.5; margin-top: .7rem; }
dl { margin: 0; }
.promise dt { font-weight: 600; color: var(--accent); margin-top: .9rem; }
.promise dt:first-child { margin-top: 0; }
.promise dd { margin: .1rem 0 0; }
.lead { font-size: 1.08rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; font-variant-numeric: tabular-nums; }
th { text-align: right; font-weight: 600; color: var(--soft); white-space: nowrap; }
th, td { padding: .32rem .55rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; }
thead th { vertical-align: bottom; }
tbody tr:last-child td, tbody tr:last-child th { border-bottom: 0; }
td.name, th.name { text-align: left; }
td.words { text-align: left; white-space: normal; min-width: 15rem; line-height: 1.45; }
td.name, td.words { vertical-align: top; }
tr.sum td { font-weight: 600; border-top: 2px solid var(--line); }
td.bar { width: 40%; min-width: 4.5rem; text-align: left; }
td.bar i { display: block; height: .65rem; min-width: 2px; border-radius: 2px; background: var(--fill); }
.facts { display: grid; grid-template-columns: minmax(7rem, 12rem) 1fr; font-size: .9rem; }
.facts dt, .facts dd { padding: .35rem 0; border-bottom: 1px solid var(--line); margin: 0; min-width: 0; }
.facts dt { color: var(--soft); padding-right: 1rem; }
.facts dt:last-of-type, .facts dd:last-of-type { border-bottom: 0; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .9rem 1rem;
  margin: 0 0 .9rem; overflow-x: auto; font-size: .84rem; line-height: 1.5; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.note { color: var(--soft); font-size: .85rem; margin: .6rem 0 0; }
.hash { font: .75rem/1.6 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  word-break: break-all; }
summary { cursor: pointer; color: var(--accent); }
footer { color: var(--soft); font-size: .85rem; margin-top: 3rem; border-top: 1px solid var(--line);
  padding-top: 1rem; }
@media (max-width: 34rem) { main { padding-top: 1.5rem; } h1 { font-size: 1.6rem; }
  figure, .card { padding: .7rem; } .facts { grid-template-columns: 1fr; }
  .facts dt { border-bottom: 0; padding-bottom: 0; } .facts dd { padding-top: 0; } }
@media print { body { background: #fff; } main { padding: 0; max-width: none; } }
"""
